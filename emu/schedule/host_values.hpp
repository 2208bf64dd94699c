// SPDX-License-Identifier: Apache-2.0
// Values that the host reads, writes and changes in memory of this process.
#pragma once

#include <bit>
#include <cstring>
#include <span>

#include "emu/machine.hpp"
#include "emu/machine/outside.hpp"
#include "emu/memory/host_access.hpp"

namespace sassemu {

// An atomic of the host's as kernels have them: 4 or 8 bytes.
[[nodiscard]] inline FarMemory::Change change_of(uint32_t bytes, HostAtomic op, uint64_t value,
                                                 uint64_t compare) {
    constexpr AtomicOp ops[] = {AtomicOp::add,  AtomicOp::exch, AtomicOp::and_, AtomicOp::or_,
                                AtomicOp::xor_, AtomicOp::min,  AtomicOp::max,  AtomicOp::cas};
    FarMemory::Change change{ops[static_cast<size_t>(op)],
                             bytes == 4 ? AtomicType::u32 : AtomicType::u64,
                             bytes,
                             {value, 0},
                             {}};
    if (op == HostAtomic::compare) {
        change.operand[0] = compare;
        change.swap[0] = value;
    }
    return change;
}

// An aligned value of 1 to 8 bytes goes at once.
[[nodiscard]] inline bool is_value(const std::byte* at, uint64_t bytes) {
    return std::has_single_bit(bytes) && bytes <= 8 && reinterpret_cast<uintptr_t>(at) % bytes == 0;
}

inline void put_bytes(std::byte* at, std::span<const std::byte> bytes) {
    if (!is_value(at, bytes.size())) return host::write(at, bytes.data(), bytes.size());
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    host::store_bytes(at, static_cast<unsigned>(bytes.size()), value);
}

inline void take_bytes(std::span<std::byte> bytes, const std::byte* at) {
    if (!is_value(at, bytes.size())) return host::read(bytes.data(), at, bytes.size());
    const uint64_t value = host::load_bytes(at, static_cast<unsigned>(bytes.size()));
    std::memcpy(bytes.data(), &value, bytes.size());
}

}  // namespace sassemu
