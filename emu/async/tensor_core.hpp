// SPDX-License-Identifier: Apache-2.0
// The tensor core of the fifth generation: what tcgen05.mma, tcgen05.cp and tcgen05.shift do to
// tensor memory. When they do it is not known here. What is published and what is assumed:
// emu/isa/TENSOR_MEMORY.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/lanes/matrix.hpp"
#include "emu/machine/tensor_memory.hpp"

namespace sassemu::async {

// Of an address in tensor memory.
constexpr uint32_t lane_of(uint32_t address) { return address >> 16; }
constexpr uint32_t column_of(uint32_t address) { return address & 0xffff; }

// A range that is read or written. `address`: an offset in shared memory, or lane * 2048 + column
// * 4.
struct Touched {
    bool tensor;
    bool write;
    uint64_t address;
    uint32_t bytes;
    bool peer = false;  // of a pair (cta_group::2): in the CTA that has not asked for it
};
using Visit = void (*)(void*, const Touched&);

// Null, or why it cannot be done: then neither of the others may be called. sm: the architecture.
const char* check(const Multiply&, uint32_t sm, uint64_t shared_bytes);
const char* check(const TensorMove&, uint64_t shared_bytes);
// The granules of tensor memory that it reads or writes.
uint32_t granules(const Multiply&);
uint32_t granules(const TensorMove&);
// Every byte of what is read, then of what is written, once; of a pair CTA by CTA.
void touched(const Multiply&, Visit, void* self);
void touched(const TensorMove&, Visit, void* self);
// The memory of a CTA.
struct TensorSide {
    const std::byte* shared = nullptr;
    TensorMemory* memory = nullptr;
};
// sides: the CTA that asks, and of a pair the other one. sm: the architecture, by whose rule
// products are added.
void multiply(const Multiply&, const TensorSide (&sides)[2], uint32_t sm, lanes::MatrixSums);
// Of a pair: in one of its CTAs.
void move(const TensorMove&, const std::byte* shared, TensorMemory&);

}  // namespace sassemu::async
