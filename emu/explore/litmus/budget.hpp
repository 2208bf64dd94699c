// SPDX-License-Identifier: Apache-2.0
// What the exploration of one test may use up: its time, what is left of the process's budget
// (emu/base/limits.hpp), the stack. What does not belong here: counts of states and executions,
// which the searches have.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace sassemu {
class Workers;
}

namespace sassemu::explore {

// How far a search is, for who watches it; of all that are under way.
struct Progress {
    std::atomic<uint64_t> tests{0};
    std::atomic<uint64_t> looked_at{0};  // executions or states, in the making or not; about
};

struct Limits {
    double seconds = 60;
    uint64_t executions = ~uint64_t{0};
    Workers* workers = nullptr;  // that explore one test together; null: this thread alone
    bool every_order = false;  // of machines: also steps that are in order with nothing are put off
    Progress* progress = nullptr;
};

class SearchBudget {
  public:
    explicit SearchBudget(const Limits& limits);
    // A copy is for another thread: the same time, the same process.

    // Whether it is used up. For every small step: the clock is looked at now and then.
    bool over() const {
        if (why_ || ++ticks_ % 64) return why_;
        if (progress_) progress_->looked_at += 64;
        return over_now();
    }
    bool over_now() const;
    const char* why() const { return why_; }  // null: it is not used up
    double seconds() const;
    // Whether this thread's stack has room for one more level of a search.
    bool room() const {
        return static_cast<const char*>(__builtin_frame_address(0)) > lowest_frame();
    }

  private:
    static const char* lowest_frame();  // null: it is not known

    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    const double limit_;
    Progress* const progress_;
    mutable const char* why_ = nullptr;
    mutable uint64_t ticks_ = 0;
};

}  // namespace sassemu::explore
