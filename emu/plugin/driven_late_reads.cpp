// SPDX-License-Identifier: Apache-2.0
// Driving a machine that has late reads: which reads of shared memory are left open, and where
// their values are stored. Whether a later write is one that such a read may find, the machine
// knows. See driven_machine.hpp.
#include "emu/memory/event.hpp"
#include "emu/plugin/driven_machine.hpp"
#include "emu/plugin/driving.hpp"
#include "emu/plugin/instruction.hpp"

namespace sassemu {

using namespace driving;

namespace {

// What writes shared memory through the async proxy. All code that runs is looked at before that.
bool overwrites(const Event& e) {
    return e.is(SASSDEC_KIND_ASYNC) && e.agent == SASSDEC_AGENT_BULK &&
           (e.action == SASSDEC_ACTION_COPY || e.action == SASSDEC_ACTION_STORE) &&
           (e.space == SASSDEC_SPACE_SHARED || e.space == SASSDEC_SPACE_CLUSTER);
}

}  // namespace

void DrivenMachine::look_for_late_reads(const Event& e) {
    if (machine_.flags & SASSEMU_MACHINE_LATE_READS && overwrites(e)) late_reads_.possible = true;
}

// Of a load, when it is first seen: nothing of it changes.
bool DrivenMachine::may_be_late(sassemu_insn load) {
    if (!late_reads_.possible) return false;
    const HookedInstruction& i = instruction(load);
    const uint64_t first = host.insn_code_offset(load) - host.insn_pc(load);
    const auto [section, fresh] =
        late_reads_.sections.try_emplace(host.module_insn(host.insn_module(load), first), nullptr);
    if (fresh) section->second = std::make_unique<SectionPaths>(i);
    const std::optional<PassedOn> passed = section->second->of(i);
    if (!passed) return false;
    late_reads_.passed[passed->store].push_back({load, passed->offset, passed->bytes});
    return true;
}

void DrivenMachine::leave_open(sassemu_insn load, const Who& who, const uint64_t* address,
                               uint32_t lanes, uint32_t mapped, unsigned bytes) {
    if (far_) return;  // others look without being seen
    LateReads::Open& open = late_reads_.open[{who.cta, who.warp, load}];
    open.lanes &= ~lanes;
    sassemu_operation o = operation(SASSEMU_OPERATION_LEAVE_OPEN);
    o.bytes = static_cast<uint8_t>(bytes);
    for_lanes(mapped, [&](unsigned lane) {
        if (!(address[lane] & SASSEMU_MACHINE_SHARED)) return;
        open.lanes |= 1u << lane;
        open.name[lane] = o.other = ++late_reads_.names;
        o.address = address[lane];
        o.from = of(who, lane);
        perform(o, nullptr);
    });
}

// What a store has just put into global memory.
void DrivenMachine::pass_on(sassemu_insn store, const Who& who, const uint64_t* address,
                            uint32_t lanes) {
    const auto passed = late_reads_.passed.find(store);
    if (passed == late_reads_.passed.end()) return;
    sassemu_operation o = operation(SASSEMU_OPERATION_PASS_ON);
    for (const LateReads::Passed& p : passed->second) {
        const auto open = late_reads_.open.find({who.cta, who.warp, p.load});
        if (open == late_reads_.open.end()) continue;
        o.bytes = p.bytes;
        for_lanes(lanes & open->second.lanes, [&](unsigned lane) {
            if (address[lane] & SASSEMU_MACHINE_SHARED) return;
            o.address = address[lane] + p.offset;
            o.other = open->second.name[lane];
            o.from = of(who, lane);
            perform(o, nullptr);
        });
    }
}

void DrivenMachine::forget_late_reads(uint64_t cta) {
    std::erase_if(late_reads_.open,
                  [cta](const auto& one) { return std::get<0>(one.first) == cta; });
}

}  // namespace sassemu
