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

// The first CTA of a cluster of the grid: x first.
[[nodiscard]] inline Dim3 first_cta(const Dim3& grid, const Dim3& cluster, uint64_t index) {
    const uint64_t across = grid.x / cluster.x, down = grid.y / cluster.y;
    return {static_cast<uint32_t>(index % across) * cluster.x,
            static_cast<uint32_t>(index / across % down) * cluster.y,
            static_cast<uint32_t>(index / across / down) * cluster.z};
}

[[nodiscard]] inline std::string triple(const Dim3& d) {
    return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

}  // namespace sassemu
