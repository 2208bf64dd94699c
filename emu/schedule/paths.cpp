// SPDX-License-Identifier: Apache-2.0
// How paths divide, and what joins them again but convergence barriers (convergence.cpp): WARPSYNC
// and collectives. What is measured, and where the chip differs: emu/isa/QUESTIONS.md, T11.
#include "emu/schedule/paths.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emu/memory/payload.hpp"
#include "emu/plugin/sync_events.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

namespace {

// Makes the paths in `which` (bits are path indices) runnable, and merges those at the same pc.
// Exclusive groups stay apart until each has run (pick()).
void release(Warp& w, uint32_t which) {
    for (uint32_t i = 0; i < w.paths_used; ++i) {
        if (!(which >> i & 1)) continue;
        w.paths[i].state = PathState::runnable;
        if (w.paths[i].meeting != Meeting::exclusive) w.paths[i].meeting = Meeting::none;
        for (uint32_t k = w.paths_used; k-- > i + 1;) {
            if (!(which >> k & 1) || w.paths[k].pc != w.paths[i].pc) continue;
            w.paths[i].lanes |= w.paths[k].lanes;
            if (w.current == k) w.current = static_cast<uint8_t>(i);
            // Keep the bits of `which` in step with the move of the last path into slot k.
            const uint32_t last = w.paths_used - 1u;
            const bool moved = which >> last & 1;
            paths::remove(w, k);
            which &= ~(1u << last);
            if (k != last) which = moved ? which | 1u << k : which & ~(1u << k);
        }
    }
}

bool is_collective(Meeting m) { return m == Meeting::collective || m == Meeting::collective_all; }

// Whether q, whose lanes p waits for at WARPSYNC, waits where p waits. One that waits elsewhere
// does not count.
bool meets(const Path& p, const Path& q) {
    if (q.state != PathState::at_warpsync || q.meeting != p.meeting) return false;
    switch (p.meeting) {
        case Meeting::here:
        case Meeting::exclusive:
            return q.pc == p.pc;
        case Meeting::collective:
            return q.want == p.want;
        default:
            return true;
    }
}

// Makes one path of those in `which`, which have met for a collective: the one that came last runs
// for all.
void gather(Warp& w, uint32_t which) {
    const uint32_t last = which >> w.current & 1 ? w.current : std::bit_width(which) - 1u;
    Path& runner = w.paths[last];
    runner.state = PathState::runnable;
    runner.want = runner.lanes;
    for (which &= ~(1u << last); which; which &= which - 1) {
        Path& p = w.paths[std::countr_zero(which)];
        runner.lanes |= p.lanes;
        p.state = PathState::in_collective;
        p.want = std::exchange(p.lanes, 0u);
    }
}

// The lanes of `todo` that name the same mask as its first.
uint32_t same_mask(const uint32_t want[32], uint32_t todo) {
    const uint32_t named = want[std::countr_zero(todo)];
    uint32_t group = 0;
    for (; todo; todo &= todo - 1)
        if (want[std::countr_zero(todo)] == named) group |= todo & (0u - todo);
    return group;
}

// Paths (bits are indices) that need not wait at WARPSYNC any longer. All of them go on at once, so
// that groups which meet at one WARPSYNC stay together; exclusive ones one group at a time.
uint32_t ready(Warp& w) {
    using paths::is_before_bar;
    uint32_t all = 0, busy = 0, waiting = 0;
    for (uint32_t i = 0; i < w.paths_used; ++i) {
        const Path& p = w.paths[i];
        if (p.state == PathState::at_warpsync && !is_before_bar(p))
            waiting |= 1u << i;
        else
            busy |= p.lanes;
    }
    for (; waiting & ~all; waiting &= waiting - 1) {
        const Path& p = w.paths[std::countr_zero(waiting)];
        if (all >> std::countr_zero(waiting) & 1) continue;
        const bool alone = p.meeting == Meeting::exclusive || is_collective(p.meeting);
        if (all && alone) continue;
        const uint32_t need = p.want & w.live;
        if (need & busy) continue;
        uint32_t arrived = 0, which = 0;
        bool elsewhere = false;
        for (uint32_t k = 0; k < w.paths_used; ++k) {
            const Path& q = w.paths[k];
            if (!(q.lanes & need)) continue;
            if (meets(p, q)) {
                arrived |= q.lanes;
                which |= 1u << k;
            } else {
                elsewhere = true;
            }
        }
        if (elsewhere) continue;
        if (Hooks* hooks = engine(w).hooks()) events::warp_joins(*hooks, w, p.pc - 1, arrived);
        all |= which;
        if (alone) break;
    }
    return all;
}

// The running path gives way.
void step_aside(Warp& w, const Op* next) {
    Path& p = w.path();
    p.pc = next;
    p.yielded = p.aside = true;
    p.since = ++w.path_clock;
}

// Lets go those at WARPSYNC who have met.
void recheck(Warp& w) {
    for (uint32_t which; (which = ready(w));)
        if (is_collective(w.paths[std::countr_zero(which)].meeting))
            gather(w, which);
        else
            release(w, which);
}

}  // namespace

namespace paths {

// A collective is left by ENDCOLLECTIVE alone, and by all of its lanes: an H200 calls the rest an
// illegal instruction. Were it divided, a warp could have more paths than lanes.
const Op* leaves_collective(Warp& w, const Op* op, uint32_t lanes) {
    return engine(w).fault(
        w, op, lanes, FaultKind::illegal_instruction,
        "a collective (WARPSYNC.COLLECTIVE) ends at ENDCOLLECTIVE, with all of its lanes", false,
        0);
}
bool in_collective(const Warp& w) { return is_collective(w.paths[w.current].meeting); }

void preempt(Warp& w) {
    CtaSlot& slot = engine(w).slot(w);
    if (slot.preempted_free.empty()) {
        slot.preempted_free.push_back(static_cast<uint32_t>(slot.preempted.size()));
        slot.preempted.emplace_back();
    }
    const uint32_t index = slot.preempted_free.back();
    slot.preempted_free.pop_back();
    UniformState& state = slot.preempted[index];
    std::memcpy(state.registers, w.uniform, sizeof state.registers);
    std::memcpy(state.predicates, w.p + 8, sizeof state.predicates);
    w.path().saved = index + 1;
}

void resume(Warp& w) {
    w.path().yielded = false;
    uint32_t& saved = w.path().saved;
    if (!saved) return;
    CtaSlot& slot = engine(w).slot(w);
    const UniformState& state = slot.preempted[saved - 1];
    std::memcpy(w.uniform, state.registers, sizeof state.registers);
    std::memcpy(w.p + 8, state.predicates, sizeof state.predicates);
    slot.preempted_free.push_back(saved - 1);
    saved = 0;
}

bool leave_behind(Warp& w, uint32_t lanes, const Op* pc) {
    const uint32_t rest = w.active & ~lanes;
    if (!rest) return true;
    if (in_collective(w)) return leaves_collective(w, pc - 1, lanes), false;
    push(w, pc, rest);
    w.path().lanes = w.active = lanes;
    return true;
}

const Op* split(Warp& w, const Op* target, uint32_t taken, const Op* next) {
    if (in_collective(w)) return leaves_collective(w, next - 1, taken);
    const uint32_t rest = w.active & ~taken;
    // The smaller side goes first, the one that falls through if they are equal (measured on an
    // H200).
    const bool usual = engine(w).chooser().pick(ChoicePoint::branch_side, 2) == 0;
    if ((std::popcount(rest) <= std::popcount(taken)) == usual) {
        push(w, target, taken);
        w.path().lanes = w.active = rest;
        return next;
    }
    push(w, next, rest);
    w.path().lanes = w.active = taken;
    return target;
}

const Op* jump(Warp& w, const Op* op, uint32_t lanes, const uint64_t address[32]) {
    if (in_collective(w)) return leaves_collective(w, op, lanes);
    Cta& cta = *w.cta;
    leave_behind(w, lanes, op + 1);
    const auto go_to_same = [&](uint32_t which) {
        uint32_t same = 0;
        for (uint32_t i = 0; i < 32; ++i)
            same |= uint32_t{address[i] == address[std::countr_zero(which)]} << i;
        return same & which;
    };
    const auto at = [&](uint32_t which) {
        return cta.launch->code->at(address[std::countr_zero(which)]);
    };
    // Where the lowest lane goes, against the rest. The smaller side goes first, as at a branch; of
    // equal ones the lowest lane's. A rest with several targets executes the jump again: if it was
    // left, when it runs; if it goes first, at once, and then its targets have their turns by their
    // lowest lanes, before anybody else.
    Path& p = w.path();
    const bool in_turn = take_turn(w);
    uint32_t some = go_to_same(lanes), rest = lanes & ~some;
    const Op* target = at(some);
    const auto leaves_code = [&](uint32_t which) {
        return engine(w).fault(w, op, which, FaultKind::invalid_pc,
                               "the jump leaves the code of this module", true,
                               address[std::countr_zero(which)]);
    };
    if (!target) return leaves_code(some);
    if (rest && !in_turn) {
        const bool several = go_to_same(rest) != rest;
        const Op* elsewhere = several ? op : at(rest);
        if (!elsewhere) return leaves_code(rest);
        if (std::popcount(some) <= std::popcount(rest)) {
            Path& later = push(w, elsewhere, rest);
            if (several) {
                later.end = op;
                later.want = rest;
            }
            rest = 0;
        } else {
            push(w, target, some);
            some = several ? go_to_same(rest) : rest;
            rest &= ~some;
            target = at(some);
            if (!target) return leaves_code(some);
        }
    }
    if (rest) keep_turn(w, op, rest);
    w.path().lanes = w.active = some;
    return target <= op ? back_edge(w, target, op) : target;
}

const Op* yield(Warp& w, const Op* target, const Op* edge) {
    Path& p = w.path();
    p.pc = target;
    p.spins = p.edge == edge ? static_cast<uint16_t>(std::min(p.spins + 1, 0xffff)) : uint16_t{0};
    p.edge = edge;
    p.head = target;
    w.stop = Stop::yielded;
    return nullptr;
}

const Op* give_way(Warp& w, const Op* op) {
    if (in_collective(w)) return leaves_collective(w, op, w.active);
    if (w.watch) return op + 1;
    Path& p = w.path();
    p.yields = p.yield == op ? static_cast<uint16_t>(std::min(p.yields + 1, 0xffff)) : uint16_t{0};
    p.yield = op;
    step_aside(w, op + 1);
    choose(w);
    return w.path().pc;
}

// Lanes that wait for no lane outside their group run on, and stay together: with each other,
// whatever masks they name, and with those whose guard was false. .EXCLUSIVE divides them. (Both
// measured on an H200.)
const Op* warpsync(Warp& w, const Op* op, uint32_t lanes, const uint32_t want[32],
                   Meeting meeting) {
    if (in_collective(w)) return leaves_collective(w, op, lanes);
    const bool collective = is_collective(meeting);
    uint32_t waiting = 0;
    for (uint32_t todo = lanes; todo;) {
        const uint32_t named = want[std::countr_zero(todo)], group = same_mask(want, todo);
        todo &= ~group;
        if ((named & w.live & ~group) || (meeting == Meeting::exclusive && group != w.active) ||
            collective)
            waiting |= group;
        else if (Hooks* hooks = engine(w).hooks())
            events::warp_joins(*hooks, w, op, group);
    }
    if (!waiting) return op + 1;
    leave_behind(w, waiting, op + 1);
    for (uint32_t todo = waiting;;) {
        const uint32_t group = same_mask(want, todo);
        Path& p = w.path();
        p.lanes = w.active = group;
        p.pc = op + 1;
        p.state = PathState::at_warpsync;
        p.meeting = meeting;
        p.want = want[std::countr_zero(group)] & w.exists;
        if (collective) p.end = as<CollectivePayload>(*op).end();
        todo &= ~group;
        if (!todo) break;
        w.paths[w.paths_used] = Path{};
        w.paths[w.paths_used].lanes = todo;
        w.current = w.paths_used++;
    }
    recheck(w);
    if (w.path().state != PathState::runnable) return run_other_path(w);
    if (!is_collective(w.path().meeting)) w.path().meeting = Meeting::none;
    w.active = w.path().lanes;
    return w.path().pc;
}

// The path that ran goes on behind ENDCOLLECTIVE, the others at the targets of their own WARPSYNCs
// (measured).
const Op* end_collective(Warp& w, const Op* op, uint32_t lanes) {
    Path& runner = w.path();
    uint32_t all = runner.want;
    for (uint32_t i = 0; i < w.paths_used; ++i)
        if (const Path& p = w.paths[i];
            p.state == PathState::in_collective && (p.want & runner.lanes))
            all |= p.want;
    if (!in_collective(w) || lanes != all) return leaves_collective(w, op, lanes);
    for (uint32_t i = 0; i < w.paths_used; ++i) {
        Path& p = w.paths[i];
        if (p.state != PathState::in_collective || !(p.want & all)) continue;
        p.state = PathState::runnable;
        p.meeting = Meeting::none;
        p.lanes = p.want;
        p.pc = std::exchange(p.end, nullptr);
    }
    runner.meeting = Meeting::none;
    runner.end = nullptr;
    runner.lanes = w.active = runner.want;
    return op + 1;
}

const Op* exit(Warp& w, const Op* op, uint32_t lanes) {
    if (in_collective(w)) return leaves_collective(w, op, lanes);
    Cta& cta = *w.cta;
    if (Hooks* hooks = engine(w).hooks()) events::exits(*hooks, w, op, lanes);
    if (w.in_flight) engine(w).drain(w);
    w.live &= ~lanes;
    w.active &= ~lanes;
    w.path().lanes = w.active;
    cta.live_threads -= static_cast<uint32_t>(std::popcount(lanes));
    const bool path_over = w.active == 0;
    if (path_over) remove(w, w.current);
    recheck(w);
    if (cta.barriers_open) recheck_barriers(cta);
    if (cta.cluster->open) recheck_cluster(*cta.cluster);
    if (!path_over) return op + 1;
    if (!w.live) {
        if (cta.warpgroups) recheck_warpgroup(w);
        w.stop = Stop::retired;
        return nullptr;
    }
    w.current = 0;
    if (choose(w, static_cast<uint32_t>(std::countr_zero(lanes)))) return w.path().pc;
    w.stop = Stop::blocked;
    return nullptr;
}

const Op* sleep(Warp& w, const Op* op, uint32_t lanes, uint64_t ns) {
    // Virtual time passes for the whole CTA; the path gives way to others. The lanes that do not
    // sleep just go on with it: sleeping has no result that they could miss.
    (void)lanes;
    w.cta->virtual_time += ns;
    if (w.watch) return op + 1;
    step_aside(w, op + 1);
    w.stop = Stop::yielded;
    return nullptr;
}

}  // namespace paths

const Op* Engine::park(Warp& w, const Op* op, const std::byte* at, uint32_t bytes) {
    std::vector<Watch>& watches = slot(w).watches;
    Path& p = w.path();
    p.pc = op;
    p.edge = nullptr;
    p.state = PathState::parked;
    p.watch = static_cast<uint32_t>(watches.size());
    watches.emplace_back().note(at, bytes);
    if (w.paths_used > 1) paths::preempt(w);  // `op` needs its uniform registers again
    return run_other_path(w);
}

}  // namespace sassemu
