// SPDX-License-Identifier: Apache-2.0
// What ends a launch from outside: its limits, an interrupt. The limit of instructions is exact:
// workers take from it before they run, and give back what they did not use.
#include <bit>

#include "emu/base/limits.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

namespace {

// Taken at once near the limit, where every instruction is counted.
constexpr uint64_t small_grant = 256;

}  // namespace

void Engine::check_limits() {
    if (settings_.interrupted && settings_.interrupted->load(std::memory_order_relaxed))
        end(LaunchStatus::interrupted, "interrupted");
    else if (const Budget::Stop why = process_budget().stopped(); why != Budget::Stop::none)
        end(why == Budget::Stop::interrupted ? LaunchStatus::interrupted : LaunchStatus::limit,
            process_budget().error(why, "kernel '" + kernel_ + "'").message());
    else if (settings_.seconds > 0 && std::chrono::steady_clock::now() >= deadline_)
        end(LaunchStatus::limit,
            "kernel '" + kernel_ +
                "' reached its time limit; raise --time-limit if it is not stuck");
}

void Engine::end_at_limit() {
    end(LaunchStatus::limit, "kernel '" + kernel_ + "' reached the limit of " +
                                 std::to_string(settings_.max_warp_instructions) +
                                 " warp instructions");
}

bool Engine::grant(Worker& worker, uint64_t count) {
    uint64_t given = granted_.load(std::memory_order_relaxed);
    do {
        if (given + count > settings_.max_warp_instructions) return false;
    } while (!granted_.compare_exchange_weak(given, given + count));
    worker.granted += count;
    return true;
}

void Engine::run_within_limit(Warp& w, Worker& worker) {
    if (!grant(worker, turn_most_)) return run_counted(w, worker);
    const uint64_t before = w.issued;
    run_freely(w);
    // Perhaps more than was thought possible: that counts too.
    granted_.fetch_sub(worker.granted - (w.issued - before));
    worker.granted = 0;
}

// As the run loops (emu/isa/run.hpp), instruction by instruction against the limit.
void Engine::run_counted(Warp& w, Worker& worker) {
    const RegisterSets* sets = settings_.checked ? launch_.code->register_sets() : nullptr;
    for (const Op* op = w.path().pc; op;) {
        const uint32_t mask = w.active & (w.p[op->guard] ^ op->guard_xor);
        if (mask == 0) {
            ++w.guard_false;
            ++op;
            continue;
        }
        if (sets && w.in_flight) {
            const RegisterSets& s = sets[op - launch_.code->ops()];
            uint64_t hit = 0;
            for (int i = 0; i < 4; ++i) hit |= w.pending[i] & (s.reads[i] | s.writes[i]);
            if (hit) {
                w.path().pc = op;
                w.path().state = PathState::in_flight;
                w.stop = Stop::pending;
                break;
            }
        }
        if (!worker.granted && !grant(worker, small_grant) && !grant(worker, 1)) {
            w.path().pc = op;
            w.stop = Stop::pending;  // it goes on here, with the quantum that it has
            worker.refused = true;
            return;
        }
        --worker.granted;
        ++w.issued;
        w.thread_instructions += static_cast<unsigned>(std::popcount(mask));
        op = op->fn[mask == ~0u](op, w, mask);
    }
    granted_.fetch_sub(worker.granted);
    worker.granted = 0;
}

}  // namespace sassemu
