// SPDX-License-Identifier: Apache-2.0
// The hot form of one instruction: what the run loop reads, and nothing else. Lowering fills it
// once; the side tables of program/ keep everything that only reports need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sassemu {

struct Op;
struct Warp;

// Executes one instruction for the lanes of `mask` (never empty) and returns the next operation, or
// nullptr after setting Warp::stop. Straight-line instructions return `op + 1`.
using Handler = const Op* (*)(const Op* op, Warp& warp, uint32_t mask);

// Operands are byte offsets. A register operand is an offset from Warp::rows; a scalar operand
// (uniform register, constant, immediate) carries the index of its base in bits 31..28.
enum class Base : uint8_t { rows, uniform, immediate, bank0, bank2, bank3, bank4, count };

// Bytes of each constant bank, indexed by Base.
using BankBytes = std::array<uint64_t, 8>;

constexpr uint32_t scalar_operand(Base base, uint32_t offset) {
    return static_cast<uint32_t>(base) << 28 | offset;
}

struct alignas(64) Op {
    Handler fn[2];        // [0] some lanes, [1] all 32 lanes
    uint32_t d, a, b, c;  // destination and sources; a handler may use them as it likes
    uint32_t guard_xor;   // ~0 when the guard is negated
    uint8_t guard;        // index into Warp::p (7 = PT, 8..15 = uniform predicates)
    uint8_t k[3];         // small modifiers
    uint32_t m[4];        // modifiers, masks, branch distances
    uint32_t e, f;        // further operands
};
static_assert(sizeof(Op) == 64);

// Register rows: 32 lanes x 32 bits. Four zero rows and four sink rows lie before R0, so that RZ
// and its pairs and quads need no branch; then the two halves of Rpc.
constexpr uint32_t row_bytes = 128;
constexpr uint32_t zero_row = 0;
constexpr uint32_t sink_row = 4 * row_bytes;
constexpr uint32_t rpc_row = 8 * row_bytes;
constexpr uint32_t first_register_row = 10;
constexpr uint32_t register_row(uint32_t index) { return (first_register_row + index) * row_bytes; }

// Uniform registers are scalars of the warp. URZ reads and writes slots of its own.
constexpr uint32_t uniform_registers = 80;
constexpr uint32_t uniform_zero = uniform_registers * 4;
constexpr uint32_t uniform_sink = uniform_zero + 16;
constexpr uint32_t uniform_slots = uniform_registers + 8;

}  // namespace sassemu
