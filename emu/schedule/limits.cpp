// SPDX-License-Identifier: Apache-2.0
// What ends a launch from outside: its limits, an interrupt. The limit of instructions is exact:
// workers take from it before they run, and give back what they did not use.
#include "emu/base/limits.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

void Engine::check_limits() {
    if (settings_.interrupted && settings_.interrupted->load(std::memory_order_relaxed))
        end(LaunchStatus::interrupted, "interrupted");
    else if (const Budget::Stop why = process_budget().stopped(); why != Budget::Stop::none)
        end(why == Budget::Stop::interrupted ? LaunchStatus::interrupted : LaunchStatus::limit,
            process_budget().error(why, "kernel '" + kernel_ + "'").message());
    else if (deadline_ != std::chrono::steady_clock::time_point::max() &&
             std::chrono::steady_clock::now() >= deadline_)
        end(LaunchStatus::limit,
            "kernel '" + kernel_ +
                "' reached its time limit; raise --time-limit if it is not stuck");
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
