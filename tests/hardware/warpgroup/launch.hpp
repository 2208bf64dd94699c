// SPDX-License-Identifier: Apache-2.0
// What the kernels of the warpgroup record are given, on both sides. Shared memory holds an image
// of A, then one of B; the accumulator comes from a table.
#pragma once

#include <cstdint>

namespace warpgroup {

constexpr uint32_t bytes_a = 24 * 1024, bytes_b = 72 * 1024;  // of an image
constexpr uint32_t shared_base = 1024;                        // where shared memory begins
constexpr int shared_bytes = 200 * 1024;                      // what a kernel has
constexpr uint32_t table_bits = 12;                           // words of an accumulator table

struct Launch {
    uint64_t a, b;  // descriptors
    uint64_t out;   // first word of the result, 128 words for each register
    uint32_t image_a, image_b;
    uint32_t registers_a;  // first word in the image: A from registers
    uint32_t table, seed;  // of the accumulator
    uint32_t metadata;
    uint32_t accumulate;
    uint32_t count;  // registers of D
};

}  // namespace warpgroup
