// SPDX-License-Identifier: Apache-2.0
// Convergence barriers, and which path of a warp runs next, as an H100 does it
// (emu/isa/QUESTIONS.md, T11). Paths that were left at branches run in turn, the last one first.
// When there is none, whoever has waited longest goes on: it gave way, or its barrier gives up.
#include <algorithm>
#include <bit>
#include <utility>

#include "emu/plugin/sync_events.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

namespace {

using paths::nobody;

// Whether it goes on by itself: it waits for memory, an agent or other warps.
bool is_busy(const Path& p) {
    switch (p.state) {
        case PathState::runnable:
        case PathState::at_bsync:
        case PathState::in_collective:
        case PathState::parked:
            return false;
        case PathState::at_warpsync:
            return paths::is_before_bar(p);
        default:
            return true;
    }
}

bool is_next(const Path& p) { return p.state == PathState::runnable && !p.aside; }

// On sm_90 lanes that gave way are not waited for at BSYNC (measured). Code for the older ones
// counts on BSYNC waiting for lanes that execute YIELD in a loop, and that for the later ones has
// words for it (BSYNC.RELIABLE); nobody had such a chip. One that yields for ever may wait for
// those at BSYNC.
bool is_waited_for(const Warp& w, const Path& p) {
    constexpr uint16_t for_ever = 1024;
    return p.state == PathState::runnable && p.yielded && p.yields < for_ever &&
           w.cta->launch->arch != 90;
}

uint32_t lowest(uint32_t lanes) { return static_cast<uint32_t>(std::countr_zero(lanes)); }

// Lanes of a jump with several targets that have not had their turn are a list from
// Convergence::in_turn on, the last ones first. Each path there keeps how many sides had been left
// at branches before it, whose turn comes later, and the lowest lane of the next in the list.
uint8_t& sides_below(Path& p) { return p.barrier; }
uint32_t& next_in_turn(Path& p) { return p.watch; }

uint32_t path_of(const Warp& w, uint32_t lane) {
    for (uint32_t k = 0; k < w.paths_used; ++k)
        if (w.paths[k].lanes >> lane & 1) return k;
    return nobody;
}

// The running path takes over those in `which` (bits are indices).
void absorb(Warp& w, uint32_t which) {
    for (uint32_t k = w.paths_used; k-- > 0;) {
        if (k == w.current || !(which >> k & 1)) continue;
        w.path().lanes |= w.paths[k].lanes;
        paths::remove(w, k);
    }
}

void tell_joined(Warp& w, const Op* bsync, uint32_t lanes) {
    if (Hooks* hooks = engine(w).hooks()) events::warp_joins(*hooks, w, bsync, lanes);
}

// It has its turn, or runs with others.
[[gnu::noinline]] void leave_turns(Warp& w, Path& p) {
    p.in_turn = false;
    Convergence& c = w.convergence;
    const uint32_t lane = lowest(p.lanes);
    if (c.in_turn == lane) c.in_turn = static_cast<uint8_t>(next_in_turn(p));
    for (uint32_t k = 0; k < w.paths_used; ++k)
        if (Path& q = w.paths[k]; q.in_turn && next_in_turn(q) == lane)
            next_in_turn(q) = next_in_turn(p);
}

// The path with the lowest lane of those that are not aside.
uint32_t first_ready(const Warp& w) {
    uint32_t chosen = nobody, least = 32;
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        const auto lane = lowest(w.paths[k].lanes);
        if (!is_next(w.paths[k]) || lane >= least) continue;
        chosen = k;
        least = lane;
    }
    return chosen;
}

// Counted from `lane` upwards and round, how far the first of `lanes` is.
uint32_t first_lane_after(uint32_t lanes, uint32_t lane) {
    return static_cast<uint32_t>(std::countr_zero(std::rotr(lanes, static_cast<int>(lane + 1))));
}

// The path that gave way or waits the longest; after an exit of `left` the one with the next lane.
uint32_t oldest(const Warp& w, uint32_t left) {
    bool gives_up = true;
    for (uint32_t k = 0; k < w.paths_used; ++k)
        gives_up &= !is_busy(w.paths[k]) && !is_waited_for(w, w.paths[k]);
    uint32_t chosen = nobody;
    uint64_t least = ~uint64_t{0};
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        const Path& p = w.paths[k];
        if (p.state != PathState::runnable && !(p.state == PathState::at_bsync && gives_up))
            continue;
        const auto lane = lowest(p.lanes);
        const uint32_t next = left == nobody ? lane : first_lane_after(p.lanes, left);
        const uint64_t order = uint64_t{left == nobody ? p.since : 0} << 8 | next;
        if (order >= least) continue;
        chosen = k;
        least = order;
    }
    return chosen;
}

// The running path takes along all that stand where it does, also those that wait at BSYNC. If it
// waited there itself, its barrier gives up.
void take_along(Warp& w) {
    Path& p = w.path();
    uint32_t which = 0, executed = p.end == p.pc ? p.want : 0;
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        const Path& q = w.paths[k];
        if (k != w.current && q.pc == p.pc && !q.saved && !p.saved && q.meeting == Meeting::none &&
            p.meeting == Meeting::none &&
            (q.state == PathState::at_bsync || q.state == PathState::runnable)) {
            which |= 1u << k;
            if (q.end == q.pc) executed |= q.want;
        }
    }
    if (executed) {
        p.end = p.pc;
        p.want = executed;
    }
    if (p.state == PathState::at_bsync) w.convergence.b[p.barrier] = 0;
    p.state = PathState::runnable;
    absorb(w, which);
    Convergence& c = w.convergence;
    const uint32_t turn = c.in_turn == Convergence::none ? nobody : path_of(w, c.in_turn);
    const uint32_t kept = turn == nobody ? 0 : sides_below(w.paths[turn]);
    while (c.left_count > kept && w.path().lanes >> c.left[c.left_count - 1] & 1) {
        --c.left_count;
        c.top_is_whole = false;
    }
}

bool is_at(const Path& p, const Op* bsync, uint32_t barrier) {
    return p.state == PathState::at_bsync && p.pc == bsync && p.barrier == barrier;
}

void wait_at(Warp& w, Path& p, uint32_t barrier) {
    p.state = PathState::at_bsync;
    p.end = p.pc;
    p.want = p.lanes;
    p.barrier = static_cast<uint8_t>(barrier);
    p.since = ++w.path_clock;
}

// Comes to a BAR by itself, if it comes.
bool can_come(const Path& p) {
    return p.state == PathState::runnable || p.state == PathState::in_flight ||
           p.state == PathState::asleep;
}

// Nobody comes any longer: lanes before one BAR go on.
uint32_t give_up_before_bar(Warp& w) {
    const Op* bar = nullptr;
    uint32_t chosen = nobody;
    for (uint32_t k = 0; k < w.paths_used; ++k)
        if (can_come(w.paths[k])) return nobody;
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        Path& p = w.paths[k];
        if (!paths::is_before_bar(p) || (bar && p.pc != bar)) continue;
        if (!bar) chosen = k;
        bar = p.pc;
        p.state = PathState::runnable;
    }
    return chosen;
}

// Lanes are left for later at a branch. Of more than five sides the first is aside.
void leave_for_later(Warp& w, uint32_t lanes) {
    Convergence& c = w.convergence;
    if (c.left_count == Convergence::most_left) {
        if (const uint32_t k = path_of(w, c.left[0]); k != nobody && k != w.current)
            w.paths[k].aside = true;
        std::copy(c.left + 1, c.left + Convergence::most_left, c.left);
        --c.left_count;
        for (uint32_t k = 0; k < w.paths_used; ++k)
            if (Path& p = w.paths[k]; p.in_turn && sides_below(p)) --sides_below(p);
    }
    c.left[c.left_count++] = static_cast<uint8_t>(lowest(lanes));
    c.top_is_whole = true;
}

}  // namespace

namespace paths {

Path& push(Warp& w, const Op* pc, uint32_t lanes) {
    leave_for_later(w, lanes);
    // At most 32: every path has at least one lane of its own.
    Path& p = w.paths[w.paths_used++];
    p = Path{};
    p.pc = pc;
    p.lanes = lanes;
    p.since = w.path().since;
    return p;
}

void keep_turn(Warp& w, const Op* jump, uint32_t lanes) {
    Path& p = w.paths[w.paths_used++];
    p = Path{};
    p.pc = jump;
    p.lanes = lanes;
    p.since = w.path().since;
    p.end = jump;
    p.want = lanes;
    Convergence& c = w.convergence;
    p.in_turn = true;
    sides_below(p) = c.left_count;
    next_in_turn(p) = std::exchange(c.in_turn, static_cast<uint8_t>(lowest(lanes)));
    c.top_is_whole = true;
}

bool take_turn(Warp& w) {
    Path& p = w.path();
    if (!p.in_turn) return false;
    leave_turns(w, p);
    return true;
}

void remove(Warp& w, uint32_t index) {
    if (w.paths[index].in_turn) leave_turns(w, w.paths[index]);
    const uint32_t last = --w.paths_used;
    if (index != last) w.paths[index] = w.paths[last];
    if (w.current == last) w.current = static_cast<uint8_t>(index);
}

bool pick(Warp& w, uint32_t left_by) {
    Convergence& c = w.convergence;
    uint32_t chosen = nobody;
    bool whole = false, in_turn = false;
    while ((c.left_count || c.in_turn != Convergence::none) && chosen == nobody) {
        chosen = c.in_turn == Convergence::none ? nobody : path_of(w, c.in_turn);
        in_turn = chosen != nobody && sides_below(w.paths[chosen]) == c.left_count;
        if (in_turn)
            leave_turns(w, w.paths[chosen]);
        else
            chosen = path_of(w, c.left[--c.left_count]);
        whole = std::exchange(c.top_is_whole, false);
        if (chosen != nobody && !is_next(w.paths[chosen])) chosen = nobody;
    }
    const bool left = chosen != nobody;
    if (!left && left_by == nobody) chosen = first_ready(w);
    if (chosen == nobody) chosen = oldest(w, left_by);
    if (chosen == nobody) chosen = give_up_before_bar(w);
    if (chosen == nobody) return false;
    w.current = static_cast<uint8_t>(chosen);
    // The lanes of the path that was left last are known; of the others the chip knows one, and
    // takes all that stand where that one does.
    const uint32_t own = w.path().lanes;
    if (!left || !whole) take_along(w);
    w.path().in_turn = left && in_turn && w.path().lanes == own;
    if (w.path().meeting == Meeting::exclusive) w.path().meeting = Meeting::none;
    w.path().aside = false;
    w.path().turns = 0;
    return true;
}

bool choose(Warp& w, uint32_t left_by) {
    if (!pick(w, left_by)) return false;
    w.active = w.path().lanes;
    resume(w);
    return true;
}

bool meet_before_bar(Warp& w, const Op* bar, const Op*& next) {
    uint32_t which = 0;
    bool some = false;
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        const Path& q = w.paths[k];
        if (k == w.current) continue;
        some |= can_come(q);
        which |= uint32_t{is_before_bar(q) && q.pc == bar} << k;
    }
    if (!some && !which) return false;
    if (!some) absorb(w, which);
    Path& p = w.path();
    p.pc = p.end = next = bar;  // it counts once
    p.want = w.active = p.lanes;
    if (some) {
        p.state = PathState::at_warpsync;
        next = run_other_path(w);
    }
    return true;
}

const Op* bsync(Warp& w, const Op* op, uint32_t lanes, uint32_t barrier) {
    if (in_collective(w)) return leaves_collective(w, op, lanes);
    if (!leave_behind(w, lanes, op + 1)) return nullptr;
    Convergence& c = w.convergence;
    const uint32_t members = c.b[barrier] & w.live, others = members & ~lanes;
    uint32_t arrived = 0;
    bool some_can_come = false;
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        const Path& q = w.paths[k];
        if (k == w.current) continue;
        if (is_at(q, op, barrier)) arrived |= q.lanes;
        some_can_come |= is_busy(q) || (q.state == PathState::runnable && !q.yielded) ||
                         ((q.lanes & others) && is_waited_for(w, q));
    }
    const bool complete = (others & ~arrived) == 0;
    if (!complete && some_can_come) {
        Path& p = w.path();
        if (const uint32_t strangers = lanes & ~members) {
            // They go on.
            Path& rest = w.paths[w.paths_used++];
            rest = p;
            rest.pc = op;
            rest.lanes = lanes & members;
            p.lanes = w.active = strangers;
            wait_at(w, rest, barrier);
            return op + 1;
        }
        p.pc = op;
        wait_at(w, p, barrier);
        return run_other_path(w);
    }
    // Those that wait here come along. The others of the barrier can run again, and find that these
    // have gone. (If lanes that are not of the barrier are here, those that gave way stay as they
    // are.)
    const bool all_are_members = !(lanes & ~members);
    uint32_t which = 0;
    for (uint32_t k = 0, used = w.paths_used; k < used; ++k) {
        Path& q = w.paths[k];
        const bool waits = q.state == PathState::at_bsync;
        const bool gave_way = all_are_members && q.state == PathState::runnable && q.yielded;
        if (k == w.current || !(q.lanes & others) || !(waits || gave_way)) continue;
        if (const uint32_t strangers = q.lanes & ~others) {
            Path& rest = w.paths[w.paths_used++];
            rest = q;
            rest.lanes = strangers;
            q.lanes &= others;
        }
        if (is_at(q, op, barrier)) {
            which |= 1u << k;
            continue;
        }
        if (waits) q.since = ++w.path_clock;
        q.state = PathState::runnable;
        q.yielded = false;
        q.aside = true;
    }
    c.b[barrier] = 0;
    if (which) absorb(w, which);
    w.active = w.path().lanes;
    tell_joined(w, op, w.active);
    return op + 1;
}

// Those that wait go on, and those that have left: the fewer first, as at a branch.
const Op* leave_barrier(Warp& w, const Op* op, uint32_t barrier) {
    Convergence& c = w.convergence;
    const uint32_t members = c.b[barrier] & w.live, leavers = w.active;
    uint32_t arrived = 0, which = 0;
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        const Path& q = w.paths[k];
        if (q.state != PathState::at_bsync || q.barrier != barrier || !(q.lanes & members))
            continue;
        arrived |= q.lanes;
        which |= 1u << k;
    }
    if (!which || (members & ~arrived)) return op + 1;
    if (in_collective(w)) return leaves_collective(w, op, w.active);
    w.path().pc = op + 1;
    c.b[barrier] = 0;
    w.current = static_cast<uint8_t>(std::countr_zero(which));
    const Op* bsync = w.path().pc;
    // Lanes may wait at several BSYNCs of one barrier register; each goes on behind its own.
    uint32_t together = 0;
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        Path& p = w.paths[k];
        if (!(which >> k & 1)) continue;
        if (p.pc == bsync) together |= 1u << k;
        p.state = PathState::runnable;
        ++p.pc;
        p.end = nullptr;
    }
    absorb(w, together);
    tell_joined(w, bsync, w.path().lanes);
    if (std::popcount(leavers) <= std::popcount(arrived)) {
        leave_for_later(w, w.path().lanes);
        w.current = static_cast<uint8_t>(path_of(w, lowest(leavers)));
    } else {
        leave_for_later(w, leavers);
    }
    w.active = w.path().lanes;
    return w.path().pc;
}

}  // namespace paths

const Op* run_other_path(Warp& w) {
    if (paths::choose(w)) return w.path().pc;
    w.stop = Stop::blocked;
    return nullptr;
}

}  // namespace sassemu
