// SPDX-License-Identifier: Apache-2.0
// See threads_ahead.hpp.
#include "emu/explore/machines/threads_ahead.hpp"

#include <algorithm>

namespace sassemu::explore {

Ahead ThreadsAhead::take(const MachineState& s, uint32_t t) const {
    constexpr int most_steps = 1 << 20;
    const SassState::OfThread& now = s.sass.threads[t];
    if (now.ended || !now.started || now.barrier) return {};  // most of many threads
    Ahead f{s.threads[t], s.sass, {}, false, false, false, {}};
    MachineState::OfThread& r = f.thread;
    bool touched = false;
    fetch_.touched();
    for (int steps = 0; steps < most_steps && !budget_.over(); ++steps) {
        const SassFetch::What what = fetch_.step(f.sass, t, r.pc, r.registers, r.window, f.does);
        f.foot = fetch_.touched();
        touched = !f.foot.ranges.empty();
        if (f.foot.unexplored) break;
        if (what == SassFetch::What::blocked) break;
        f.moved = true;
        // Where memory is all that there is, a barrier does nothing to it; nor where nothing is on
        // its way there.
        if ((machine_.name() == "flat" || !s.machine.held()) && f.does.size() == 1 &&
            f.does[0].is(SASSEMU_OPERATION_MEET) && !f.does[0].of_grids)
            f.does.clear();
        // Others see a late load when it is performed, not when it begins.
        const bool begins =
            what == SassFetch::What::operations && !touched &&
            std::ranges::all_of(f.does, [&](const auto& o) { return is_late(machine_, o); });
        if (begins) {
            for (MemoryOperation& o : f.does) {
                o.what.from = does_.place(t);
                r.window.push_back(o);
            }
            f.does.clear();
        }
        if (begins || !f.does.empty() || touched) break;
        // What it has issued, and launches that it has let begin, may come before its next step.
        if (f.sass.agents.size() != s.sass.agents.size() ||
            f.sass.threads[t].triggered != now.triggered || f.sass.threads[t].ended ||
            f.sass.threads[t].barrier)
            break;
    }
    f.alone = f.moved && !touched && f.does.empty();
    // Who has arrived is looked at when all have, and then it does not change; what has been issued
    // acts later, and what is over is over.
    f.quiet = f.moved && !touched && !f.alone &&
              std::ranges::all_of(f.does, [](const MemoryOperation& o) {
                  return o.is(SASSEMU_OPERATION_ARRIVE) || o.is(SASSEMU_OPERATION_WAIT) ||
                         o.is(SASSEMU_OPERATION_ISSUE) || o.is(SASSEMU_OPERATION_OBSERVE);
              });
    return f;
}
Footprint ThreadsAhead::foot_of(const MachineState& s, uint32_t t, const Ahead& f) const {
    Footprint out = f.foot;
    const auto add = [&](const MemoryOperation& o) {
        // Of a machine with caches, which loads of other bytes fill and fences empty.
        const bool caches = !machine_.scoped() && machine_.late_loads();
        constexpr uint64_t sector = 32;
        const uint64_t address = caches ? o.what.address / sector * sector : o.what.address;
        if (o.what.bytes)
            out.ranges.push_back({address, caches ? sector : uint64_t{o.what.bytes},
                                  caches || !o.is(SASSEMU_OPERATION_LOAD)});
        else
            out.everywhere |= caches;
        if (!o.of_grids) return;
        for (const CopyAgent& a : s.sass.agents)
            if (test_.sass->thread(a.thread).launch + 1 == test_.sass->thread(t).launch)
                out.copies.emplace_back(a.thread, a.number);
    };
    for (const MemoryOperation& o : f.does) add(o);
    for (const MemoryOperation& o : s.threads[t].window) add(o);
    return out;
}
Footprint ThreadsAhead::foot_of_client(const MachineState& s, uint32_t t) const {
    const MachineState::OfThread& r = s.threads[t];
    const auto& code = test_.threads[t].code;
    Footprint out;
    if (!r.started || r.pc >= code.size()) return out;
    out.everywhere = !is_any<op::Launch, op::Join>(code[r.pc].what);
    if (const auto* join = std::get_if<op::Join>(&code[r.pc].what))
        for (const CopyAgent& a : s.sass.agents)
            if (a.thread == join->thread) out.copies.emplace_back(a.thread, a.number);
    return out;
}

}  // namespace sassemu::explore
