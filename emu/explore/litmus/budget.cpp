// SPDX-License-Identifier: Apache-2.0
// See budget.hpp.
#include "emu/explore/litmus/budget.hpp"

#include <pthread.h>

#include "emu/base/limits.hpp"

namespace sassemu::explore {

SearchBudget::SearchBudget(const Limits& limits)
    : limit_(limits.seconds), progress_(limits.progress) {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* lowest = nullptr;
    size_t bytes = 0;
    // A quarter is left to models and to what builds an execution.
    if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0)
        lowest_frame_ = static_cast<const char*>(lowest) + bytes / 4;
    pthread_attr_destroy(&attributes);
}

bool SearchBudget::over_now() const {
    if (why_) return true;
    switch (process_budget().poll()) {
        case sassemu::Budget::Stop::time:
            why_ = "the time limit";
            break;
        case sassemu::Budget::Stop::memory:
            why_ = "the memory limit";
            break;
        case sassemu::Budget::Stop::interrupted:
            why_ = "interrupted";
            break;
        case sassemu::Budget::Stop::none:
            if (seconds() > limit_) why_ = "the time limit";
            break;
    }
    return why_;
}

double SearchBudget::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace sassemu::explore
