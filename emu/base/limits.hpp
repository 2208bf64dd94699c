// SPDX-License-Identifier: Apache-2.0
// What a command may use: time until a deadline, bytes of memory, and whether somebody asked it to
// stop. Belongs here: the one object that everything long or large asks, and the thread that
// watches it. Does not belong here: options' syntax and exit codes (emu/cli), a launch's limits of
// its own (emu/schedule/stops.hpp, which asks here too).
//
// process_budget() is one for the process, since memory, signals and the command line are: a
// program sets its limits, a program that does not has none. A loop over input asks poll() every
// few thousand steps, or stopped() as often as it likes (a Watchdog polls for it); who takes much
// memory at once asks room_for() first. Errors of both end the command with exit code 4.
//
// A command goes through phases. Before begin_work() nothing has been found that could be lost: a
// limit or a signal may end the process where it is. Work ends in order when it is told to stop.
// While Results are written, what stopped the work does not stop that; only a new interrupt does.
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

    // Why those who ask have to end. One relaxed load. Time and memory are noticed by poll(), which
    // a Watchdog calls.
    [[nodiscard]] Stop stopped() const noexcept { return told_.load(std::memory_order_relaxed); }
    // Why the command's work has ended or has to; it stays so, also while results are written.
    [[nodiscard]] Stop cause() const noexcept { return cause_.load(std::memory_order_relaxed); }
    // Looks at the clock, and every 1 to 20 ms, sooner where less is left, at the memory. Any
    // thread may ask.
    Stop poll() const noexcept;
    using Clock = std::chrono::steady_clock;
    // When a poll may find something new: in 1 to 20 ms.
    [[nodiscard]] Clock::time_point next_poll() const noexcept;
    // The same as an error of `where`, which says what hit the limit and how to raise it.
    [[nodiscard]] Result<void> check(std::string_view where) const;
    [[nodiscard]] Error error(Stop stop, std::string_view where) const;
    // "the time limit of 3 s is reached"
    [[nodiscard]] std::string text(Stop stop) const;
    // An error (and no stop: other work may go on) if so many more bytes would not fit.
    [[nodiscard]] Result<void> room_for(std::uint64_t bytes, std::string_view where) const;

    // Stops the work, or the writing of results. Safe in a signal handler. False: nothing is under
    // way that would end in order, or it has been told already.
    bool interrupt() noexcept;
    // From here on the command ends in order, with what it has found by then.
    void begin_work() noexcept;
    // As long as it lives, what has been found is written.
    class Results {
      public:
        explicit Results(Budget& budget) noexcept;
        Results(const Results&) = delete;
        ~Results();

      private:
        Budget& budget_;
        const bool outermost_;
    };
    // In a child after fork(), whose memory is another.
    void after_fork() noexcept;
    // As new: no limits, not stopped.
    void reset() noexcept;

    // The resident bytes of this process; 0 where the system does not say. Then no limit of memory
    // holds.
    [[nodiscard]] std::uint64_t resident() const noexcept;
    // The work goes on although it was told to stop `grace` seconds ago (at once where nothing
    // could be lost), or is over the memory limit itself.
    [[nodiscard]] Stop ignored(double grace) const noexcept;

  private:
    enum class Phase : std::uint8_t { nothing, work, results };
    void stop(Stop why) const noexcept;

    std::atomic<double> seconds_{0};
    std::atomic<Clock::rep> deadline_{Clock::time_point::max().time_since_epoch().count()};
    std::atomic<std::uint64_t> memory_limit_{0};
    int statm_ = -1;  // open from the start: later the process may be allowed to open nothing
    mutable std::atomic<Stop> cause_{Stop::none}, told_{Stop::none};
    mutable std::atomic<Clock::rep> stopped_at_{0}, next_sample_{0};
    std::atomic<Phase> phase_{Phase::nothing};
};

[[nodiscard]] Budget& process_budget() noexcept;

// Three quarters of the machine's memory, or of what its control group may have if that is less.
[[nodiscard]] std::uint64_t default_memory_limit();

// A thread that polls the budget every few milliseconds for as long as it lives. When the work goes
// on although it was told to stop (code that does not ask, a read that blocks), it calls `ignored`
// once; the program's ends the process there. `each`: called as often as it polls. A host that
// lends no thread leaves the budget to those who poll it.
class Watchdog {
  public:
    Watchdog(const Budget& budget, std::function<void(Budget::Stop)> ignored,
             std::function<void()> each = {});
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
