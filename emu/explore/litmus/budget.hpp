// SPDX-License-Identifier: Apache-2.0
// What the exploration of one test may use up: its time, what is left of the process's budget
// (emu/base/limits.hpp), the stack. What does not belong here: counts of states and executions,
// which the searches have.
#pragma once

#include <chrono>
#include <cstdint>

namespace sassemu::explore {

struct Limits {
    double seconds = 60;
    uint64_t executions = 5'000'000;
};

class SearchBudget {
  public:
    explicit SearchBudget(const Limits& limits);

    // Whether it is used up. For every small step: the clock is looked at now and then.
    bool over() const { return why_ || (++ticks_ % 64 == 0 && over_now()); }
    bool over_now() const;
    const char* why() const { return why_; }  // null: it is not used up
    double seconds() const;
    // Whether this thread's stack has room for one more level of a search.
    bool room() const {
        return static_cast<const char*>(__builtin_frame_address(0)) > lowest_frame_;
    }

  private:
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    const double limit_;
    const char* lowest_frame_ = nullptr;
    mutable const char* why_ = nullptr;
    mutable uint64_t ticks_ = 0;
};

}  // namespace sassemu::explore
