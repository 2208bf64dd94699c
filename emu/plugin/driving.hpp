// SPDX-License-Identifier: Apache-2.0
// What both parts of the driver of machines say in the same way: numbers of threads, rows of
// values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/machine/lane_bits.hpp"
#include "sassemu/machine.h"

namespace sassemu::driving {

inline constexpr unsigned most_bytes = 16;  // of one operation
// Of a thread's number: its launch is above its CTA, which is above the threads of one.
inline constexpr unsigned cta_bits = 34, thread_bits = 10;

// Bytes of a lane as rows of 32 words, and back.
inline void put(uint32_t (*rows)[32], unsigned lane, const uint8_t* value, unsigned bytes) {
    for (unsigned k = 0; k < (bytes + 3) / 4; ++k) std::memcpy(&rows[k][lane], value + 4 * k, 4);
}

// act(first, count) for the pieces that operations have, none of which crosses a multiple of their
// size.
template <class Act>
void in_pieces(uint64_t address, uint64_t bytes, Act&& act) {
    for (uint64_t at = 0, count; at < bytes; at += count) {
        count = std::min<uint64_t>(most_bytes - (address + at) % most_bytes, bytes - at);
        act(at, count);
    }
}

inline sassemu_operation operation(sassemu_operation_kind kind) {
    sassemu_operation o{};
    o.size = sizeof o;
    o.kind = kind;
    return o;
}

}  // namespace sassemu::driving
