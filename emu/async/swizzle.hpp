// SPDX-License-Identifier: Apache-2.0
// The swizzle of shared memory, which tensor copies write and tensor cores read: chunks of 16 or 32
// bytes change places within a span of 32, 64 or 128 bytes, by an XOR of address bits with those
// that count the spans.
#pragma once

#include <cstdint>

namespace sassemu::async {

struct Swizzle {
    uint32_t bits = 0;   // those of an address that are XORed; none: nothing changes places
    uint32_t above = 3;  // with those so many higher

    explicit operator bool() const { return bits; }
    // Where the byte at a shared offset lies; the pattern repeats from `start` on.
    uint32_t operator()(uint32_t at, uint32_t start = 0) const {
        return at ^ ((at - start) >> above & bits);
    }
};
// Chunks of 16 bytes in a span of 16 << log.
constexpr Swizzle swizzle_of_16(uint32_t log) { return {((1u << log) - 1) << 4, 3}; }
// Chunks of 32 bytes in a span of 128.
constexpr Swizzle swizzle_of_32{0x60, 2};
constexpr Swizzle swizzle_of_64{0x40, 1};  // chunks of 64

}  // namespace sassemu::async
