// SPDX-License-Identifier: Apache-2.0
// See budget.hpp.
#include "emu/explore/budget.hpp"

#include <pthread.h>

namespace sassemu::explore {

Budget::Budget(const Limits& limits) : limit_(limits.seconds), cancelled_(limits.cancelled) {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* lowest = nullptr;
    size_t bytes = 0;
    // A quarter is left to models and to what builds an execution.
    if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0)
        lowest_frame_ = static_cast<const char*>(lowest) + bytes / 4;
    pthread_attr_destroy(&attributes);
}

bool Budget::over_now() const {
    if (why_) return true;
    if (cancelled_ && cancelled_->load(std::memory_order_relaxed))
        why_ = "interrupted";
    else if (seconds() > limit_)
        why_ = "the time limit";
    return why_;
}

double Budget::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace sassemu::explore
