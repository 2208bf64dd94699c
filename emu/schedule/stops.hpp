// SPDX-License-Identifier: Apache-2.0
// Whether what is in flight has to end now, and why: the interrupt and the deadline of a machine,
// and the budget of the process. Whoever works, waits or copies asks here and nowhere else: the
// scheduler after every turn, an engine after every stretch of a warp. What does not belong here:
// the limit of instructions, which is exact (limits.cpp), and what ending means (work.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "emu/base/limits.hpp"
#include "emu/gpu.hpp"

namespace sassemu {

class Stops {
  public:
    using Clock = std::chrono::steady_clock;
    enum class Why : uint8_t { nothing, interrupted, budget, deadline };

    // Safe in a signal handler. It holds until take_back(), which who has waited for the end calls.
    void interrupt() noexcept { interrupted_.store(true, std::memory_order_relaxed); }
    void take_back() noexcept { interrupted_.store(false, std::memory_order_relaxed); }
    // Of all that is in flight from now on.
    void set_deadline(Clock::time_point at) noexcept { deadline_.store(at.time_since_epoch()); }

    // For short stretches: what others have noticed, signal handlers and the watchdog among them.
    [[nodiscard]] bool told() const noexcept {
        return interrupted_.load(std::memory_order_relaxed) ||
               budget_.stopped() != Budget::Stop::none;
    }
    // Looks at the clock and the memory too. `own`: the deadline of who asks.
    [[nodiscard]] Why look(Clock::time_point own = Clock::time_point::max()) const noexcept {
        if (interrupted_.load(std::memory_order_relaxed)) return Why::interrupted;
        if (budget_.poll() != Budget::Stop::none) return Why::budget;
        own = std::min(own, Clock::time_point(deadline_.load(std::memory_order_relaxed)));
        return own != Clock::time_point::max() && Clock::now() >= own ? Why::deadline
                                                                      : Why::nothing;
    }
    [[nodiscard]] bool has_deadline(Clock::time_point own) const noexcept {
        return own != Clock::time_point::max() || deadline_.load(std::memory_order_relaxed) !=
                                                      Clock::time_point::max().time_since_epoch();
    }
    [[nodiscard]] LaunchStatus status(Why why) const noexcept {
        return why == Why::interrupted ||
                       (why == Why::budget && budget_.stopped() == Budget::Stop::interrupted)
                   ? LaunchStatus::interrupted
                   : LaunchStatus::limit;
    }
    // Of `who`, "kernel 'k'".
    [[nodiscard]] std::string text(Why why, const std::string& who) const {
        if (status(why) == LaunchStatus::interrupted) return "interrupted";
        if (why == Why::budget) return budget_.error(budget_.stopped(), who).message();
        return who + " reached its time limit; raise --time-limit if it is not stuck";
    }

  private:
    const Budget& budget_ = process_budget();
    std::atomic<bool> interrupted_{false};
    std::atomic<Clock::duration> deadline_{Clock::time_point::max().time_since_epoch()};
};

}  // namespace sassemu
