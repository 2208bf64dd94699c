// SPDX-License-Identifier: Apache-2.0
// The queue of one launch. Workers take CTAs from it, run each for a slice and put it back. Nothing
// depends on two workers running at once, and no worker waits while a CTA could run.
#include "emu/schedule/engine.hpp"

#include <algorithm>
#include <new>
#include <sassemu/names.hpp>
#include <utility>

#include "emu/base/progress.hpp"
#include "emu/machine/stepper.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/driver_functions.hpp"
#include "emu/schedule/paths.hpp"

namespace sassemu {

namespace {

// Under a model that plugs in, where what happens in between is what one wants to see.
constexpr uint64_t model_quantum = 64, model_slice = 1024;
// A worker claims several CTAs at a time, and begins them without the lock, while CTAs take less
// than this many warp instructions.
constexpr uint64_t short_cta = 1 << 14;
constexpr uint64_t most_claimed = 32;

}  // namespace

Engine::Engine(Launch& launch, const LevelTable& level, Chooser& chooser, DriverFunctions& calls,
               SlotCache& cache, Settings settings, std::string kernel, const Op* entry)
    : launch_(launch),
      level_(level),
      chooser_(chooser),
      calls_(calls),
      cache_(cache),
      settings_(std::move(settings)),
      kernel_(names::demangled(kernel)),
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
        queue_.begin(total_, settings_.resident_limit);
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
    deadline_ = Stops::Clock::time_point::max();
    if (settings_.seconds > 0)
        deadline_ = started_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                   std::chrono::duration<double>(settings_.seconds));
    if (settings_.cooperative) settings_.residency->used += total_ * share_;
    launch_.space->hold();
    if (settings_.link) settings_.link->enter();
    if (settings_.on_begin) settings_.on_begin();
    return true;
}

LaunchResult Engine::finish() {
    if (settings_.stepper) settings_.stepper->launch_end(launch_);
    if (launch_.hooks && !launch_.stop)  // what a model still holds
        while (!settings_.stops->told() && launch_.hooks->idle_step()) {
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
    // A model that lets go of what it held at the end finds nobody who waits for it.
    slots_.clear();
    stepping_ = nullptr;
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
    // Whether all has to end the scheduler has asked; a turn may be too short to ask for itself.
    if (deadline_ != Stops::Clock::time_point::max()) check_limits();
    try {
        const Recording::Scope recording(launch_);
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
    Progress& progress = process_progress();
    progress.ctas.fetch_add(turn.ended, std::memory_order_relaxed);
    progress.warp_instructions.fetch_add(turn.issued, std::memory_order_relaxed);
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
                if (slot->quiet_slices < CtaSlot::others_first && slot->cta.slices % 16)
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
        // A wait that counts how often it looks is no spin; so now and then one is performed
        // anyway.
        const bool stuck =
            outcome == Outcome::blocked ||
            (outcome == Outcome::expired && (slot.quiet_slices || slot.cta.slices % 8 == 0));
        if (stuck && slot.agents.act()) outcome = Outcome::expired;
        if (outcome == Outcome::blocked)
            for (uint32_t r = 0; r < slot.cluster.size; ++r)
                if (let_time_pass(slot_of(*slot.cluster.cta[r]))) outcome = Outcome::expired;
        if (outcome != Outcome::done) return outcome;
        // What comes behind it may tell others that it has ended.
        if (has_far())
            if (const Result<void> drained = drain_far(); !drained) {
                end(LaunchStatus::fault, "kernel '" + kernel_ + "': what it wrote is lost: " +
                                             drained.error().message());
                return Outcome::stopped;
            }
        for (uint32_t r = 0; r < slot.cluster.size; ++r) {
            account(*slot.cluster.cta[r], worker);
            if (launch_.hooks) tell_cta(*slot.cluster.cta[r], false);
            if (settings_.stepper) settings_.stepper->cta_end(*slot.cluster.cta[r]);
            if (printed().prints) printed().ended(slot.cluster.cta[r]->linear);
        }
        worker.ended += slot.cluster.size;
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
        return s.quiet_slices >= CtaSlot::others_first ||
               (s.cta.slices >= 16 && std::has_single_bit(s.cta.slices));
    };
    const bool others_too = launch_.hooks && turns_away(2);
    if (can_admit() && (runnable_.empty() || may_wait(*runnable_.front()) || others_too))
        if (CtaSlot* const slot = admit(worker)) return slot;
    const auto spins = [](const CtaSlot* s) { return s->quiet_slices >= CtaSlot::others_first; };
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
        count = std::clamp<uint64_t>(queue_.left() / (4 * workers_), 1, most_claimed);
    return queue_.claim(count);
}

// nullptr: clusters that run have taken over the last.
CtaSlot* Engine::admit(Turn& worker) {
    worker.claimed = claim();
    if (worker.claimed.begin == worker.claimed.end) return nullptr;
    std::unique_ptr<CtaSlot> slot;
    if (!cache_.empty()) {
        slot = std::move(cache_.back());
        cache_.pop_back();
    } else {
        slot = std::make_unique<CtaSlot>();
    }
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

}  // namespace sassemu
