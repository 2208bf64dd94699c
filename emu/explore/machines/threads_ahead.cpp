// SPDX-License-Identifier: Apache-2.0
// See threads_ahead.hpp.
#include "emu/explore/machines/threads_ahead.hpp"

#include <algorithm>

#include "emu/explore/machines/copy_steps.hpp"

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
        const uint32_t pc = r.pc;
        const SassFetch::What what = fetch_.step(f.sass, t, r.pc, r.registers, r.window, f.does);
        const bool blocked = what == SassFetch::What::blocked;
        f.foot = fetch_.touched();
        prospects_.learn(t, pc, blocked ? std::nullopt : std::optional(r.pc), f.foot, f.does);
        touched = !f.foot.ranges.empty() && !blocked;  // else it has only looked
        if (blocked || f.foot.unexplored) break;
        f.moved = true;
        // Where memory is all that there is, a barrier does nothing to it; nor where nothing is on
        // its way there, as does a fence that empties no cache.
        const auto idle = [&](const MemoryOperation& o) {
            if (o.is(SASSEMU_OPERATION_MEET)) return !o.of_grids;
            return !machine_.scoped() && o.is(SASSEMU_OPERATION_FENCE) && !o.what.invalidate_data &&
                   !o.what.invalidate_texture;
        };
        if ((machine_.name() == "flat" || !s.machine.held()) && f.does.size() == 1 &&
            idle(f.does[0]))
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

bool ThreadsAhead::clients_rest(const MachineState& s) const {
    for (uint32_t t = 0; t < s.threads.size(); ++t) {
        const auto& code = test_.threads[t].code;
        for (size_t pc = s.threads[t].pc; !test_.threads[t].sass && pc < code.size(); ++pc)
            if (!is_any<op::Launch, op::Join>(code[pc].what)) return false;
    }
    return true;
}

bool ThreadsAhead::comes_first(const MachineState& s, uint32_t by,
                               const std::vector<Footprint::Range>& ranges, size_t but) const {
    for (const MachineState::OfThread& t : s.threads)
        for (const MemoryOperation& o : t.window)
            for (const Footprint::Range& r : ranges)
                if (r.writes && r.address < o.what.address + o.what.bytes &&
                    o.what.address < r.address + r.bytes)
                    return false;
    for (size_t i = 0; i < s.sass.agents.size(); ++i)
        if (i != but && CopySteps::meets(s.sass.agents[i], ranges)) return false;
    return !prospects_.meet(s, by, ranges);
}

bool ThreadsAhead::fenced_first(const MachineState& s, uint32_t t, const Ahead& f) const {
    std::vector<Footprint::Range> ranges;
    for (const MemoryOperation& o : f.does) ranges.push_back({o.what.address, o.what.bytes, true});
    if (!prospects_.drains_first(t, f.thread.pc) || !comes_first(s, t, ranges)) return false;
    prospects_.choose(t, ranges);
    return true;
}

std::optional<std::vector<Footprint::Range>> ThreadsAhead::touches(const Ahead& f,
                                                                   uint32_t t) const {
    if (!f.moved || f.foot.everywhere || f.foot.unexplored) return {};
    std::vector<Footprint::Range> out = f.foot.ranges;
    for (const MemoryOperation& o : f.does) {
        const auto kind = o.what.kind;
        const bool accesses = kind == SASSEMU_OPERATION_LOAD || kind == SASSEMU_OPERATION_STORE ||
                              kind == SASSEMU_OPERATION_ATOMIC;
        // What a thread tells the others of tensor memory has no address.
        const bool tells = o.what.ordering != SASSEMU_WEAK && !f.sass.threads[t].told.empty();
        if (machine_.has_stations() || o.of_grids ||
            (!o.is(SASSEMU_OPERATION_LOAD) && accesses && tells))
            return {};
        if (accesses) {
            out.push_back({o.what.address, o.what.bytes, !o.is(SASSEMU_OPERATION_LOAD)});
            continue;
        }
        // Of a scoped machine the rest is about what the thread itself knows, but for fence.sc.
        const bool own = machine_.scoped() &&
                         (kind >= SASSEMU_OPERATION_ARRIVE ||
                          (kind == SASSEMU_OPERATION_FENCE && o.what.ordering != SASSEMU_SC));
        if (!own && !(machine_.name() == "flat")) return {};
    }
    return out;
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
