// SPDX-License-Identifier: Apache-2.0
// See limits.hpp.
#include "emu/base/limits.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>

#include "emu/base/lend_thread.hpp"

namespace sassemu {
namespace {

// The memory is looked at again when what is left could be touched at the earliest, at so many
// bytes a second; the clock, so often. More would cost the work: a poll takes a core from it.
constexpr double fastest = 16e9;
constexpr std::chrono::milliseconds soonest{1}, latest{20};
// Seconds for ending in order; and for saying where it was, where there is nothing else to say.
constexpr double grace = 2, short_grace = 0.2;

std::string amount(std::uint64_t bytes) {
    constexpr std::uint64_t mib = 1 << 20;
    return bytes < 16 * mib ? std::to_string(bytes) + " bytes"
                            : std::to_string(bytes / mib) + " MiB";
}

// The number in a file of the kernel's; `most` when there is none ("max").
std::uint64_t number_in(const std::string& path, std::uint64_t most) {
    std::ifstream in(path);
    std::uint64_t value = 0;
    return in >> value ? std::min(value, most) : most;
}

// The least memory.max on the way from this process's control group up to the root.
std::uint64_t control_group_limit(std::uint64_t most) {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t colon = line.find(':'), path = line.find(':', colon + 1);
        if (path == std::string::npos) continue;
        const std::string kind = line.substr(colon + 1, path - colon - 1);
        const bool unified = kind.empty();
        if (!unified && kind != "memory") continue;
        const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const std::string file = unified ? "/memory.max" : "/memory.limit_in_bytes";
        for (std::string group = line.substr(path + 1);; group.resize(group.rfind('/'))) {
            if (group == "/") group.clear();
            most = number_in(root + group + file, most);
            if (group.empty()) break;
        }
    }
    return most;
}

}  // namespace

Budget& process_budget() noexcept {
    static Budget budget;
    return budget;
}

Budget::Budget() : statm_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

Budget::~Budget() {
    if (statm_ >= 0) ::close(statm_);
}

void Budget::after_fork() noexcept {
    if (statm_ >= 0) ::close(statm_);
    statm_ = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

void Budget::stop(Stop why) const noexcept {
    Stop none = Stop::none;
    if (!cause_.compare_exchange_strong(none, why, std::memory_order_relaxed)) return;
    stopped_at_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    told_.store(why, std::memory_order_relaxed);
}

bool Budget::interrupt() noexcept {
    const bool again = cause_.exchange(Stop::interrupted) == Stop::interrupted;
    stopped_at_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    told_.store(Stop::interrupted, std::memory_order_relaxed);
    return !again && phase_ != Phase::nothing;
}

void Budget::begin_work() noexcept {
    Phase nothing = Phase::nothing;
    phase_.compare_exchange_strong(nothing, Phase::work);
}

Budget::Results::Results(Budget& budget) noexcept
    : budget_(budget), outermost_(budget.phase_.exchange(Phase::results) != Phase::results) {
    if (outermost_) budget_.told_ = Stop::none;
}

Budget::Results::~Results() {
    if (!outermost_) return;
    budget_.phase_ = Phase::work;
    // More work is not begun.
    budget_.told_ = budget_.cause_.load();
}

void Budget::set_time_limit(double seconds) {
    constexpr double longest = 1e9;  // what fits the clock
    const std::chrono::duration<double> span(std::min(seconds, longest));
    const auto deadline = seconds > 0
                              ? Clock::now() + std::chrono::duration_cast<Clock::duration>(span)
                              : Clock::time_point::max();
    seconds_ = span.count();
    deadline_ = deadline.time_since_epoch().count();
}

void Budget::reset() noexcept {
    set_time_limit(0);
    set_memory_limit(0);
    cause_ = told_ = Stop::none;
    phase_ = Phase::nothing;
}

void Budget::set_memory_limit(std::uint64_t bytes) {
    memory_limit_ = bytes;
    next_sample_ = 0;
}

std::uint64_t Budget::resident() const noexcept {
    // "size resident shared ...", in pages
    char text[128];
    const ssize_t count = statm_ < 0 ? -1 : ::pread(statm_, text, sizeof text, 0);
    if (count <= 0) return 0;
    const char* const end = text + count;
    const char* const second = std::find(static_cast<const char*>(text), end, ' ');
    if (second == end) return 0;
    std::uint64_t pages = 0;
    std::from_chars(second + 1, end, pages);
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return pages * page;
}

Budget::Stop Budget::poll() const noexcept {
    if (const Stop why = stopped(); why != Stop::none) return why;
    if (phase_.load(std::memory_order_relaxed) == Phase::results) return Stop::none;
    const auto now = Clock::now();
    if (now.time_since_epoch().count() >= deadline_.load(std::memory_order_relaxed))
        stop(Stop::time);
    const auto ticks = now.time_since_epoch().count();
    const std::uint64_t limit = memory_limit_.load(std::memory_order_relaxed);
    if (limit != 0 && ticks >= next_sample_.load(std::memory_order_relaxed)) {
        const std::uint64_t most = limit - limit / 16, used = resident();
        if (used > most) stop(Stop::memory);
        const std::chrono::duration<double> room((used > most ? 0 : most - used) / fastest);
        const auto wait = std::clamp<Clock::duration>(
            std::chrono::duration_cast<Clock::duration>(room), soonest, latest);
        next_sample_.store((now + wait).time_since_epoch().count(), std::memory_order_relaxed);
    }
    return stopped();
}

Budget::Clock::time_point Budget::next_poll() const noexcept {
    const auto now = Clock::now();
    auto next = Clock::duration(deadline_.load(std::memory_order_relaxed));
    if (memory_limit_.load(std::memory_order_relaxed) != 0)
        next = std::min(next, Clock::duration(next_sample_.load(std::memory_order_relaxed)));
    return std::clamp(Clock::time_point(next), now + soonest, now + latest);
}

Result<void> Budget::check(std::string_view where) const {
    const Stop why = poll();
    if (why == Stop::none) return {};
    return error(why, where);
}

std::string Budget::text(Stop why) const {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.6g s", seconds_.load());
    switch (why) {
        case Stop::time:
            return std::string("the time limit of ") + seconds + " is reached";
        case Stop::memory:
            return "the memory limit of " + amount(memory_limit_) + " is reached";
        case Stop::interrupted:
        case Stop::none:
            break;
    }
    return "interrupted";
}

Error Budget::error(Stop why, std::string_view where) const {
    return make_error(ErrorCode::limit, std::string(where), text(why),
                      why == Stop::time     ? "raise --time-limit if it is not stuck"
                      : why == Stop::memory ? "raise --memory-limit"
                                            : "");
}

Result<void> Budget::room_for(std::uint64_t bytes, std::string_view where) const {
    if (const Stop why = poll(); why != Stop::none) return error(why, where);
    if (memory_limit_ == 0) return {};
    const std::uint64_t used = resident();
    if (used <= memory_limit_ && bytes <= memory_limit_ - used) return {};
    return make_error(ErrorCode::limit, std::string(where),
                      amount(bytes) + " of memory are wanted, beside " + amount(used) +
                          " in use, and the memory limit is " + amount(memory_limit_),
                      "raise --memory-limit");
}

Budget::Stop Budget::ignored(double seconds) const noexcept {
    if (memory_limit_ != 0 && resident() > memory_limit_) return Stop::memory;
    const Phase phase = phase_;
    const Stop why = cause();
    if (phase == Phase::results || why == Stop::none) return Stop::none;
    const Clock::time_point since{Clock::duration(stopped_at_.load())};
    const std::chrono::duration<double> late = Clock::now() - since;
    return late.count() > (phase == Phase::work ? seconds : short_grace) ? why : Stop::none;
}

std::uint64_t default_memory_limit() {
    const auto pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return 0;
    return control_group_limit(static_cast<std::uint64_t>(pages) *
                               static_cast<std::uint64_t>(page)) /
           4 * 3;
}

Watchdog::Watchdog(const Budget& budget, std::function<void(Budget::Stop)> ignored,
                   std::function<void()> each) {
    // See the header: no thread, no watchdog.
    thread_ = lend_thread([this, &budget, ignored = std::move(ignored), each = std::move(each)] {
        std::unique_lock lock(mutex_);
        while (!changed_.wait_until(lock, budget.next_poll(), [this] { return done_; })) {
            if (each) each();
            budget.poll();
            const Budget::Stop why = budget.ignored(grace);
            if (why == Budget::Stop::none) continue;
            ignored(why);
            return;
        }
    });
}

Watchdog::~Watchdog() {
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

}  // namespace sassemu
