// SPDX-License-Identifier: Apache-2.0
// The interpolator at the scalar level, which defines it: a part is a lane.
#pragma once

#include <bit>

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace interpolator {

using Part = uint32_t;
using Test = bool;  // of a part's lanes
struct Sum {
    uint64_t lane;
};

// F of every part of a row, to which a modifier of floats is applied first: sign bits are and-ed,
// then xor-ed. The rows may be one.
template <Part (*F)(Part)>
SASSEMU_INLINE void by_part(uint32_t* to, const uint32_t* from, uint32_t and_mask,
                            uint32_t xor_mask) {
    SASSEMU_FOR_LANES to[i] = F((from[i] & and_mask) ^ xor_mask);
}
SASSEMU_INLINE Part all(uint32_t value) { return value; }
// Counts of 32 and more, thus negative ones, give 0.
SASSEMU_INLINE Part shift_left(Part v, Part count) { return count < 32 ? v << count : 0; }
SASSEMU_INLINE Part shift_right(Part v, Part count) { return count < 32 ? v >> count : 0; }
SASSEMU_INLINE Part shift_right_signed(Part v, unsigned count) {
    return (Part)((int32_t)v >> count);
}
SASSEMU_INLINE Test equal(Part a, uint32_t b) { return a == b; }
SASSEMU_INLINE Test above(Part a, uint32_t b) { return (int32_t)a > (int32_t)b; }  // signed
SASSEMU_INLINE Test below(Part a, uint32_t b) { return (int32_t)a < (int32_t)b; }
SASSEMU_INLINE Part choose(Test t, Part yes, Part no) { return t ? yes : no; }
SASSEMU_INLINE Part zero_where(Test t, Part v) { return t ? 0 : v; }
// An entry of a small table, by four bits.
SASSEMU_INLINE Part entry(const uint8_t (&table)[16], Part index) { return table[index]; }

// x^2 / 2^19, x of kInterpolatorBits, from the partial products of weight 2^19 and more alone: bits
// i < j of x contribute at i + j + 1, bit i with itself at 2 i. Bits 9 and up form a whole square
// but for bit 9 itself.
SASSEMU_INLINE Part truncated_square(Part x) {
    const Part high = x >> 9;
    Part sum = high * high >> 1;
    for (unsigned i = 2; i < 9; ++i) sum += (x >> i & 1) * (x >> (18 - i));
    return sum;
}
// constant + c1 x + c2 S(x); `at` is the segment's number over x, and within the table.
SASSEMU_INLINE Sum interpolate(const InterpolatorSegment* table, Part at) {
    const InterpolatorSegment& s = table[at >> kInterpolatorBits];
    const Part x = at & ((1u << kInterpolatorBits) - 1);
    return {s.constant + (uint64_t)(int64_t{s.c1} * x) +
            (uint64_t)(int64_t{s.c2} * truncated_square(x))};
}
SASSEMU_INLINE Sum add_high(Sum sum, Part high) { return {sum.lane + (uint64_t{high} << 32)}; }
// Negative sums complemented bit by bit.
SASSEMU_INLINE Sum complement_negative(Sum sum) {
    return {(int64_t)sum.lane < 0 ? ~sum.lane : sum.lane};
}
SASSEMU_INLINE Sum cut(Sum sum, unsigned bits) { return {sum.lane >> bits}; }
// 32 bits of a sum; 0 < from < 32.
SASSEMU_INLINE Part word(Sum sum, unsigned from) { return (Part)(sum.lane >> from); }
// A sum below 2^52 units of 2^-bits, cut to an fp32; that of 0 does not count.
SASSEMU_INLINE Part normalize(Sum sum, unsigned bits) {
    const uint64_t f64 = std::bit_cast<uint64_t>((double)sum.lane);
    return (Part)(f64 >> 29) - ((1023 - 127 + bits) << 23);
}

}  // namespace interpolator
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
