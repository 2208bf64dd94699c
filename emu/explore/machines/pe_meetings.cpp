// SPDX-License-Identifier: Apache-2.0
// See pe_meetings.hpp.
#include "emu/explore/machines/pe_meetings.hpp"

#include <algorithm>

namespace sassemu::explore {

bool PeMeetings::quiet(MachineState& n, uint32_t t) const {
    MemoryOperation o(SASSEMU_OPERATION_QUIET);
    o.what.from = does_.place(t);
    return n.machine.ways(bytes_.of(n), o.what);
}

bool PeMeetings::stored_at_home(MachineState& n, uint32_t t) const {
    for (uint32_t l = 0; l < test_.locations.size(); ++l) {
        if (!test_.locations[l].symmetric) continue;
        MemoryOperation own(SASSEMU_OPERATION_LOAD);
        own.what.from = does_.place(t);
        own.what.gpu = own.what.from.gpu;
        const TestMemory::Piece& piece = memory_.of(l, test_.threads[t].gpu);
        own.what.address = piece.address;
        own.what.bytes = static_cast<uint8_t>(std::min<uint64_t>(piece.bytes, 255));
        if (!n.machine.ways(bytes_.of(n), own.what)) return false;
    }
    return true;
}

bool PeMeetings::meet(MachineState& n, uint32_t last) const {
    const auto meets = [](const Statement& i) {
        const auto* o = std::get_if<op::OnMachine>(&i.what);
        return o && o->whose == op::OnMachine::Whose::all;
    };
    for (uint32_t t = 0; t < n.threads.size(); ++t) {
        const auto& code = test_.threads[t].code;
        if (std::ranges::none_of(code, meets)) continue;
        MachineState::OfThread& r = n.threads[t];
        if (t == last) --r.pc;
        if (!r.started || r.pc >= code.size() || !meets(code[r.pc]) || !r.window.empty() ||
            !quiet(n, t))
            return false;
        ++r.pc;
    }
    return true;
}

}  // namespace sassemu::explore
