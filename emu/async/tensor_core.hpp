// SPDX-License-Identifier: Apache-2.0
// The tensor core of the fifth generation: what tcgen05.mma, tcgen05.cp and tcgen05.shift do to
// tensor memory. When they do it is not known here. What is published and what is assumed:
// emu/isa/TENSOR_MEMORY.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/async/tensor_memory.hpp"
#include "emu/lanes/matrix.hpp"

namespace sassemu::async {

enum class TensorKind : uint8_t {
    f16,
    tf32,
    f8f6f4,
    i8
};  // f16: f16 or bf16, as the instruction descriptor says

// D = A * B, or A * B + D. Addresses of tensor memory: lane in bits 31..16, column in bits 15..0.
struct Multiply {
    TensorKind kind = TensorKind::f16;
    uint32_t instruction = 0;  // the instruction descriptor
    uint64_t a = 0;            // matrix descriptor, or
    bool a_in_tensor_memory = false;
    uint32_t a_address = 0;  // where in tensor memory
    uint64_t b = 0;          // matrix descriptor
    uint32_t d = 0;          // tensor memory
    bool accumulate = false;
    const uint32_t* disabled_lanes =
        nullptr;           // 4 words, a bit per lane that D does not change in; null: none
    uint32_t scale_d = 0;  // D counts 2^-scale_d of its value (f16, tf32)
};

// tcgen05.cp, by lanes and bits of one copy. The wide ones go to all lanes, or each quarter's
// first; 64 lanes twice, to quarters 0, 1 and again 2, 3, or to 0, 2 and again 1, 3; 32 lanes to
// every quarter.
enum class TensorShape : uint8_t {
    x128b256,
    x4b256,
    x128b128,
    x64b128_02_13,
    x64b128_01_23,
    x32b128
};
// Elements of 4 or 6 bits, sixteen in 16 bytes of shared memory, become bytes.
enum class TensorUnpack : uint8_t { none, b4, b6 };

struct TensorMove {
    bool shift = false;  // tcgen05.shift of the 32 lanes and 8 columns at `to`; else a copy
    TensorShape shape = TensorShape::x128b256;
    TensorUnpack unpack = TensorUnpack::none;
    uint64_t from = 0;  // matrix descriptor
    uint32_t to = 0;    // tensor memory
};

// A range that is read or written. `address`: an offset in shared memory, or lane * 2048 + column
// * 4.
struct Touched {
    bool tensor;
    bool write;
    uint64_t address;
    uint32_t bytes;
};
using Visit = void (*)(void*, const Touched&);

// Null, or why it cannot be done: then neither of the others may be called.
const char* check(const Multiply&, uint64_t shared_bytes);
const char* check(const TensorMove&, uint64_t shared_bytes);
// The granules of tensor memory that it reads or writes.
uint32_t granules(const Multiply&);
uint32_t granules(const TensorMove&);
// Every byte of what is read, then of what is written, once.
void touched(const Multiply&, Visit, void* self);
void touched(const TensorMove&, Visit, void* self);
void multiply(const Multiply&, const std::byte* shared, TensorMemory&, lanes::FusedSteps);
void move(const TensorMove&, const std::byte* shared, TensorMemory&);

}  // namespace sassemu::async
