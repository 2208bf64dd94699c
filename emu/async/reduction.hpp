// SPDX-License-Identifier: Apache-2.0
// Reductions that agents perform on memory (cp.reduce.async.bulk, cp.reduce.async.bulk.tensor).
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/async/tensor_map.hpp"
#include "emu/machine/copies.hpp"

namespace sassemu::async {

// How the elements of a tensor are operated on. Not of 8 and 16 bits.
AtomicType atomic_type(TensorType);
// Of an atomic step of reduce_words().
inline uint32_t step_bytes(AtomicType type) {
    return type == AtomicType::u64 || type == AtomicType::s64 || type == AtomicType::f64 ? 8 : 4;
}
bool reduction_exists(TensorType, AtomicOp);

// Each element of `to` becomes the operation's result with that of `from`, in an atomic step of its
// own (halves two by two); `bytes` is a multiple of 8.
void reduce_words(std::byte* to, const std::byte* from, uint64_t bytes, AtomicOp, AtomicType);

}  // namespace sassemu::async
