// SPDX-License-Identifier: Apache-2.0
// What flash-attn's parameters hold of PyTorch: the state of a random generator, which kernels
// without dropout do not read.
#pragma once
#include <cstdint>

namespace at {
struct PhiloxCudaState {
    uint64_t seed, offset;
    uint32_t offset_in_graph;
    bool captured;
};
}  // namespace at
