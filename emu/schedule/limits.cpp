// SPDX-License-Identifier: Apache-2.0
// What ends a launch from outside: its limits, an interrupt. The limit of instructions is exact:
// workers take from it before they run, and give back what they did not use.
#include <utility>

#include "emu/program/code_image.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

namespace {

// Warp instructions between two looks at the clock: some microseconds of fast ones, a tenth of a
// second of those that a checker follows.
constexpr uint64_t look_after = 1 << 13;

}  // namespace

void Engine::check_limits() {
    const Stops::Why why = settings_.stops->look(deadline_);
    if (why != Stops::Why::nothing)
        end(settings_.stops->status(why), settings_.stops->text(why, "kernel '" + kernel_ + "'"));
}

// Whether the launch has ended: from inside of a turn, after each stretch of a warp.
bool Engine::stops(Turn& worker, uint64_t done) {
    if ((worker.unreported += done) >= look_after || settings_.stops->told()) [[unlikely]] {
        report(worker);
        check_limits();
    }
    return launch_.stop.load(std::memory_order_relaxed);
}

// The same from inside of a stretch, where code goes on for long without a back edge: neither the
// order of anything nor what a path may use up depends on it.
bool Engine::must_end(const Warp& w) {
    const bool clock =
        settings_.stops->has_deadline(deadline_) || w.issued % look_after < CodeImage::stretch;
    if (clock || settings_.stops->told()) check_limits();
    return launch_.stop.load(std::memory_order_relaxed);
}

const Op* Engine::asks(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t chained = std::exchange(w.chained, 0);
    const Op* const next = w.cta->launch->code->behind(op, mask == ~0u)(op, w, mask);
    w.chained = chained;
    if (!next || !engine(w).must_end(w)) return next;
    w.path().pc = next;
    w.stop = Stop::pending;
    return nullptr;
}

// Others hold what is left of the limit: when nobody runs under it, it is used up, or there is more
// to give.
bool Engine::out_of_instructions() {
    if (settings_.limit->turns) return true;
    starved_ = false;
    if (settings_.limit->granted.load() < settings_.limit->most) return false;
    end(LaunchStatus::limit, "kernel '" + kernel_ + "' reached the limit of " +
                                 std::to_string(settings_.limit->most) + " warp instructions");
    return true;
}

bool Engine::grant(Turn& worker, uint64_t count) {
    InstructionLimit& limit = *settings_.limit;
    uint64_t given = limit.granted.load(std::memory_order_relaxed);
    do {
        if (given + count > limit.most) return false;
    } while (!limit.granted.compare_exchange_weak(given, given + count));
    worker.granted += count;
    return true;
}

void Engine::run_within_limit(Warp& w, Turn& worker) {
    if (!grant(worker, turn_most_)) return run_stepwise<true, false>(w, worker);
    const uint64_t before = w.issued;
    run_freely(w);
    // Perhaps more than was thought possible: that counts too.
    settings_.limit->granted.fetch_sub(worker.granted - (w.issued - before));
    worker.granted = 0;
}

}  // namespace sassemu
