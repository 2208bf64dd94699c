// SPDX-License-Identifier: Apache-2.0
// What the two files of atomics share: the layout of their operations, and the operators on values.
// Lowering is in atomic.cpp, the loops of the flat model in atomic_lanes.cpp.
//
// An Op of an atomic is that of a memory access (memory_access.hpp) with
//   d      row(s) of the old value; the sink for reductions
//   e, f   rows of the operand (for compare-and-swap: what is compared) and of the new value
//   m[2]   AtomicOp | AtomicType << 8 | elements << 16 | flags << 24
//   m[3]   index in Warp::p of the "was global" or "has swapped" predicate; 7 = none
#pragma once

#include "emu/isa/memory_access.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// m[2], bits 31..24.
constexpr uint32_t atomic_reports_swap = 1;  // the result is whether the swap took place (CAST)

inline AtomicOp atomic_op(const Op* op) { return static_cast<AtomicOp>(op->m[2] & 255); }
inline AtomicType atomic_type(const Op* op) { return static_cast<AtomicType>(op->m[2] >> 8 & 255); }
inline uint32_t atomic_elements(const Op* op) { return op->m[2] >> 16 & 255; }
inline uint32_t atomic_flags(const Op* op) { return op->m[2] >> 24; }

// The access through the port, lane by lane, and every rare form.
const Op* atomic_port(const Op* op, Warp& w, uint32_t mask);
// The same with the operands in other rows, and ATOMS.POPC.INC, whose operand is 1.
const Op* atomic_port_rows(const Op* op, Warp& w, uint32_t mask, uint32_t operand, uint32_t swap);
const Op* popc_inc_port(const Op* op, Warp& w, uint32_t mask);
// The handler of the inlined flat model; atomic_port where there is no faster one.
void choose_atomic(Lower& x, AtomicOp op, AtomicType type, AccessSpace space);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
