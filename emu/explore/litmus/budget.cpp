// SPDX-License-Identifier: Apache-2.0
// See budget.hpp.
#include "emu/explore/litmus/budget.hpp"

#include <pthread.h>

#include "emu/base/limits.hpp"

namespace sassemu::explore {

SearchBudget::SearchBudget(const Limits& limits)
    : limit_(limits.seconds), progress_(limits.progress) {}

const char* SearchBudget::lowest_frame() {
    static thread_local const char* const lowest = []() -> const char* {
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
        void* begin = nullptr;
        size_t bytes = 0;
        const bool known = pthread_attr_getstack(&attributes, &begin, &bytes) == 0;
        pthread_attr_destroy(&attributes);
        // A quarter is left to models and to what builds an execution.
        return known ? static_cast<const char*>(begin) + bytes / 4 : nullptr;
    }();
    return lowest;
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
