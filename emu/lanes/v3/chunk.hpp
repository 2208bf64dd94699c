// SPDX-License-Identifier: Apache-2.0
// The AVX2 chunk: 8 lanes in one ymm, and the operations that simd/ is written over. V32 is four
// chunks. V64 is eight: chunk 2i has the even lanes of 32-bit chunk i and chunk 2i+1 the odd ones
// (v4/chunk.hpp says why). A chunk mask is a vector of all-ones or zero lanes.
// Directed roundings go through MXCSR: inside a RoundScope every rounding operation is a volatile
// asm statement, which the compiler keeps between the two changes of the mode.
#pragma once

#include <immintrin.h>

#define SASSEMU_EACH(...)        \
    do {                         \
        {                        \
            constexpr int i = 0; \
            __VA_ARGS__          \
        }                        \
        {                        \
            constexpr int i = 1; \
            __VA_ARGS__          \
        }                        \
        {                        \
            constexpr int i = 2; \
            __VA_ARGS__          \
        }                        \
        {                        \
            constexpr int i = 3; \
            __VA_ARGS__          \
        }                        \
    } while (0)

// A chunk whose 128-bit parts are an expression over `part`, the part's number.
#define SASSEMU_PART(n, ...)    \
    __extension__({             \
        constexpr int part = n; \
        __VA_ARGS__;            \
    })
#define SASSEMU_JOIN_PARTS(...) \
    k::join_parts(SASSEMU_PART(0, __VA_ARGS__), SASSEMU_PART(1, __VA_ARGS__))

namespace sassemu {
namespace SASSEMU_LANES_NS {

using C32 = uint32_t __attribute__((vector_size(32)));
using S32 = int32_t __attribute__((vector_size(32)));
using C64 = uint64_t __attribute__((vector_size(32)));
using S64 = int64_t __attribute__((vector_size(32)));
using CF = float __attribute__((vector_size(32)));
using CD = double __attribute__((vector_size(32)));
using M = C32;    // lanes of a C32, all ones or zero
using M64 = C64;  // lanes of a C64
inline constexpr int kChunkLanes = 8;
inline constexpr int kChunks = 4;

struct V32 {
    C32 c[kChunks];
};
struct V64 {
    C64 c[2 * kChunks];
};

namespace k {
#define SASSEMU_I(x) ((__m256i)(x))
#define SASSEMU_F(x) ((__m256)(x))
#define SASSEMU_D(x) ((__m256d)(x))

// ---- moves
SASSEMU_INLINE C32 splat(uint32_t x) { return (C32)_mm256_set1_epi32((int)x); }
SASSEMU_INLINE C64 splat64(uint64_t x) { return (C64)_mm256_set1_epi64x((long long)x); }
SASSEMU_INLINE C32 load(const void* p) { return (C32)_mm256_load_si256((const __m256i*)p); }
SASSEMU_INLINE C32 load_quad(const void* p) {
    return (C32)_mm256_broadcastsi128_si256(_mm_load_si128((const __m128i*)p));
}
SASSEMU_INLINE C32 loadu(const void* p) { return (C32)_mm256_loadu_si256((const __m256i*)p); }
SASSEMU_INLINE void store(void* p, C32 v) { _mm256_store_si256((__m256i*)p, SASSEMU_I(v)); }
SASSEMU_INLINE void storeu(void* p, C32 v) { _mm256_storeu_si256((__m256i*)p, SASSEMU_I(v)); }
SASSEMU_INLINE void store_masked(void* p, M m, C32 v) {
    _mm256_maskstore_epi32((int*)p, SASSEMU_I(m), SASSEMU_I(v));
}
SASSEMU_INLINE C32 load_masked(const void* p, M m) {
    return (C32)_mm256_maskload_epi32((const int*)p, SASSEMU_I(m));
}
SASSEMU_INLINE void store_masked64(void* p, M64 m, C64 v) {
    _mm256_maskstore_epi64((long long*)p, SASSEMU_I(m), SASSEMU_I(v));
}
SASSEMU_INLINE C64 load_masked64(const void* p, M64 m) {
    return (C64)_mm256_maskload_epi64((const long long*)p, SASSEMU_I(m));
}
SASSEMU_INLINE C32 lane_ids(int chunk) {
    const C32 first = {0, 1, 2, 3, 4, 5, 6, 7};
    return first + splat(8u * (unsigned)chunk);
}
// {hi:lo} of the even or odd lanes, and back.
SASSEMU_INLINE C64 even64(C32 lo, C32 hi) {
    return (C64)_mm256_blend_epi32(SASSEMU_I(lo), SASSEMU_I((C64)hi << 32), 0xaa);
}
SASSEMU_INLINE C64 odd64(C32 lo, C32 hi) {
    return (C64)_mm256_blend_epi32(SASSEMU_I((C64)lo >> 32), SASSEMU_I(hi), 0xaa);
}
SASSEMU_INLINE C32 low_words(C64 even, C64 odd) {
    return (C32)_mm256_blend_epi32(SASSEMU_I(even), SASSEMU_I(odd << 32), 0xaa);
}
SASSEMU_INLINE C32 high_words(C64 even, C64 odd) {
    return (C32)_mm256_blend_epi32(SASSEMU_I(even >> 32), SASSEMU_I(odd), 0xaa);
}
// Lane order <-> even and odd lanes, for 8 values in two vectors of 4.
SASSEMU_INLINE C64 evens(C64 first, C64 second) {
    return (C64)_mm256_permute4x64_epi64(_mm256_unpacklo_epi64(SASSEMU_I(first), SASSEMU_I(second)),
                                         0xd8);
}
SASSEMU_INLINE C64 odds(C64 first, C64 second) {
    return (C64)_mm256_permute4x64_epi64(_mm256_unpackhi_epi64(SASSEMU_I(first), SASSEMU_I(second)),
                                         0xd8);
}
SASSEMU_INLINE C64 first_half(C64 even, C64 odd) {
    return (C64)_mm256_permute2x128_si256(_mm256_unpacklo_epi64(SASSEMU_I(even), SASSEMU_I(odd)),
                                          _mm256_unpackhi_epi64(SASSEMU_I(even), SASSEMU_I(odd)),
                                          0x20);
}
SASSEMU_INLINE C64 second_half(C64 even, C64 odd) {
    return (C64)_mm256_permute2x128_si256(_mm256_unpacklo_epi64(SASSEMU_I(even), SASSEMU_I(odd)),
                                          _mm256_unpackhi_epi64(SASSEMU_I(even), SASSEMU_I(odd)),
                                          0x31);
}
SASSEMU_INLINE C32 blend(M m, C32 t, C32 f) {
    return (C32)_mm256_blendv_epi8(SASSEMU_I(f), SASSEMU_I(t), SASSEMU_I(m));
}
SASSEMU_INLINE C64 blend64(M64 m, C64 t, C64 f) {
    return (C64)_mm256_blendv_epi8(SASSEMU_I(f), SASSEMU_I(t), SASSEMU_I(m));
}
SASSEMU_INLINE C32 blend8(C32 by_bit7, C32 t, C32 f) {  // per byte
    return (C32)_mm256_blendv_epi8(SASSEMU_I(f), SASSEMU_I(t), SASSEMU_I(by_bit7));
}
// Lane index[l] mod 32 of the warp, for each lane l of a chunk: the permutation uses the low three
// bits, then bits 3 and 4 choose among the chunks.
SASSEMU_INLINE C32 pick(const V32& v, C32 index) {
    const __m256i n = SASSEMU_I(index);
    const __m256 p0 = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(SASSEMU_I(v.c[0]), n));
    const __m256 p1 = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(SASSEMU_I(v.c[1]), n));
    const __m256 p2 = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(SASSEMU_I(v.c[2]), n));
    const __m256 p3 = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(SASSEMU_I(v.c[3]), n));
    const __m256 bit3 = (__m256)(index << 28), bit4 = (__m256)(index << 27);
    return (C32)_mm256_blendv_ps(_mm256_blendv_ps(p0, p1, bit3), _mm256_blendv_ps(p2, p3, bit3),
                                 bit4);
}
// Lanes rotated down by N, for folding a chunk onto lane 0 (only lane 0 counts).
template <int N>
SASSEMU_INLINE C32 rotate(C32 a) {
    if constexpr (N == 4) return (C32)_mm256_permute2x128_si256(SASSEMU_I(a), SASSEMU_I(a), 1);
    return (C32)_mm256_shuffle_epi32(SASSEMU_I(a), N == 2 ? 0x4e : 0xb1);
}
SASSEMU_INLINE uint32_t lane0(C32 a) {
    return (uint32_t)_mm_cvtsi128_si32(_mm256_castsi256_si128(SASSEMU_I(a)));
}
// 8 lanes of bytes or halves to and from 32 bits.
SASSEMU_INLINE C32 load_u8(const void* p) {
    return (C32)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p));
}
SASSEMU_INLINE C32 load_s8(const void* p) {
    return (C32)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p));
}
SASSEMU_INLINE C32 load_u16(const void* p) {
    return (C32)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p));
}
SASSEMU_INLINE C32 load_s16(const void* p) {
    return (C32)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i*)p));
}
SASSEMU_INLINE __m128i narrow16(C32 v) {
    const __m256i low = _mm256_and_si256(SASSEMU_I(v), _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_packus_epi32(low, low);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0xd8));
}
SASSEMU_INLINE void store_16(void* p, C32 v) { _mm_storeu_si128((__m128i*)p, narrow16(v)); }
SASSEMU_INLINE void store_8(void* p, C32 v) {
    const __m128i low = narrow16(v & 0xffu);
    _mm_storel_epi64((__m128i*)p, _mm_packus_epi16(low, low));
}
// The 128-bit parts of a chunk: four lanes of words, two of doublewords, or one of quads.
inline constexpr int kParts = 2;
SASSEMU_INLINE C32 join_parts(__m128i a, __m128i b) {
    return (C32)_mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}
// 8 lanes of four words each, lane after lane (a has lanes 0 and 1), to one vector per word, and
// back.
SASSEMU_INLINE void transpose4(__m256i& a, __m256i& b, __m256i& c, __m256i& d) {
    const __m256i ab_lo = _mm256_unpacklo_epi32(a, b), ab_hi = _mm256_unpackhi_epi32(a, b);
    const __m256i cd_lo = _mm256_unpacklo_epi32(c, d), cd_hi = _mm256_unpackhi_epi32(c, d);
    a = _mm256_unpacklo_epi64(ab_lo, cd_lo);
    b = _mm256_unpackhi_epi64(ab_lo, cd_lo);
    c = _mm256_unpacklo_epi64(ab_hi, cd_hi);
    d = _mm256_unpackhi_epi64(ab_hi, cd_hi);
}
SASSEMU_INLINE void from_quads(C32 (&q)[4]) {
    __m256i a = _mm256_permute2x128_si256(SASSEMU_I(q[0]), SASSEMU_I(q[2]), 0x20);
    __m256i b = _mm256_permute2x128_si256(SASSEMU_I(q[0]), SASSEMU_I(q[2]), 0x31);
    __m256i c = _mm256_permute2x128_si256(SASSEMU_I(q[1]), SASSEMU_I(q[3]), 0x20);
    __m256i d = _mm256_permute2x128_si256(SASSEMU_I(q[1]), SASSEMU_I(q[3]), 0x31);
    transpose4(a, b, c, d);
    q[0] = (C32)a;
    q[1] = (C32)b;
    q[2] = (C32)c;
    q[3] = (C32)d;
}
SASSEMU_INLINE void to_quads(C32 (&q)[4]) {
    __m256i a = SASSEMU_I(q[0]), b = SASSEMU_I(q[1]), c = SASSEMU_I(q[2]), d = SASSEMU_I(q[3]);
    transpose4(a, b, c, d);
    q[0] = (C32)_mm256_permute2x128_si256(a, b, 0x20);
    q[1] = (C32)_mm256_permute2x128_si256(c, d, 0x20);
    q[2] = (C32)_mm256_permute2x128_si256(a, b, 0x31);
    q[3] = (C32)_mm256_permute2x128_si256(c, d, 0x31);
}

// ---- masks
SASSEMU_INLINE M mask(Mask m, int chunk) {
    const C32 bit = {1, 2, 4, 8, 16, 32, 64, 128};
    return (M)((splat(m >> (8 * chunk)) & bit) == bit);
}
SASSEMU_INLINE Mask bits(M m, int chunk) {
    return (Mask)_mm256_movemask_ps(SASSEMU_F(m)) << (8 * chunk);
}
// Bit l of x is lane 2l (even lanes) or 2l+1 (odd) of the warp.
SASSEMU_INLINE M64 mask64(uint32_t x, int chunk) {
    const C64 bit = {1, 2, 4, 8};
    return (M64)((splat64(x >> (4 * chunk)) & bit) == bit);
}
SASSEMU_INLINE uint32_t bits64(M64 m, int chunk) {
    return (uint32_t)_mm256_movemask_pd(SASSEMU_D(m)) << (4 * chunk);
}
SASSEMU_INLINE M both(M a, M b) { return a & b; }
SASSEMU_INLINE M64 both64(M64 a, M64 b) { return a & b; }

// ---- integers
#define SASSEMU_OP2(name, T, intrinsic) \
    SASSEMU_INLINE T name(T a, T b) { return (T)intrinsic(SASSEMU_I(a), SASSEMU_I(b)); }
SASSEMU_OP2(sllv, C32, _mm256_sllv_epi32)
SASSEMU_OP2(srlv, C32, _mm256_srlv_epi32)
SASSEMU_OP2(srav, C32, _mm256_srav_epi32)
SASSEMU_OP2(sllv64, C64, _mm256_sllv_epi64)
SASSEMU_OP2(srlv64, C64, _mm256_srlv_epi64)
SASSEMU_OP2(min_s, C32, _mm256_min_epi32)
SASSEMU_OP2(max_s, C32, _mm256_max_epi32)
SASSEMU_OP2(min_u, C32, _mm256_min_epu32)
SASSEMU_OP2(max_u, C32, _mm256_max_epu32)
SASSEMU_OP2(mul_even_u, C64, _mm256_mul_epu32)
SASSEMU_OP2(mul_even_s, C64, _mm256_mul_epi32)
SASSEMU_OP2(add16, C32, _mm256_add_epi16)
SASSEMU_OP2(sub16, C32, _mm256_sub_epi16)
SASSEMU_OP2(min_s16, C32, _mm256_min_epi16)
SASSEMU_OP2(max_s16, C32, _mm256_max_epi16)
SASSEMU_OP2(min_u16, C32, _mm256_min_epu16)
SASSEMU_OP2(max_u16, C32, _mm256_max_epu16)
SASSEMU_OP2(max_u8, C32, _mm256_max_epu8)
SASSEMU_OP2(min_u8, C32, _mm256_min_epu8)
SASSEMU_OP2(sub8, C32, _mm256_sub_epi8)
SASSEMU_OP2(add8, C32, _mm256_add_epi8)
SASSEMU_OP2(shuffle8, C32, _mm256_shuffle_epi8)
SASSEMU_OP2(madd16, C32, _mm256_madd_epi16)
#undef SASSEMU_OP2
SASSEMU_INLINE C32 rolv(C32 a, C32 n) { return sllv(a, n & 31u) | srlv(a, 32u - (n & 31u)); }
SASSEMU_INLINE M eq(C32 a, C32 b) { return (M)(a == b); }
SASSEMU_INLINE M lt_s(C32 a, C32 b) { return (M)((S32)a < (S32)b); }
SASSEMU_INLINE M lt_u(C32 a, C32 b) { return (M)((S32)(a ^ 0x80000000u) < (S32)(b ^ 0x80000000u)); }
SASSEMU_INLINE M64 eq64(C64 a, C64 b) { return (M64)(a == b); }
SASSEMU_INLINE M64 lt_s64(C64 a, C64 b) { return (M64)((S64)a < (S64)b); }
SASSEMU_INLINE M64 lt_u64(C64 a, C64 b) {
    constexpr uint64_t kTop = 0x8000000000000000ull;
    return (M64)((S64)(a ^ kTop) < (S64)(b ^ kTop));
}
SASSEMU_INLINE C64 min_s64(C64 a, C64 b) { return blend64(lt_s64(a, b), a, b); }
SASSEMU_INLINE C64 max_s64(C64 a, C64 b) { return blend64(lt_s64(a, b), b, a); }
SASSEMU_INLINE C64 min_u64(C64 a, C64 b) { return blend64(lt_u64(a, b), a, b); }
SASSEMU_INLINE C64 max_u64(C64 a, C64 b) { return blend64(lt_u64(a, b), b, a); }
SASSEMU_INLINE M test(C32 a, C32 b) { return ~(M)((a & b) == splat(0)); }
SASSEMU_INLINE M sign(C32 a) { return (M)((S32)a >> 31); }
SASSEMU_INLINE C32 abs(C32 a) { return (C32)_mm256_abs_epi32(SASSEMU_I(a)); }
SASSEMU_INLINE C32 table16(__m128i t) { return (C32)_mm256_broadcastsi128_si256(t); }
// Shifting by 64 or more gives the sign, as shifting by 63 does.
SASSEMU_INLINE C64 srav64(C64 a, C64 n) {
    const C64 sign = (C64)((S64)a < (S64)splat64(0));
    return srlv64(a ^ sign, n) ^ sign;
}
SASSEMU_INLINE C64 mul_lo64(C64 a, C64 b) {
    const C64 cross = mul_even_u(a >> 32, b) + mul_even_u(a, b >> 32);
    return mul_even_u(a, b) + (cross << 32);
}
// Below 2^24 the exponent of the converted float is the position of the top bit; two halves.
SASSEMU_INLINE C32 clz(C32 a) {
    const C32 high = a >> 16;
    const M big = test(high, high);
    const C32 part = blend(big, high, a);
    const C32 exponent = (C32)_mm256_cvtepi32_ps(SASSEMU_I(part)) >> 23;
    const C32 top = blend(big, splat(142), splat(158)) - exponent;
    return k::blend((M)(a == splat(0)), splat(32), top);
}
template <uint8_t Lut>
SASSEMU_INLINE C32 ternary(C32 a, C32 b, C32 c) {
    C32 r = splat(0);
    if constexpr (Lut & 0x01) r |= ~a & ~b & ~c;
    if constexpr (Lut & 0x02) r |= ~a & ~b & c;
    if constexpr (Lut & 0x04) r |= ~a & b & ~c;
    if constexpr (Lut & 0x08) r |= ~a & b & c;
    if constexpr (Lut & 0x10) r |= a & ~b & ~c;
    if constexpr (Lut & 0x20) r |= a & ~b & c;
    if constexpr (Lut & 0x40) r |= a & b & ~c;
    if constexpr (Lut & 0x80) r |= a & b & c;
    return r;
}

}  // namespace k
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu

#include "emu/lanes/v3/chunk_float.hpp"
