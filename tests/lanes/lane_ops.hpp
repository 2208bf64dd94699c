// SPDX-License-Identifier: Apache-2.0
// The table of lane primitives that the tests and the benchmark run. lane_ops.cpp is compiled once
// per host level and gives one table each; entries at the same index are the same primitive.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lane_tests {

// What the operands a, b, c of an entry look like.
enum class Operands : uint8_t {
    integers,
    shifts,  // b and c are mostly small counts
    integers64,
    shifts64,  // a is 64 bits, b has counts
    floats,
    doubles,
    halves,     // f16x2
    bfloats,    // bf16x2
    any_float,  // f32 that also has values near integer limits
    any_double,
    indices,  // a has few distinct values, b is small numbers
    memory1,  // a has byte offsets into memory, aligned to 1, 2, 4, 8, 16
    memory2,
    memory4,
    memory8,
    memory16,
};

inline constexpr size_t kMemoryBytes = 4096;

struct Arguments {
    alignas(64) uint32_t a[64], b[64], c[64];  // one row, or low and high row
    alignas(64) uint32_t row[4][32];           // data of stores; results
    uint32_t in[2];                            // masks
    uint32_t out[4];                           // result masks and scalars
    uint64_t wide;
    alignas(64) uint8_t memory[kMemoryBytes];  // the last bytes of the structure
};

struct LaneOp {
    const char* name;
    Operands operands;
    void (*run)(Arguments&);
};
struct LaneTable {
    const LaneOp* ops;
    size_t count;
};
LaneTable lane_table_v2();
LaneTable lane_table_v3();
LaneTable lane_table_v4();

}  // namespace lane_tests
