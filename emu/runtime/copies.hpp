// SPDX-License-Identifier: Apache-2.0
// Copies as the driver describes them, from what the runtime is given; graphs have them too.
#pragma once

#include <algorithm>

#include "emu/runtime/state.hpp"

namespace sassemu::runtime {

// One end: an array, or rows in memory; x in bytes.
struct Side {
    CUarray array = nullptr;
    const void* pointer = nullptr;
    size_t pitch = 0, x = 0, y = 0, z = 0;
    size_t rows = 0;  // of a slice; 0: those that are copied
};
CUDA_MEMCPY3D copy_of(const Side& to, const Side& from, size_t width, size_t height, size_t depth);
Error copy_of(const Copy3D& c, CUDA_MEMCPY3D& out);

// Bytes of a variable.
Error in_symbol(const void* symbol, size_t offset, size_t bytes, void*& place);

int format_bits(int format);  // of a channel; 0: a format that has none
Error texel_bytes(CUarray array, size_t& bytes);

}  // namespace sassemu::runtime
