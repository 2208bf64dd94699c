// SPDX-License-Identifier: Apache-2.0
// The queue of one launch. Workers take CTAs from it, run each for a slice and put it back. Nothing
// depends on two workers running at once, and no worker waits while a CTA could run.
#include "emu/schedule/engine.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "emu/plugin/hooks.hpp"
#include "emu/schedule/driver_functions.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

namespace {

// Warp instructions that a path runs before the next path or warp has its turn, and a CTA before
// the next CTA. Large enough that switching costs nothing, small enough that a lock holder in
// another CTA is never far.
constexpr uint64_t path_quantum = 4096;
constexpr uint64_t cta_slice = 1 << 18;
// Slices in a row without a write after which a CTA may be waiting for another one.
constexpr uint32_t others_first = 8;
// Under a model that plugs in, where what happens in between is what one wants to see.
constexpr uint64_t model_quantum = 64, model_slice = 1024;
// A worker claims several CTAs at a time, and begins them without the lock, while CTAs take less
// than this many warp instructions.
constexpr uint64_t short_cta = 1 << 14;
constexpr uint64_t most_claimed = 32;
// Warp instructions of a worker between two looks at the limits of the launch.
constexpr uint64_t report_after = 16 * path_quantum;

bool can_run(const Warp& w) {
    bool runnable = false;
    for (uint32_t k = 0; k < w.paths_used && w.live; ++k)
        runnable |= w.paths[k].state == PathState::runnable;
    return runnable;
}

// It has come round twice with nothing to show for it.
bool may_spin(const Warp& w, const Path& p) { return p.spins >= 2 && p.edge && !w.in_flight; }

// Whether a schedule (schedules.hpp) leaves what is usual, one time in `count`. Asked with plugins
// only: they look at orders.
bool turns_away(Chooser& chooser, uint32_t count) {
    return chooser.pick(ChoicePoint::next_warp, count) == count - 1;
}

}  // namespace

Engine::Engine(Launch& launch, const LevelTable& level, Chooser& chooser, DriverFunctions& calls,
               SlotCache& cache, Settings settings, std::string kernel, const Op* entry)
    : launch_(launch),
      level_(level),
      chooser_(chooser),
      calls_(calls),
      cache_(cache),
      settings_(std::move(settings)),
      kernel_(std::move(kernel)),
      entry_(entry),
      path_quantum_(path_quantum),
      cta_slice_(cta_slice),
      out_of_memory_("kernel '" + kernel_ + "': the host has no more memory to give") {
    launch_.host = this;
    launch_.services = &engine_services();
    if (launch_.hooks) instructions_ = launch_.hooks->instructions(*launch.code);
    if (launch_.hooks && launch_.hooks->holds_back()) {
        path_quantum_ = model_quantum;
        cta_slice_ = model_slice;
    }
    // Between two looks at its quantum a path runs no instruction twice.
    turn_most_ = path_quantum_ + 32 * launch.code->count();
}

bool Engine::begin() {
    if (!started_.time_since_epoch().count()) {
        total_ = launch_.grid.count() / launch_.cluster.count();
        share_ = Residency::all / settings_.resident_limit;
        workers_ = static_cast<uint32_t>(
            std::min<uint64_t>({settings_.threads, total_, settings_.resident_limit}));
    }
    // Its CTAs wait for each other: all of them have room, or none begins.
    if (settings_.cooperative && settings_.residency->used &&
        settings_.residency->used + total_ * share_ > Residency::all)
        return false;
    runnable_.reserve(64);
    blocked_.reserve(64);
    returned_.reserve(64);
    started_ = std::chrono::steady_clock::now();
    deadline_ = settings_.deadline;
    if (settings_.seconds > 0)
        deadline_ = std::min(
            deadline_, started_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                      std::chrono::duration<double>(settings_.seconds)));
    if (settings_.cooperative) settings_.residency->used += total_ * share_;
    launch_.space->hold();
    if (settings_.link) settings_.link->enter();
    if (settings_.on_begin) settings_.on_begin();
    return true;
}

LaunchResult Engine::finish() {
    if (launch_.hooks && !launch_.stop)  // what a model still holds
        while (launch_.hooks->idle_step()) {
        }
    // After a fault or a limit CTAs are left in the middle; they count as far as they came.
    for (auto& slot : slots_) {
        for (uint32_t r = 0; r < slot->cluster.size && !slot->fresh; ++r) {
            Cta& cta = *slot->cluster.cta[r];
            if (cta.live_threads) account(cta, sum_);
            cta.live_threads = 0;
        }
        if (slot->arena.get()) cache_.push_back(std::move(slot));
    }
    settings_.residency->used -= share_ * (settings_.cooperative ? total_ : resident_);
    launch_.space->let_go();
    LaunchStats& s = result_.stats;
    s.warp_instructions = sum_.warp_instructions;
    s.thread_instructions = sum_.thread_instructions;
    s.guard_false = sum_.guard_false;
    s.threads = std::max(1u, workers_);
    s.ctas = sum_.ctas;
    s.bytes_per_resident_cta = cache_.empty() ? 0 : cache_.back()->arena.bytes() + sizeof(CtaSlot);
    s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    if (settings_.on_end) settings_.on_end(result_.status);
    printed().flush();
    if (settings_.link) settings_.link->leave();
    return std::move(result_);
}

bool Engine::over() const {
    return !busy_ && (launch_.stop.load(std::memory_order_relaxed) || (!unclaimed() && !resident_));
}

bool Engine::take(Turn& turn) {
    if (launch_.stop.load(std::memory_order_relaxed)) return false;
    if (starved_ && out_of_instructions()) return false;
    if (settings_.link) {
        if (!settings_.link->has_turn()) return false;
        if (away_) come_back();
    }
    turn.slot = next(turn);
    if (!turn.slot) return false;
    if (settings_.link) settings_.link->ran();
    ++busy_;
    if (settings_.limit) ++settings_.limit->turns;
    return true;
}

// Whatever fails in here ends the launch, not the process.
void Engine::run(Turn& turn) noexcept {
    if (launch_.hooks) prepare_crash_stack();
    try {
        const Recording::Scope recording(launch_.hooks, *launch_.code);
        turn.recording = recording.get();
        turn.outcome = run_ctas(*turn.slot, turn);
        if (turn.recording) turn.recording->deliver();  // another worker may go on with the CTA
    } catch (const std::bad_alloc&) {
        fail(LaunchStatus::limit, nullptr);
    } catch (const std::exception& error) {
        fail(LaunchStatus::internal, error.what());
    } catch (...) {
        fail(LaunchStatus::internal, "an exception of no known type");
    }
    report(turn);
}

void Engine::put(Turn& turn) {
    --busy_;
    if (settings_.limit) --settings_.limit->turns;
    sum_.ctas += turn.ctas;
    sum_.warp_instructions += turn.warp_instructions;
    sum_.thread_instructions += turn.thread_instructions;
    sum_.guard_false += turn.guard_false;
    starved_ |= turn.refused;
    CtaSlot* const slot = turn.slot;
    try {
        if (turn.claimed.begin < turn.claimed.end) returned_.push_back(turn.claimed);
        switch (turn.outcome) {
            case Outcome::done:
                retire(*slot);
                break;
            case Outcome::expired:
                // A CTA that only reads waits for another one; a long one lets others run too.
                if (slot->quiet_slices < others_first && slot->cta.slices % 16)
                    runnable_.insert(runnable_.begin(), slot);
                else
                    runnable_.push_back(slot);
                break;
            case Outcome::blocked:
                blocked_.push_back(slot);
                break;
            case Outcome::stopped:
                break;
        }
    } catch (const std::bad_alloc&) {
        fail(LaunchStatus::limit, nullptr);
    }
}

// A slice of the CTA; when that ends it, the claimed ones after it, in the same memory.
Engine::Outcome Engine::run_ctas(CtaSlot& slot, Turn& worker) {
    for (;;) {
        if (slot.fresh) {
            if (!prepare(slot)) return Outcome::stopped;
            worker.ctas += slot.cluster.size;
        }
        Outcome outcome =
            slot.cluster.size > 1 ? run_cluster(slot, worker) : run_slice(slot, worker);
        // Nobody gets on without the copies that are under way: the oldest is performed.
        // A wait that looks at a clock is no spin; so now and then one is performed anyway.
        const bool stuck =
            outcome == Outcome::blocked ||
            (outcome == Outcome::expired && (slot.quiet_slices || slot.cta.slices % 64 == 0));
        if (stuck && slot.agents.act()) outcome = Outcome::expired;
        if (outcome != Outcome::done) return outcome;
        for (uint32_t r = 0; r < slot.cluster.size; ++r) {
            account(*slot.cluster.cta[r], worker);
            if (launch_.hooks) tell_cta(*slot.cluster.cta[r], false);
            if (printed().prints) printed().ended(slot.cluster.cta[r]->linear);
        }
        if (worker.claimed.begin == worker.claimed.end) return outcome;
        slot.cluster.index = worker.claimed.begin++;
        slot.fresh = true;
    }
}

bool Engine::can_admit() const {
    if (!unclaimed() || resident_ >= settings_.resident_limit) return false;
    return settings_.cooperative || !settings_.residency->used ||
           settings_.residency->used + share_ <= Residency::all;
}

// The next CTA to run, or nullptr when none can.
CtaSlot* Engine::next(Turn& worker) {
    // CTAs run to their end one after the other, unless one may be waiting for a CTA that is not
    // resident yet: pure spins are blocked by now, others have not written for long, or take very
    // long (at 16, 32, 64, ... slices, so that memory hardly grows with a kernel's length).
    const auto may_wait = [](const CtaSlot& s) {
        return s.quiet_slices >= others_first ||
               (s.cta.slices >= 16 && std::has_single_bit(s.cta.slices));
    };
    const bool others_too = launch_.hooks && turns_away(chooser_, 2);
    if (can_admit() && (runnable_.empty() || may_wait(*runnable_.front()) || others_too))
        return admit(worker);
    const auto spins = [](const CtaSlot* s) { return s->quiet_slices >= others_first; };
    if (held_ && busy_ == 0 && std::all_of(runnable_.begin(), runnable_.end(), spins)) {
        give_way_to_chain();
        return nullptr;
    }
    if (!runnable_.empty()) {
        const uint32_t i =
            chooser_.pick(ChoicePoint::next_cta, static_cast<uint32_t>(runnable_.size()));
        CtaSlot* slot = runnable_[i];
        runnable_.erase(runnable_.begin() + i);
        return slot;
    }
    for (size_t i = 0; i < blocked_.size(); ++i) {
        CtaSlot* slot = blocked_[i];
        if (!wake_cluster(*slot)) continue;
        blocked_.erase(blocked_.begin() + static_cast<std::ptrdiff_t>(i));
        return slot;
    }
    return nullptr;
}

bool Engine::settle() {
    if (launch_.stop) return false;
    if (away_) return settings_.link->has_turn();
    bool waits = false;
    for (CtaSlot* slot : blocked_) waits |= time_out_waits(*slot);
    if (waits) return true;  // one of them wakes now
    // What a model holds back may be what they wait for.
    if (launch_.hooks && launch_.hooks->idle_step()) return true;
    return settings_.link && settings_.link->pass();
}

// What a worker begins next: one CTA or cluster, or several while they are short and none waits.
Engine::Range Engine::claim() {
    if (!returned_.empty()) {
        const Range range = returned_.back();
        returned_.pop_back();
        return range;
    }
    uint64_t count = 1;
    if (short_ctas_ && runnable_.empty() && blocked_.empty())
        count = std::clamp<uint64_t>((total_ - next_cta_) / (4 * workers_), 1, most_claimed);
    const Range range{next_cta_, next_cta_ + count};
    next_cta_ = range.end;
    return range;
}

CtaSlot* Engine::admit(Turn& worker) {
    std::unique_ptr<CtaSlot> slot;
    if (!cache_.empty()) {
        slot = std::move(cache_.back());
        cache_.pop_back();
    } else {
        slot = std::make_unique<CtaSlot>();
    }
    worker.claimed = claim();
    slot->cluster.index = worker.claimed.begin++;
    slot->fresh = true;  // its worker prepares it, outside the lock
    ++resident_;
    if (!settings_.cooperative) settings_.residency->used += share_;
    slots_.push_back(std::move(slot));
    return slots_.back().get();
}

void Engine::retire(CtaSlot& slot) {
    short_ctas_ = slot.cta.slices == 1 && slot.cta.clock() < short_cta;
    --resident_;
    if (!settings_.cooperative) settings_.residency->used -= share_;
    auto it =
        std::find_if(slots_.begin(), slots_.end(), [&](const auto& s) { return s.get() == &slot; });
    cache_.push_back(std::move(*it));
    *it = std::move(slots_.back());
    slots_.pop_back();
}

void Engine::account(const Cta& cta, Turn& worker) {
    for (uint32_t i = 0; i < cta.warp_count; ++i) {
        worker.warp_instructions += cta.warps[i].issued;
        worker.thread_instructions += cta.warps[i].thread_instructions;
        worker.guard_false += cta.warps[i].guard_false;
    }
}

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
            if ((worker.unreported += done) >= report_after) {
                report(worker);
                check_limits();
            }
            if (launch_.stop.load(std::memory_order_relaxed)) return Outcome::stopped;
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
        if (!progress && !wake_parked(slot)) return Outcome::blocked;
        if (ran >= cta_slice_ || !progress || slot.gives_way ||
            (launch_.hooks && turns_away(chooser_, 8)))
            break;
    }
    report(worker);
    check_limits();
    for (uint32_t i = 0; i < cta.warp_count; ++i) effects_after += cta.warps[i].effects;
    slot.quiet_slices = effects_after == effects_before ? slot.quiet_slices + 1 : 0;
    if (slot.gives_way) slot.quiet_slices = others_first;
    return Outcome::expired;
}

// The path of the warp that runs next; paths_used: none can.
uint32_t Engine::next_path(const Warp& w) {
    if (w.paths_used == 1) return w.paths[0].state == PathState::runnable ? 0 : 1;
    uint32_t chosen = w.paths_used;
    // A path that waits for a load keeps the warp, as on the chip (see paths::preempt).
    if (w.in_flight)
        for (uint32_t k = 0; k < w.paths_used; ++k)
            if (w.paths[k].state == PathState::in_flight) return w.paths_used;
    for (uint32_t k = 0; k < w.paths_used; ++k) {
        const uint32_t i = (w.current + k) % w.paths_used;
        if (w.paths[i].state != PathState::runnable) continue;
        // Paths that leave each other the warp at every YIELD may never have a turn of their own.
        if (may_spin(w, w.paths[i])) return i;
        if (chosen == w.paths_used) chosen = i;
    }
    return chosen;
}

// Runs one runnable path of the warp; false when it has none.
bool Engine::run_warp(CtaSlot& slot, Warp& w, Turn& worker) {
    const uint32_t chosen = next_path(w);
    if (chosen == w.paths_used) return false;
    w.current = static_cast<uint8_t>(chosen);
    w.active = w.path().lanes;
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
    // The next turn is another path's.
    if (w.stop == Stop::yielded && w.paths_used > 1) {
        if ((w.path().edge && !w.path().yielded) || slot.gives_way) paths::preempt(w);
        w.current = static_cast<uint8_t>((w.current + 1) % w.paths_used);
    }
    return true;
}

void Engine::run_path(Warp& w, Turn& worker) {
    w.stop = Stop::none;
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

// A path that ended quantum after quantum on one back edge: watch it go round once.
void Engine::watch_spin(CtaSlot& slot, Warp& w, Turn& worker) {
    thread_local SpinSnapshot snapshot;
    thread_local Watch watch;
    const Op* edge = w.path().edge;
    w.path().spins = 0;  // whatever comes: the others have their turn before the next look
    watch.used = 0;
    watch.overflow = false;
    watch.effects = w.effects;
    w.watch = &watch;
    const uint64_t end = w.issued + path_quantum;
    const auto go_round = [&] {
        do {
            w.quantum_end = w.issued;  // stop at the next back edge
            run_path(w, worker);
        } while (w.stop == Stop::yielded && w.path().edge && w.path().edge != edge &&
                 w.issued < end && !watch.overflow);
    };
    // Others may have let it run on since its quantum ended there.
    if (w.path().pc != w.path().head) go_round();
    if (w.path().edge == edge && !watch.overflow) {
        snapshot.take(w, launch_.rows);
        watch.used = 0;
        watch.effects = w.effects;
        go_round();
    }
    w.watch = nullptr;
    Path& p = w.path();
    if (w.stop != Stop::yielded) return;
    if (p.edge == edge && !watch.overflow && snapshot.same(w, launch_.rows)) {
        p.state = PathState::parked;
        p.watch = static_cast<uint32_t>(slot.watches.size());
        slot.watches.push_back(watch);
        p.spins = 1;
        // Lanes of one warp may spin on each other: nobody waits at BSYNC for a lane that spins.
        paths::recheck(w);
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
            if (p.state == PathState::runnable && w.live) any = true;
            if (p.state == PathState::in_flight && w.live) any = true;
            if (p.state != PathState::parked) continue;
            if (removed || slot.watches[p.watch].changed()) {
                p.state = PathState::runnable;
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
