// SPDX-License-Identifier: Apache-2.0
// What a command may use: time until a deadline, bytes of memory, and whether somebody asked it to
// stop. Belongs here: the one object that everything long or large asks, and the thread that
// watches it. Does not belong here: options' syntax and exit codes (emu/cli), a launch's limit of
// instructions (emu/gpu.hpp).
//
// process_budget() is one for the process, since memory, signals and the command line are: a
// program sets its limits, a program that does not has none. A loop over input asks poll() every
// few thousand steps, or stopped() as often as it likes (a Watchdog polls for it); who takes much
// memory at once asks room_for() first. Errors of both end the command with exit code 4.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "emu/base/result.hpp"

namespace sassemu {

class Budget {
  public:
    enum class Stop : std::uint8_t { none, time, memory, interrupted };

    Budget();
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;
    ~Budget();

    // By the work's owner. Seconds from now; 0: none.
    void set_time_limit(double seconds);
    // Bytes of this process that are resident at once; 0: none. Memory that is mapped but not
    // touched costs nothing. Work is stopped at 15/16 of it, to leave room for ending in order.
    void set_memory_limit(std::uint64_t bytes);
    [[nodiscard]] std::uint64_t memory_limit() const { return memory_limit_; }

    // Why the work has to end; it stays so. One relaxed load. Time and memory are noticed by
    // poll(), which a Watchdog calls.
    [[nodiscard]] Stop stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }
    // Looks at the clock, and every 1 to 20 ms, sooner where less is left, at the memory. Any
    // thread may ask.
    Stop poll() const noexcept;
    using Clock = std::chrono::steady_clock;
    // When a poll may find something new: in 1 to 20 ms.
    [[nodiscard]] Clock::time_point next_poll() const noexcept;
    // The same as an error of `where`, which says what hit the limit and how to raise it.
    [[nodiscard]] Result<void> check(std::string_view where) const;
    [[nodiscard]] Error error(Stop stop, std::string_view where) const;
    // An error (and no stop: other work may go on) if so many more bytes would not fit.
    [[nodiscard]] Result<void> room_for(std::uint64_t bytes, std::string_view where) const;

    // Stops the work. Safe in a signal handler.
    void interrupt() noexcept { stop(Stop::interrupted); }
    // From here on results are written: the deadline does not hold, until work begins again.
    void begin_results() noexcept { results_.store(true, std::memory_order_relaxed); }
    void begin_work() noexcept { results_.store(false, std::memory_order_relaxed); }
    // As new: no limits, not stopped.
    void reset() noexcept;

    // The resident bytes of this process; 0 where the system does not say.
    [[nodiscard]] std::uint64_t resident() const noexcept;
    // Over a limit although the work was told to stop: `grace` seconds beyond the deadline, or over
    // the memory limit itself.
    [[nodiscard]] Stop ignored(double grace) const noexcept;

  private:
    void stop(Stop why) const noexcept {
        Stop none = Stop::none;
        stop_.compare_exchange_strong(none, why, std::memory_order_relaxed);
    }

    std::atomic<double> seconds_{0};
    std::atomic<Clock::rep> deadline_{Clock::time_point::max().time_since_epoch().count()};
    std::atomic<std::uint64_t> memory_limit_{0};
    int statm_ = -1;  // open from the start: later the process may be allowed to open nothing
    mutable std::atomic<Stop> stop_{Stop::none};
    mutable std::atomic<Clock::rep> next_sample_{0};
    std::atomic<bool> results_{false};
};

[[nodiscard]] Budget& process_budget() noexcept;

// Three quarters of the machine's memory, or of what its control group may have if that is less.
[[nodiscard]] std::uint64_t default_memory_limit();

// A thread that polls the budget every few milliseconds for as long as it lives. When the work goes
// on over a limit (code that does not ask, a read that blocks), it calls `ignored` once; the
// program's ends the process there. A host that lends no thread leaves the budget to those who poll
// it.
class Watchdog {
  public:
    Watchdog(const Budget& budget, std::function<void(Budget::Stop)> ignored);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
    ~Watchdog();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    std::thread thread_;
};

}  // namespace sassemu
