// SPDX-License-Identifier: Apache-2.0
// The interpolator at the vector levels: a part is a chunk. scalar/interpolator.hpp says what the
// functions do.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

namespace k {
// Of each 128-bit part of a and b the first (second) doublewords; words of odd lanes into those of
// even ones; sums of two products of an unsigned byte and a signed one, saturated.
#if SASSEMU_LANES_LEVEL == 3
SASSEMU_INLINE C64 first_doublewords(C32 a, C32 b) {
    return (C64)_mm256_unpacklo_epi64(SASSEMU_I(a), SASSEMU_I(b));
}
SASSEMU_INLINE C64 second_doublewords(C32 a, C32 b) {
    return (C64)_mm256_unpackhi_epi64(SASSEMU_I(a), SASSEMU_I(b));
}
SASSEMU_INLINE C32 even_and_odd(C64 even, C64 odd) {
    return (C32)_mm256_blend_epi32(SASSEMU_I(even), SASSEMU_I(odd), 0xaa);
}
SASSEMU_INLINE C32 madd8(C32 a, C32 b) {
    return (C32)_mm256_maddubs_epi16(SASSEMU_I(a), SASSEMU_I(b));
}
#else
SASSEMU_INLINE C64 first_doublewords(C32 a, C32 b) {
    return (C64)_mm512_unpacklo_epi64(SASSEMU_I(a), SASSEMU_I(b));
}
SASSEMU_INLINE C64 second_doublewords(C32 a, C32 b) {
    return (C64)_mm512_unpackhi_epi64(SASSEMU_I(a), SASSEMU_I(b));
}
SASSEMU_INLINE C32 even_and_odd(C64 even, C64 odd) {
    return (C32)_mm512_mask_mov_epi32(SASSEMU_I(even), 0xaaaa, SASSEMU_I(odd));
}
SASSEMU_INLINE C32 madd8(C32 a, C32 b) { return maddubs(a, b); }
#endif
}  // namespace k

namespace interpolator {

using Part = C32;
using Test = M;
struct Sum {
    C64 even, odd;  // lanes
};

template <Part (*F)(Part)>
SASSEMU_INLINE void by_part(uint32_t* to, const uint32_t* from, uint32_t and_mask,
                            uint32_t xor_mask) {
    for (int i = 0; i < kLanes; i += kChunkLanes)
        k::store(to + i, F((k::load(from + i) & and_mask) ^ xor_mask));
}
SASSEMU_INLINE Part all(uint32_t value) { return k::splat(value); }
SASSEMU_INLINE Part shift_left(Part v, Part count) { return k::sllv(v, count); }
SASSEMU_INLINE Part shift_right(Part v, Part count) { return k::srlv(v, count); }
SASSEMU_INLINE Part shift_right_signed(Part v, unsigned count) {
    return (Part)((S32)v >> (int)count);
}
SASSEMU_INLINE Test equal(Part a, uint32_t b) { return k::eq(a, all(b)); }
SASSEMU_INLINE Test above(Part a, uint32_t b) { return k::lt_s(all(b), a); }
SASSEMU_INLINE Test below(Part a, uint32_t b) { return k::lt_s(a, all(b)); }
SASSEMU_INLINE Part choose(Test t, Part yes, Part no) { return k::blend(t, yes, no); }
SASSEMU_INLINE Part zero_where(Test t, Part v) {
#if SASSEMU_LANES_LEVEL == 3
    return v & ~t;
#else
    return (C32)_mm512_maskz_mov_epi32((M)~t, SASSEMU_I(v));
#endif
}
SASSEMU_INLINE Part entry(const uint8_t (&table)[16], Part index) {
    return k::shuffle8(k::table16(_mm_loadu_si128((const __m128i*)table)), index | 0x80808000u);
}

// The square of the upper 7 bits v, twice, and seven terms u_j * (v >> (6 - j)) of bit j of the
// next but one 7, thus 2^-6 * (u_j 2^j) * (v without its low 6 - j bits): products of masked bytes.
// The eighth is that of the bit between, 2 v.
SASSEMU_INLINE Part truncated_square(Part at) {
    const C32 bytes =
        at >> 2;  // byte 0: the bit between over u, byte 1: v under a bit that does not count
    const __m128i byte0 = _mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c);
    const C32 u = k::shuffle8(bytes, k::table16(byte0)),
              v = k::shuffle8(bytes, k::table16(byte0) + 0x01010101u);
    const C32 terms = k::add16(k::madd8(u & 0x08102040u, v & 0x787c7e7fu),
                               k::madd8(u & 0x80010204u, v & 0x7f406070u));
    const C32 seven = v & 0x7fu, square = k::madd16(seven, seven);
    return (k::madd16(terms, k::splat(0x00010001u)) >> 6) + square + square;
}
SASSEMU_INLINE C64 products(C64 c, C64 x, C64 s) {
    return k::mul_even_s(c, x) + k::mul_even_s(c >> 32, s);
}
SASSEMU_INLINE Sum interpolate(const InterpolatorSegment* table, Part at) {
    alignas(64) uint32_t offset[kChunkLanes];
    static_assert(sizeof(InterpolatorSegment) == 16);
    k::store(offset, at >> (kInterpolatorBits - 4) & ~15u);
    const auto segment = [ table, &offset ](int lane) __attribute__((always_inline)) {
        return _mm_load_si128((const __m128i*)((const char*)table + offset[lane]));
    };
    // As a Sum has its lanes: 0 and 2 of each four are those of even, in the order in which they
    // are joined.
    const C32 even0 = SASSEMU_JOIN_PARTS(segment(4 * part)),
              even2 = SASSEMU_JOIN_PARTS(segment(4 * part + 2));
    const C32 odd1 = SASSEMU_JOIN_PARTS(segment(4 * part + 1)),
              odd3 = SASSEMU_JOIN_PARTS(segment(4 * part + 3));
    const C64 even = k::second_doublewords(even0, even2),
              odd = k::second_doublewords(odd1, odd3);  // c1, c2
    const C32 x = at & ((1u << kInterpolatorBits) - 1), s = truncated_square(at);
    return {k::first_doublewords(even0, even2) + products(even, (C64)x, (C64)s),
            k::first_doublewords(odd1, odd3) + products(odd, (C64)x >> 32, (C64)s >> 32)};
}
SASSEMU_INLINE Sum add_high(Sum sum, Part high) {
    return {sum.even + ((C64)high << 32), sum.odd + ((C64)high & 0xffffffff00000000u)};
}
SASSEMU_INLINE Sum complement_negative(Sum sum) {
    return {sum.even ^ (C64)((S64)sum.even >> 63), sum.odd ^ (C64)((S64)sum.odd >> 63)};
}
SASSEMU_INLINE Sum cut(Sum sum, unsigned bits) { return {sum.even >> bits, sum.odd >> bits}; }
SASSEMU_INLINE Part word(C64 even, C64 odd, unsigned from) {
    return k::even_and_odd(even >> from, odd << (32 - from));
}
SASSEMU_INLINE Part word(Sum sum, unsigned from) { return word(sum.even, sum.odd, from); }
SASSEMU_INLINE Part normalize(Sum sum, unsigned bits) {
    const C64 two52 = k::splat64(0x4330000000000000u);
    const C64 even = (C64)((CD)(sum.even | two52) - (CD)two52),
              odd = (C64)((CD)(sum.odd | two52) - (CD)two52);
    return word(even, odd, 29) - ((1023 - 127 + bits) << 23);
}

}  // namespace interpolator
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
