// SPDX-License-Identifier: Apache-2.0
// Reductions of agents, in terms of atomics.
#include "emu/async/reduction.hpp"

#include "emu/memory/host_access.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu::async {

AtomicType atomic_type(TensorType type) {
    switch (type) {
        case TensorType::s32:
            return AtomicType::s32;
        case TensorType::u64:
            return AtomicType::u64;
        case TensorType::s64:
            return AtomicType::s64;
        case TensorType::f16:
            return AtomicType::f16x2;
        case TensorType::bf16:
            return AtomicType::bf16x2;
        case TensorType::f32:
        case TensorType::tf32:
            return AtomicType::f32_rn;
        case TensorType::f32_ftz:
        case TensorType::tf32_ftz:
            return AtomicType::f32;
        case TensorType::f64:
            return AtomicType::f64;
        default:
            return AtomicType::u32;
    }
}

bool reduction_exists(TensorType type, AtomicOp op) {
    const bool narrow = type == TensorType::u8 || type == TensorType::u16;
    return !narrow && sassemu::reduction_exists(op, atomic_type(type));
}

void reduce_words(std::byte* to, const std::byte* from, uint64_t bytes, AtomicOp op,
                  AtomicType type) {
    const uint32_t each = step_bytes(type);
    bool changed;
    for (uint64_t i = 0; i < bytes; i += each)
        update_at(to + i, op, type, each, {host::load_bytes(from + i, each), 0}, {}, changed);
}

}  // namespace sassemu::async
