// SPDX-License-Identifier: Apache-2.0
// The operands of the hardware record, as slots.py computes them: a hash of warp, row and lane.
// What belongs here: the generator and the row layout. What does not: the record itself, and
// running it.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>

namespace sassemu::test {

constexpr uint32_t slot_registers = 208, slot_uniform = 59;
constexpr uint32_t predicate_row = slot_registers, uniform_row = slot_registers + 1;
constexpr uint32_t slot_rows = slot_registers + 3;
constexpr uint32_t constant_offset = 0x220, constant_words = 256;

using Row = std::array<uint32_t, 32>;

// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

uint32_t operand(uint64_t warp, uint64_t row, uint64_t lane);
// All rows of one warp: registers, predicates, two rows of uniform registers.
std::array<Row, slot_rows> operands(uint32_t warp);
uint32_t constant(uint32_t index);

}  // namespace sassemu::test
