// SPDX-License-Identifier: Apache-2.0
// What a CTA does in one slice of a worker's time: its warps and their paths take turns, and who
// spins is watched. What does not belong here: which CTA comes next (engine.cpp).
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "emu/plugin/hooks.hpp"
#include "emu/schedule/engine.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

namespace {

bool can_run(const Warp& w) {
    bool runnable = false;
    for (uint32_t k = 0; k < w.paths_used && w.live; ++k)
        runnable |=
            w.paths[k].state == PathState::runnable || w.paths[k].state == PathState::at_bsync;
    return runnable;
}

// A path at BAR, or (with a model) one that waits for a load, keeps the warp, as on the chip.
bool is_kept(const Warp& w) {
    bool kept = false;
    for (uint32_t k = 0; k < w.paths_used; ++k)
        kept |= w.paths[k].state == PathState::at_bar ||
                w.paths[k].state == PathState::at_meeting ||
                w.paths[k].state == PathState::in_flight;
    return kept;
}

// It has come round twice with nothing to show for it.
bool may_spin(const Warp& w, const Path& p) { return p.spins >= 2 && p.edge && !w.in_flight; }

}  // namespace

void Engine::report(Turn& worker) {
    launch_.issued.fetch_add(worker.unreported, std::memory_order_relaxed);
    worker.unreported = 0;
}

Engine::Outcome Engine::run_slice(CtaSlot& slot, Turn& worker) {
    Cta& cta = slot.cta;
    async::Agents& agents = agents_of(cta);
    ++cta.slices;
    if (const uint64_t now = launch_.space->removals(); slot.removals != now) {
        slot.removals = now;
        cta.last = Extent{};
    }
    uint64_t ran = 0, effects_before = 0, effects_after = 0;
    slot.gives_way = false;
    if (launch_.hooks) stepping_ = &cta;
    for (uint32_t i = 0; i < cta.warp_count; ++i) effects_before += cta.warps[i].effects;
    bool all_have_turns = false;
    for (;;) {
        bool progress = false;
        // A schedule may name the warp to run; where that one cannot, all have their turn.
        uint32_t one = 0;
        if (launch_.hooks && !std::exchange(all_have_turns, false))
            for (uint32_t tries = 0; tries < 4 && !one; ++tries) {
                one = chooser_.pick(ChoicePoint::next_warp, cta.warp_count + 1);
                if (!one) break;
                if (!can_run(cta.warps[one - 1])) one = 0;
            }
        for (uint32_t n = 0; n < (one ? 1 : cta.warp_count); ++n) {
            Warp& w = cta.warps[one ? one - 1 : cta.next_warp];
            if (!one && ++cta.next_warp == cta.warp_count) cta.next_warp = 0;
            if (!w.live) continue;
            const uint64_t before = w.issued + w.guard_false;
            if (!run_warp(slot, w, worker)) continue;
            progress = true;
            agents.turn();
            const uint64_t done = w.issued + w.guard_false - before;
            ran += done;
            worker.issued += done;
            if (stops(worker, done)) return Outcome::stopped;
            if (worker.refused) return Outcome::expired;
        }
        if (cta.live_threads == 0) {
            agents.finish(cta);
            return Outcome::done;
        }
        step_model(cta, !progress);
        if (!progress && one) {
            all_have_turns = true;
            continue;
        }
        if (!progress && !wake_parked(slot)) {
            report(worker);
            return Outcome::blocked;
        }
        if (ran >= cta_slice_ || !progress || slot.gives_way || (launch_.hooks && turns_away(8)))
            break;
    }
    report(worker);
    let_time_pass(slot);  // others get on, and may do so for long
    for (uint32_t i = 0; i < cta.warp_count; ++i) effects_after += cta.warps[i].effects;
    slot.quiet_slices = effects_after == effects_before ? slot.quiet_slices + 1 : 0;
    if (slot.gives_way) slot.quiet_slices = CtaSlot::others_first;
    return Outcome::expired;
}

// Makes the path of the warp that runs next the current one; false: none can.
bool Engine::next_path(Warp& w) {
    const bool goes_on = w.path().state == PathState::runnable;
    if (w.paths_used == 1) return goes_on || paths::pick(w);
    if (is_kept(w)) return false;
    // Paths that leave each other the warp at every YIELD may never have a turn of their own.
    for (uint32_t k = 0; k < w.paths_used; ++k)
        if (w.paths[k].state == PathState::runnable && may_spin(w, w.paths[k])) {
            w.current = static_cast<uint8_t>(k);
            return true;
        }
    return (goes_on && !w.path().yielded) || paths::pick(w);
}

// The next turn is another path's, though this one could go on. A chip does not do so, and code
// that needs it hangs there; but it would be hard to find out why (architecture, decision 4).
void Engine::take_turns(Warp& w) {
    w.path().turns = 0;
    paths::preempt(w);
    for (uint32_t k = 1; k < w.paths_used; ++k) {
        const uint32_t i = (w.current + k) % w.paths_used;
        if (w.paths[i].state != PathState::runnable) continue;
        w.current = static_cast<uint8_t>(i);
        return;
    }
}

// Runs one runnable path of the warp; false when it has none.
bool Engine::run_warp(CtaSlot& slot, Warp& w, Turn& worker) {
    if (!next_path(w)) return false;
    w.active = w.path().lanes;
    w.path().aside = false;
    // A loop that sleeps or yields hardly uses up a quantum, and may be a spin all the same.
    const bool gave_way = w.path().yielded;
    paths::resume(w);
    const Path& path = w.path();
    if (path.answer == WaitAnswer::timed_out) {
        w.quantum_end = w.issued;  // stop at the next back edge: it may be a spin
        run_path(w, worker);
    } else if (may_spin(w, path)) {
        watch_spin(slot, w, worker);
    } else {
        // A loop that waits for a load in every iteration is a spin all the same.
        if (w.stop != Stop::pending) w.quantum_end = w.issued + (gave_way ? 0 : path_quantum_);
        run_path(w, worker);
    }
    if (w.stop == Stop::yielded && w.paths_used > 1 && !w.path().yielded &&
        (slot.gives_way || path_quantum_ != path_quantum || ++w.path().turns == most_turns))
        take_turns(w);
    return true;
}

void Engine::run_path(Warp& w, Turn& worker) {
    w.stop = Stop::none;
    if (settings_.stepper) [[unlikely]]
        return run_followed(w);
    if (worker.recording) return run_recorded(w, worker);
    if (settings_.limit) return run_within_limit(w, worker);
    run_freely(w);
}

void Engine::run_freely(Warp& w) {
    if (settings_.checked)
        level_.run_checked(w, w.path().pc, launch_.code->register_sets(), launch_.code->ops());
    else
        level_.run(w, w.path().pc);
}

// A path that ended quantum after quantum on one back edge: watch it go round once. Where agents
// have work, a loop that looks at the clock too is asked with the clock standing still: what then
// goes round without a change waits for memory, until nothing but time can help it.
void Engine::watch_spin(CtaSlot& slot, Warp& w, Turn& worker) {
    // Not in the thread's own block: a library that is loaded late (libcuda.so.1) has little room
    // there.
    struct Spin {
        SpinSnapshot snapshot;
        Watch watch;
    };
    thread_local const std::unique_ptr<Spin> spin(new (std::nothrow) Spin);
    if (!spin) return;  // without memory nothing is parked
    SpinSnapshot& snapshot = spin->snapshot;
    Watch& watch = spin->watch;
    const Op* edge = w.path().edge;
    w.path().spins = 0;  // whatever comes: the others have their turn before the next look
    watch.used = 0;
    watch.overflow = false;
    watch.effects = w.effects;
    w.watch = &watch;
    Cta& cta = *w.cta;
    if (!agents_of(cta).idle()) {
        cta.stopped_at = cta.clock();
        cta.looked_at_clock = false;
    }
    const uint64_t end = w.issued + path_quantum;
    const auto go_round = [&] {
        do {
            w.quantum_end = w.issued;  // stop at the next back edge
            run_path(w, worker);
        } while (w.stop == Stop::yielded && w.path().edge && w.path().edge != edge &&
                 w.issued < end && !watch.overflow);
    };
    // Others may have let it run on since its quantum ended there.
    if (w.path().pc != w.path().head || cta.stopped_at) go_round();
    if (w.path().edge == edge && !watch.overflow) {
        snapshot.take(w, launch_.rows);
        watch.used = 0;
        watch.effects = w.effects;
        go_round();
    }
    w.watch = nullptr;
    const bool timed = std::exchange(cta.stopped_at, std::nullopt) && cta.looked_at_clock;
    Path& p = w.path();
    if (w.stop != Stop::yielded) return;
    const bool waits = watch.used || !timed;  // a loop that only lets time pass does not
    if (p.edge == edge && !watch.overflow && waits && snapshot.same(w, launch_.rows)) {
        p.state = PathState::parked;
        p.timed = timed;
        p.watch = static_cast<uint32_t>(slot.watches.size());
        slot.watches.push_back(watch);
        p.spins = 1;
    } else {
        p.spins = 0;
    }
}

void Engine::tell_cta(Cta& cta, bool begins) {
    stepping_ = &cta;
    if (begins)
        launch_.hooks->cta_begin(cta);
    else
        launch_.hooks->cta_end(cta);
}

// Between slices of a CTA: what a model holds back for it may happen now.
void Engine::step_model(Cta& cta, bool idle) {
    if (launch_.model) {
        stepping_ = &cta;
        launch_.model->step(*this, &cta);
    } else if (launch_.hooks) {
        stepping_ = &cta;
        launch_.hooks->step(cta, idle);
    }
    if (has_far()) complete_far(slot_of(cta));
}

// Time is what paths may be waiting for that look at the clock as they spin. They were parked
// because agents had work.
bool Engine::let_time_pass(CtaSlot& slot) {
    if (slot.watches.empty()) return false;  // none is parked
    bool any = false;
    for (uint32_t i = 0; i < slot.cta.warp_count; ++i)
        for (Path& p : std::span(slot.cta.warps[i].paths, slot.cta.warps[i].paths_used)) {
            if (p.state != PathState::parked || !std::exchange(p.timed, false)) continue;
            p.state = PathState::runnable;
            p.spins = 2;  // and look again
            any = true;
        }
    return any;
}

// Makes parked paths runnable whose bytes have changed; true when there is one.
bool Engine::wake_parked(CtaSlot& slot) {
    bool any = false, all = true;
    // What it watches may have been freed: it looks itself.
    const bool removed = slot.removals != launch_.space->removals();
    if (slot.cta.launch) step_model(slot.cta, true);
    for (uint32_t i = 0; i < slot.cta.warp_count; ++i) {
        Warp& w = slot.cta.warps[i];
        for (uint32_t k = 0; k < w.paths_used; ++k) {
            Path& p = w.paths[k];
            if (p.state == PathState::runnable && w.live && !is_kept(w)) any = true;
            // What comes from other processes wakes it itself; a model has to be asked again.
            if (p.state == PathState::in_flight && w.live && (!has_far() || launch_.hooks))
                any = true;
            if (p.state != PathState::parked) continue;
            if (removed || slot.watches[p.watch].changed()) {
                p.state = PathState::runnable;
                if (std::exchange(p.timed, false)) p.spins = 2;
                any = true;
            } else {
                all = false;
            }
        }
    }
    if (all) slot.watches.clear();
    return any;
}

}  // namespace sassemu
