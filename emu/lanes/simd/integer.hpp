// SPDX-License-Identifier: Apache-2.0
// 32-bit integer primitives of the vector levels.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

#define SASSEMU_LANE_OP1(name, expr) \
    SASSEMU_INLINE V32 name(V32 a) { \
        V32 r;                       \
        SASSEMU_EACH({               \
            const C32 x = a.c[i];    \
            r.c[i] = (C32)(expr);    \
        });                          \
        return r;                    \
    }
#define SASSEMU_LANE_OP2(name, expr)        \
    SASSEMU_INLINE V32 name(V32 a, V32 b) { \
        V32 r;                              \
        SASSEMU_EACH({                      \
            const C32 x = a.c[i];           \
            const C32 y = b.c[i];           \
            r.c[i] = (C32)(expr);           \
        });                                 \
        return r;                           \
    }
#define SASSEMU_LANE_OP3(name, expr)               \
    SASSEMU_INLINE V32 name(V32 a, V32 b, V32 c) { \
        V32 r;                                     \
        SASSEMU_EACH({                             \
            const C32 x = a.c[i];                  \
            const C32 y = b.c[i];                  \
            const C32 z = c.c[i];                  \
            r.c[i] = (C32)(expr);                  \
        });                                        \
        return r;                                  \
    }
#define SASSEMU_LANE_CMP(name, expr) \
    SASSEMU_INLINE Mask name(V32 a, V32 b) { SASSEMU_MASK_OF(expr); }

SASSEMU_LANE_OP2(add, x + y)
SASSEMU_LANE_OP2(sub, x - y)
SASSEMU_LANE_OP1(neg, -x)
SASSEMU_LANE_OP2(mul_lo, x* y)
SASSEMU_LANE_OP3(mad, x* y + z)
SASSEMU_LANE_OP3(add3, x + y + z)
SASSEMU_LANE_OP2(and_, x& y)
SASSEMU_LANE_OP2(or_, x | y)
SASSEMU_LANE_OP2(xor_, x ^ y)
SASSEMU_LANE_OP1(not_, ~x)
SASSEMU_LANE_OP2(andn, ~x& y)
SASSEMU_LANE_OP2(shl, k::sllv(x, y))
SASSEMU_LANE_OP2(shr, k::srlv(x, y))
SASSEMU_LANE_OP2(sar, k::srav(x, y))
SASSEMU_LANE_OP2(rotl, k::rolv(x, y))
SASSEMU_LANE_OP2(min_s, k::min_s(x, y))
SASSEMU_LANE_OP2(max_s, k::max_s(x, y))
SASSEMU_LANE_OP2(min_u, k::min_u(x, y))
SASSEMU_LANE_OP2(max_u, k::max_u(x, y))
SASSEMU_LANE_OP1(abs, k::abs(x))
SASSEMU_LANE_OP2(absdiff_s, k::max_s(x, y) - k::min_s(x, y))
SASSEMU_LANE_OP2(absdiff_u, k::max_u(x, y) - k::min_u(x, y))
SASSEMU_LANE_OP2(add_16x2, k::add16(x, y))
SASSEMU_LANE_OP2(sub_16x2, k::sub16(x, y))
SASSEMU_LANE_OP2(min_s16x2, k::min_s16(x, y))
SASSEMU_LANE_OP2(max_s16x2, k::max_s16(x, y))
SASSEMU_LANE_OP2(min_u16x2, k::min_u16(x, y))
SASSEMU_LANE_OP2(max_u16x2, k::max_u16(x, y))
SASSEMU_LANE_CMP(cmp_eq, k::eq(a.c[i], b.c[i]))
SASSEMU_LANE_CMP(cmp_lt_s, k::lt_s(a.c[i], b.c[i]))
SASSEMU_LANE_CMP(cmp_lt_u, k::lt_u(a.c[i], b.c[i]))
SASSEMU_INLINE Mask cmp_ne(V32 a, V32 b) { return ~cmp_eq(a, b); }
SASSEMU_INLINE Mask cmp_le_s(V32 a, V32 b) { return ~cmp_lt_s(b, a); }
SASSEMU_INLINE Mask cmp_gt_s(V32 a, V32 b) { return cmp_lt_s(b, a); }
SASSEMU_INLINE Mask cmp_ge_s(V32 a, V32 b) { return ~cmp_lt_s(a, b); }
SASSEMU_INLINE Mask cmp_le_u(V32 a, V32 b) { return ~cmp_lt_u(b, a); }
SASSEMU_INLINE Mask cmp_gt_u(V32 a, V32 b) { return cmp_lt_u(b, a); }
SASSEMU_INLINE Mask cmp_ge_u(V32 a, V32 b) { return ~cmp_lt_u(a, b); }

// {hi << n | lo >> (32 - n)}: vector shifts by 32 or more give 0, which is what both ends need.
SASSEMU_LANE_OP3(funnel_l_wrap, k::sllv(y, z & 31) | k::srlv(x, 32 - (z & 31)))
SASSEMU_LANE_OP3(funnel_r_wrap, k::srlv(x, z & 31) | k::sllv(y, 32 - (z & 31)))
SASSEMU_LANE_OP3(funnel_l_clamp, k::sllv(y, z) | k::srlv(x, 32 - k::min_u(z, k::splat(32))))
SASSEMU_LANE_OP3(funnel_r_clamp, k::srlv(x, z) | k::sllv(y, 32 - k::min_u(z, k::splat(32))))

SASSEMU_INLINE V64 mul_wide_u(V32 a, V32 b) {
    V64 r;
    SASSEMU_EACH(const C64 x = (C64)a.c[i]; const C64 y = (C64)b.c[i];
                 r.c[2 * i] = k::mul_even_u(x, y);
                 r.c[2 * i + 1] = k::mul_even_u(x >> 32, y >> 32););
    return r;
}
SASSEMU_INLINE V64 mul_wide_s(V32 a, V32 b) {
    V64 r;
    SASSEMU_EACH(const C64 x = (C64)a.c[i]; const C64 y = (C64)b.c[i];
                 r.c[2 * i] = k::mul_even_s(x, y);
                 r.c[2 * i + 1] = k::mul_even_s(x >> 32, y >> 32););
    return r;
}
SASSEMU_INLINE V32 mul_hi_u(V32 a, V32 b) { return hi32(mul_wide_u(a, b)); }
SASSEMU_INLINE V32 mul_hi_s(V32 a, V32 b) { return hi32(mul_wide_s(a, b)); }

SASSEMU_INLINE V32 add_carry(V32 a, V32 b, Mask carry_in, Mask* carry_out) {
    const V32 t = add(a, b);
    const V32 s = sub(t, select(carry_in, splat(~0u), splat(0)));
    *carry_out = cmp_lt_u(t, a) | cmp_lt_u(s, t);
    return s;
}
SASSEMU_INLINE V32 add3_carry(V32 a, V32 b, V32 c, Mask carry0, Mask carry1, Mask* p0, Mask* p1) {
    Mask first, second;
    const V32 s = add_carry(add_carry(a, b, carry0, &first), c, carry1, &second);
    *p0 = first | second;
    *p1 = first & second;
    return s;
}

template <uint8_t Lut>
SASSEMU_INLINE V32 lop3(V32 a, V32 b, V32 c) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::ternary<Lut>(a.c[i], b.c[i], c.c[i]););
    return r;
}
// A run-time table is a tree of multiplexers: for each (a, b) the function of c is
// (c & (m1 ^ m0)) ^ m0, then b and then a choose. 0x6a is (x & y) ^ z, 0xca is x ? y : z.
namespace k {
SASSEMU_INLINE C32 lut_bit(unsigned lut) { return splat(0u - (lut & 1u)); }
SASSEMU_INLINE C32 lut_change(unsigned lut) { return splat(0u - ((lut ^ (lut >> 1)) & 1u)); }
}  // namespace k
SASSEMU_INLINE V32 lop3(V32 a, V32 b, V32 c, uint8_t lut) {
    V32 r;
    SASSEMU_EACH(const C32 x = a.c[i]; const C32 y = b.c[i]; const C32 z = c.c[i];
                 const C32 f00 = k::ternary<0x6a>(k::lut_change(lut), z, k::lut_bit(lut));
                 const C32 f01 = k::ternary<0x6a>(k::lut_change(lut >> 2), z, k::lut_bit(lut >> 2));
                 const C32 f10 = k::ternary<0x6a>(k::lut_change(lut >> 4), z, k::lut_bit(lut >> 4));
                 const C32 f11 = k::ternary<0x6a>(k::lut_change(lut >> 6), z, k::lut_bit(lut >> 6));
                 r.c[i] = k::ternary<0xca>(x, k::ternary<0xca>(y, f11, f10),
                                           k::ternary<0xca>(y, f01, f00)););
    return r;
}

SASSEMU_LANE_OP1(clz, k::clz(x))
namespace k {
SASSEMU_INLINE C32 popc(C32 x) {
    const C32 count = table16(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const C32 per_byte =
        add8(shuffle8(count, x & 0x0f0f0f0fu), shuffle8(count, (x >> 4) & 0x0f0f0f0fu));
    return (per_byte * 0x01010101u) >> 24;
}
SASSEMU_INLINE C32 bswap(C32 x) {
    return shuffle8(x,
                    table16(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)));
}
SASSEMU_INLINE C32 brev(C32 x) {
    const C32 low = table16(_mm_setr_epi8(0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15));
    const C32 y = bswap(x);
    return (shuffle8(low, y & 0x0f0f0f0fu) << 4) | shuffle8(low, (y >> 4) & 0x0f0f0f0fu);
}
// Nibbles of the selector become byte indices; b's byte where bit 2, its sign where bit 3.
SASSEMU_INLINE C32 prmt(C32 a, C32 b, C32 sel) {
    C32 n = sel & 0xffffu;
    n = (n | (n << 8)) & 0x00ff00ffu;
    n = (n | (n << 4)) & 0x0f0f0f0fu;
    const C32 lane = table16(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
    const C32 index = (n & 0x03030303u) | lane;
    const C32 byte = blend8(n << 5, shuffle8(b, index), shuffle8(a, index));
    const C32 sign = blend8(byte, splat(~0u), splat(0));
    return blend8(n << 4, sign, byte);
}
}  // namespace k
SASSEMU_LANE_OP1(popc, k::popc(x))
SASSEMU_LANE_OP1(bswap, k::bswap(x))
SASSEMU_LANE_OP1(brev, k::brev(x))
SASSEMU_LANE_OP3(prmt, k::prmt(x, y, z))
// ones(w) << p, with w >= 32 all ones (a shift by 32 leaves 0, and 0 - 1 is all ones).
SASSEMU_LANE_OP2(bmsk_clamp, k::sllv(k::sllv(k::splat(1), y) - 1, x))
SASSEMU_LANE_OP2(bmsk_wrap, k::sllv(k::sllv(k::splat(1), y & 31) - 1, x & 31))
SASSEMU_LANE_OP2(sgxt_s, k::srav(k::sllv(x, 32 - k::min_u(y, k::splat(32))),
                                 32 - k::min_u(y, k::splat(32))))
SASSEMU_LANE_OP2(sgxt_u, x&(k::sllv(k::splat(1), y) - 1))
SASSEMU_INLINE V32 sad_u8x4(V32 a, V32 b, V32 c) {
    V32 r;
    SASSEMU_EACH(const C32 d = k::sub8(k::max_u8(a.c[i], b.c[i]), k::min_u8(a.c[i], b.c[i]));
                 const C32 pairs = (d & 0x00ff00ffu) + ((d >> 8) & 0x00ff00ffu);
                 r.c[i] = c.c[i] + (pairs & 0xffffu) + (pairs >> 16););
    return r;
}

namespace k {
// Even and odd bytes as 16-bit numbers.
template <bool Signed>
SASSEMU_INLINE C32 even_bytes(C32 x) {
    using H = int16_t __attribute__((vector_size(sizeof(C32))));
    return Signed ? (C32)((H)(((H)x) << 8) >> 8) : x & 0x00ff00ffu;
}
template <bool Signed>
SASSEMU_INLINE C32 odd_bytes(C32 x) {
    using H = int16_t __attribute__((vector_size(sizeof(C32))));
    return Signed ? (C32)((H)x >> 8) : (x >> 8) & 0x00ff00ffu;
}
template <bool Signed>
SASSEMU_INLINE C32 extend16(C32 x) {
    return Signed ? (C32)((S32)(x << 16) >> 16) : x & 0xffffu;
}
template <bool Signed>
SASSEMU_INLINE C32 extend8(C32 x) {
    return Signed ? (C32)((S32)(x << 24) >> 24) : x & 0xffu;
}
}  // namespace k
template <bool SignedA, bool SignedB>
SASSEMU_INLINE V32 dp4a(V32 a, V32 b, V32 c) {
    V32 r;
    SASSEMU_EACH(r.c[i] =
                     c.c[i] +
                     k::madd16(k::even_bytes<SignedA>(a.c[i]), k::even_bytes<SignedB>(b.c[i])) +
                     k::madd16(k::odd_bytes<SignedA>(a.c[i]), k::odd_bytes<SignedB>(b.c[i])););
    return r;
}
SASSEMU_INLINE V32 dp_16x2(V32 a, V32 b, V32 c) {
    V32 r;
    SASSEMU_EACH(r.c[i] = c.c[i] + k::madd16(a.c[i], b.c[i]););
    return r;
}
template <bool SignedA, bool SignedB, bool Hi>
SASSEMU_INLINE V32 dp2a(V32 a, V32 b, V32 c) {
    V32 r;
    SASSEMU_EACH(const C32 bytes = Hi ? b.c[i] >> 16 : b.c[i];
                 r.c[i] = c.c[i] + k::extend16<SignedA>(a.c[i]) * k::extend8<SignedB>(bytes) +
                          k::extend16<SignedA>(a.c[i] >> 16) * k::extend8<SignedB>(bytes >> 8););
    return r;
}
template <int Bits, bool SignedSource, bool SignedResult>
SASSEMU_INLINE V32 sat_narrow(V32 a) {
    constexpr uint32_t kMax = SignedResult ? (1u << (Bits - 1)) - 1 : (1u << Bits) - 1;
    constexpr uint32_t kMin = SignedResult ? 0u - (1u << (Bits - 1)) : 0;
    if constexpr (SignedSource) return max_s(min_s(a, splat(kMax)), splat(kMin));
    return min_u(a, splat(kMax));
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
