// SPDX-License-Identifier: Apache-2.0
// A multicast object: addresses that stand for the same bytes in memory of several GPUs, and hold
// none themselves. Its extent holds no bytes (Extent::holds() is false), so that every access comes
// to the engine (schedule/multicast.cpp): stores and reductions (multimem.st, multimem.red) go to
// all members, LDGMC (multimem.ld_reduce) combines what they hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/machine/extent.hpp"
#include "emu/machine/port.hpp"

namespace sassemu {

class AddressSpace;

// Of Extent::flags: `host` is the object.
constexpr uint32_t multicast_extent = 32;

struct Multicast {
    struct Member {
        uint64_t address = 0;
        const AddressSpace* space = nullptr;  // whose table has it: peer access is not asked for
    };
    uint64_t address = 0, bytes = 0;
    std::vector<Member> members;
};

// The object that has the address; null: the extent is none, or was released.
inline const Multicast* multicast_of(const Extent& e, uint64_t address) {
    if ((e.flags & (multicast_extent | Extent::freed)) != multicast_extent) return nullptr;
    const auto* const object = reinterpret_cast<const Multicast*>(e.host);
    return address - object->address < object->bytes ? object : nullptr;
}

// What LDGMC gives: `members` have `bytes` (4, 8 or 16) each, as words; so has the result. Sums
// begin with the first member and are rounded at each step: to the format, or with how.wide to f32
// (of f16 and bf16) or f16 (of fp8), and at the end to the format. No chip was at hand: the order
// and the rounding of the switch are assumed.
void combine(const LoadReduce& how, std::span<const uint32_t* const> members, uint32_t bytes,
             uint32_t* result);

}  // namespace sassemu
