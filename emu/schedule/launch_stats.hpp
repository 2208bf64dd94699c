// SPDX-License-Identifier: Apache-2.0
// Statistics of several launches together.
#pragma once

#include <algorithm>

#include "emu/gpu.hpp"

namespace sassemu {

inline void add_stats(LaunchStats& sum, const LaunchStats& one) {
    sum.warp_instructions += one.warp_instructions;
    sum.thread_instructions += one.thread_instructions;
    sum.guard_false += one.guard_false;
    sum.seconds += one.seconds;
    sum.ctas += one.ctas;
    sum.bytes_per_resident_cta = std::max(sum.bytes_per_resident_cta, one.bytes_per_resident_cta);
    sum.threads = std::max(sum.threads, one.threads);
}

}  // namespace sassemu
