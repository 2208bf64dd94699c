// SPDX-License-Identifier: Apache-2.0
// Threads and CTAs by three numbers.
#pragma once

#include <string>

#include "emu/gpu.hpp"

namespace sassemu {

// The index of a CTA's thread: x first.
[[nodiscard]] inline Dim3 thread_of(const Dim3& block, uint32_t linear) {
    return {linear % block.x, linear / block.x % block.y, linear / block.x / block.y};
}

[[nodiscard]] inline std::string triple(const Dim3& d) {
    return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

}  // namespace sassemu
