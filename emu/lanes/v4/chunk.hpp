// SPDX-License-Identifier: Apache-2.0
// The AVX-512 chunk: 16 lanes in one zmm, and the operations that simd/ is written over.
// V32 is two chunks. V64 is four: chunk 2i has the even lanes of 32-bit chunk i and chunk 2i+1 the
// odd ones, so that splitting into and joining from rows of words is one in-lane shuffle each, and
// widening multiplies need none. What is the same for AVX2 belongs in simd/, not here.
// -march=x86-64-v4 is F, BW, CD, DQ and VL: no VPOPCNTDQ, VBMI or FP16.
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
    } while (0)

// A chunk whose 128-bit parts are an expression over `part`, the part's number.
#define SASSEMU_PART(n, ...)    \
    __extension__({             \
        constexpr int part = n; \
        __VA_ARGS__;            \
    })
#define SASSEMU_JOIN_PARTS(...)                                               \
    k::join_parts(SASSEMU_PART(0, __VA_ARGS__), SASSEMU_PART(1, __VA_ARGS__), \
                  SASSEMU_PART(2, __VA_ARGS__), SASSEMU_PART(3, __VA_ARGS__))

namespace sassemu {
namespace SASSEMU_LANES_NS {

using C32 = uint32_t __attribute__((vector_size(64)));
using S32 = int32_t __attribute__((vector_size(64)));
using C64 = uint64_t __attribute__((vector_size(64)));
using S64 = int64_t __attribute__((vector_size(64)));
using CF = float __attribute__((vector_size(64)));
using CD = double __attribute__((vector_size(64)));
using M = __mmask16;   // lanes of a C32
using M64 = __mmask8;  // lanes of a C64
inline constexpr int kChunkLanes = 16;
inline constexpr int kChunks = 2;

struct V32 {
    C32 c[kChunks];
};
struct V64 {
    C64 c[2 * kChunks];
};

namespace k {
#define SASSEMU_I(x) ((__m512i)(x))
#define SASSEMU_F(x) ((__m512)(x))
#define SASSEMU_D(x) ((__m512d)(x))

// ---- moves
SASSEMU_INLINE C32 splat(uint32_t x) { return (C32)_mm512_set1_epi32((int)x); }
SASSEMU_INLINE C64 splat64(uint64_t x) { return (C64)_mm512_set1_epi64((long long)x); }
SASSEMU_INLINE C32 load(const void* p) { return (C32)_mm512_load_si512(p); }
SASSEMU_INLINE C32 load_quad(const void* p) {
    return (C32)_mm512_broadcast_i32x4(_mm_load_si128((const __m128i*)p));
}
SASSEMU_INLINE void store_quad(void* p, C32 v) {
    _mm_store_si128((__m128i*)p, _mm512_castsi512_si128(SASSEMU_I(v)));
}
SASSEMU_INLINE C32 loadu(const void* p) { return (C32)_mm512_loadu_si512(p); }
SASSEMU_INLINE void store(void* p, C32 v) { _mm512_store_si512(p, SASSEMU_I(v)); }
SASSEMU_INLINE void storeu(void* p, C32 v) { _mm512_storeu_si512(p, SASSEMU_I(v)); }
SASSEMU_INLINE void store_masked(void* p, M m, C32 v) {
    _mm512_mask_storeu_epi32(p, m, SASSEMU_I(v));
}
SASSEMU_INLINE C32 load_masked(const void* p, M m) { return (C32)_mm512_maskz_loadu_epi32(m, p); }
SASSEMU_INLINE void store_masked64(void* p, M64 m, C64 v) {
    _mm512_mask_storeu_epi64(p, m, SASSEMU_I(v));
}
SASSEMU_INLINE C64 load_masked64(const void* p, M64 m) {
    return (C64)_mm512_maskz_loadu_epi64(m, p);
}
SASSEMU_INLINE C32 lane_ids(int chunk) {
    const C32 first = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return first + splat(16u * (unsigned)chunk);
}
// {hi:lo} of the even or odd lanes, and back.
SASSEMU_INLINE C64 even64(C32 lo, C32 hi) {
    return (C64)_mm512_mask_shuffle_epi32(SASSEMU_I(lo), 0xaaaa, SASSEMU_I(hi), _MM_PERM_CCAA);
}
SASSEMU_INLINE C64 odd64(C32 lo, C32 hi) {
    return (C64)_mm512_mask_shuffle_epi32(SASSEMU_I(hi), 0x5555, SASSEMU_I(lo), _MM_PERM_DDBB);
}
SASSEMU_INLINE C32 low_words(C64 even, C64 odd) {
    return (C32)_mm512_mask_shuffle_epi32(SASSEMU_I(even), 0xaaaa, SASSEMU_I(odd), _MM_PERM_CCAA);
}
SASSEMU_INLINE C32 high_words(C64 even, C64 odd) {
    return (C32)_mm512_mask_shuffle_epi32(SASSEMU_I(odd), 0x5555, SASSEMU_I(even), _MM_PERM_DDBB);
}
// Lane order <-> even and odd lanes, for 16 values in two vectors of 8.
SASSEMU_INLINE C64 evens(C64 first, C64 second) {
    const C64 index = {0, 2, 4, 6, 8, 10, 12, 14};
    return (C64)_mm512_permutex2var_epi64(SASSEMU_I(first), SASSEMU_I(index), SASSEMU_I(second));
}
SASSEMU_INLINE C64 odds(C64 first, C64 second) {
    const C64 index = {1, 3, 5, 7, 9, 11, 13, 15};
    return (C64)_mm512_permutex2var_epi64(SASSEMU_I(first), SASSEMU_I(index), SASSEMU_I(second));
}
SASSEMU_INLINE C64 first_half(C64 even, C64 odd) {
    const C64 index = {0, 8, 1, 9, 2, 10, 3, 11};
    return (C64)_mm512_permutex2var_epi64(SASSEMU_I(even), SASSEMU_I(index), SASSEMU_I(odd));
}
SASSEMU_INLINE C64 second_half(C64 even, C64 odd) {
    const C64 index = {4, 12, 5, 13, 6, 14, 7, 15};
    return (C64)_mm512_permutex2var_epi64(SASSEMU_I(even), SASSEMU_I(index), SASSEMU_I(odd));
}

// Lane index[l] mod 32 of the warp, for each lane l of a chunk.
SASSEMU_INLINE C32 pick(const V32& v, C32 index) {
    return (C32)_mm512_permutex2var_epi32(SASSEMU_I(v.c[0]), SASSEMU_I(index), SASSEMU_I(v.c[1]));
}

// Lanes rotated down by N, for folding a chunk onto lane 0.
template <int N>
SASSEMU_INLINE C32 rotate(C32 a) {
    return (C32)_mm512_alignr_epi32(SASSEMU_I(a), SASSEMU_I(a), N);
}
SASSEMU_INLINE uint32_t lane0(C32 a) {
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(SASSEMU_I(a)));
}
// 16 lanes of bytes or halves to and from 32 bits.
SASSEMU_INLINE C32 load_u8(const void* p) {
    return (C32)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p));
}
SASSEMU_INLINE C32 load_s8(const void* p) {
    return (C32)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p));
}
SASSEMU_INLINE C32 load_u16(const void* p) {
    return (C32)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p));
}
SASSEMU_INLINE C32 load_s16(const void* p) {
    return (C32)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i*)p));
}
SASSEMU_INLINE void store_8(void* p, C32 v) {
    _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(SASSEMU_I(v)));
}
SASSEMU_INLINE void store_16(void* p, C32 v) {
    _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16(SASSEMU_I(v)));
}
// The 128-bit parts of a chunk: four lanes of words, two of doublewords, or one of quads.
inline constexpr int kParts = 4;
SASSEMU_INLINE C32 join_parts(__m128i a, __m128i b, __m128i c, __m128i d) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
    return (C32)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
// 16 lanes of four words each, lane after lane (a has lanes 0 to 3), to one vector per word, and
// back.
SASSEMU_INLINE void from_quads(C32 (&q)[4]) {
    const C32 words01 = {0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29};
    const __m512i i01 = SASSEMU_I(words01), i23 = SASSEMU_I(words01 + 2u);
    const __m512i a = SASSEMU_I(q[0]), b = SASSEMU_I(q[1]);
    const __m512i c = SASSEMU_I(q[2]), d = SASSEMU_I(q[3]);
    const __m512i ab01 = _mm512_permutex2var_epi32(a, i01, b);
    const __m512i ab23 = _mm512_permutex2var_epi32(a, i23, b);
    const __m512i cd01 = _mm512_permutex2var_epi32(c, i01, d);
    const __m512i cd23 = _mm512_permutex2var_epi32(c, i23, d);
    q[0] = (C32)_mm512_shuffle_i64x2(ab01, cd01, 0x44);
    q[1] = (C32)_mm512_shuffle_i64x2(ab01, cd01, 0xee);
    q[2] = (C32)_mm512_shuffle_i64x2(ab23, cd23, 0x44);
    q[3] = (C32)_mm512_shuffle_i64x2(ab23, cd23, 0xee);
}
SASSEMU_INLINE void to_quads(C32 (&q)[4]) {
    const __m512i ab01 = _mm512_shuffle_i64x2(SASSEMU_I(q[0]), SASSEMU_I(q[1]), 0x44);
    const __m512i cd01 = _mm512_shuffle_i64x2(SASSEMU_I(q[0]), SASSEMU_I(q[1]), 0xee);
    const __m512i ab23 = _mm512_shuffle_i64x2(SASSEMU_I(q[2]), SASSEMU_I(q[3]), 0x44);
    const __m512i cd23 = _mm512_shuffle_i64x2(SASSEMU_I(q[2]), SASSEMU_I(q[3]), 0xee);
    const C32 first = {0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27};
    const __m512i lower = SASSEMU_I(first), upper = SASSEMU_I(first + 4u);
    q[0] = (C32)_mm512_permutex2var_epi32(ab01, lower, ab23);
    q[1] = (C32)_mm512_permutex2var_epi32(ab01, upper, ab23);
    q[2] = (C32)_mm512_permutex2var_epi32(cd01, lower, cd23);
    q[3] = (C32)_mm512_permutex2var_epi32(cd01, upper, cd23);
}

// ---- masks
SASSEMU_INLINE M mask(Mask m, int chunk) { return (M)(m >> (16 * chunk)); }
// GCC 12 may spill a mask as two bytes and read it back as four when it widens it to an integer
// itself (seen with -O1 -fsanitize=thread), hence the explicit moves.
SASSEMU_INLINE Mask bits(M m, int chunk) {
    uint32_t x;
    asm("kmovw %1, %0" : "=r"(x) : "k"(m));
    return x << (16 * chunk);
}
// Bit l of x is lane 2l (even lanes) or 2l+1 (odd) of the warp.
SASSEMU_INLINE M64 mask64(uint32_t x, int chunk) { return (M64)(x >> (8 * chunk)); }
SASSEMU_INLINE uint32_t bits64(M64 m, int chunk) {
    uint32_t x;
    asm("kmovb %1, %0" : "=r"(x) : "k"(m));
    return x << (8 * chunk);
}
SASSEMU_INLINE M both(M a, M b) { return _kand_mask16(a, b); }
SASSEMU_INLINE M64 both64(M64 a, M64 b) { return _kand_mask8(a, b); }
SASSEMU_INLINE C32 blend(M m, C32 t, C32 f) {
    return (C32)_mm512_mask_mov_epi32(SASSEMU_I(f), m, SASSEMU_I(t));
}
SASSEMU_INLINE C64 blend64(M64 m, C64 t, C64 f) {
    return (C64)_mm512_mask_mov_epi64(SASSEMU_I(f), m, SASSEMU_I(t));
}
SASSEMU_INLINE C32 blend8(C32 by_bit7, C32 t, C32 f) {  // per byte
    return (C32)_mm512_mask_mov_epi8(SASSEMU_I(f), _mm512_movepi8_mask(SASSEMU_I(by_bit7)),
                                     SASSEMU_I(t));
}

// ---- integers
#define SASSEMU_OP2(name, T, intrinsic) \
    SASSEMU_INLINE T name(T a, T b) { return (T)intrinsic(SASSEMU_I(a), SASSEMU_I(b)); }
#define SASSEMU_CMP(name, T, MT, intrinsic) \
    SASSEMU_INLINE MT name(T a, T b) { return intrinsic(SASSEMU_I(a), SASSEMU_I(b)); }
SASSEMU_OP2(sllv, C32, _mm512_sllv_epi32)
SASSEMU_OP2(srlv, C32, _mm512_srlv_epi32)
SASSEMU_OP2(srav, C32, _mm512_srav_epi32)
SASSEMU_OP2(sllv64, C64, _mm512_sllv_epi64)
SASSEMU_OP2(srlv64, C64, _mm512_srlv_epi64)
SASSEMU_OP2(srav64, C64, _mm512_srav_epi64)
SASSEMU_OP2(rolv, C32, _mm512_rolv_epi32)
SASSEMU_OP2(min_s, C32, _mm512_min_epi32)
SASSEMU_OP2(max_s, C32, _mm512_max_epi32)
SASSEMU_OP2(min_u, C32, _mm512_min_epu32)
SASSEMU_OP2(max_u, C32, _mm512_max_epu32)
SASSEMU_OP2(min_s64, C64, _mm512_min_epi64)
SASSEMU_OP2(max_s64, C64, _mm512_max_epi64)
SASSEMU_OP2(min_u64, C64, _mm512_min_epu64)
SASSEMU_OP2(max_u64, C64, _mm512_max_epu64)
SASSEMU_OP2(mul_even_u, C64, _mm512_mul_epu32)
SASSEMU_OP2(mul_even_s, C64, _mm512_mul_epi32)
SASSEMU_OP2(mul_lo64, C64, _mm512_mullo_epi64)
SASSEMU_OP2(add16, C32, _mm512_add_epi16)
SASSEMU_OP2(sub16, C32, _mm512_sub_epi16)
SASSEMU_OP2(min_s16, C32, _mm512_min_epi16)
SASSEMU_OP2(max_s16, C32, _mm512_max_epi16)
SASSEMU_OP2(min_u16, C32, _mm512_min_epu16)
SASSEMU_OP2(max_u16, C32, _mm512_max_epu16)
SASSEMU_OP2(max_u8, C32, _mm512_max_epu8)
SASSEMU_OP2(min_u8, C32, _mm512_min_epu8)
SASSEMU_OP2(sub8, C32, _mm512_sub_epi8)
SASSEMU_OP2(add8, C32, _mm512_add_epi8)
SASSEMU_OP2(shuffle8, C32, _mm512_shuffle_epi8)
SASSEMU_OP2(madd16, C32, _mm512_madd_epi16)
SASSEMU_OP2(maddubs, C32, _mm512_maddubs_epi16)
SASSEMU_CMP(eq, C32, M, _mm512_cmpeq_epi32_mask)
SASSEMU_CMP(ne, C32, M, _mm512_cmpneq_epi32_mask)
SASSEMU_CMP(lt_s, C32, M, _mm512_cmplt_epi32_mask)
SASSEMU_CMP(le_s, C32, M, _mm512_cmple_epi32_mask)
SASSEMU_CMP(lt_u, C32, M, _mm512_cmplt_epu32_mask)
SASSEMU_CMP(le_u, C32, M, _mm512_cmple_epu32_mask)
SASSEMU_CMP(eq64, C64, M64, _mm512_cmpeq_epi64_mask)
SASSEMU_CMP(lt_s64, C64, M64, _mm512_cmplt_epi64_mask)
SASSEMU_CMP(le_s64, C64, M64, _mm512_cmple_epi64_mask)
SASSEMU_CMP(lt_u64, C64, M64, _mm512_cmplt_epu64_mask)
SASSEMU_CMP(le_u64, C64, M64, _mm512_cmple_epu64_mask)
SASSEMU_CMP(test, C32, M, _mm512_test_epi32_mask)  // (a & b) != 0
SASSEMU_CMP(test64, C64, M64, _mm512_test_epi64_mask)
SASSEMU_INLINE M sign(C32 a) { return _mm512_movepi32_mask(SASSEMU_I(a)); }
SASSEMU_INLINE C32 abs(C32 a) { return (C32)_mm512_abs_epi32(SASSEMU_I(a)); }
SASSEMU_INLINE C32 clz(C32 a) { return (C32)_mm512_lzcnt_epi32(SASSEMU_I(a)); }
SASSEMU_INLINE C32 table16(__m128i t) { return (C32)_mm512_broadcast_i32x4(t); }
SASSEMU_INLINE C64 sra64_63(C64 a) { return (C64)_mm512_srai_epi64(SASSEMU_I(a), 63); }
template <uint8_t Lut>
SASSEMU_INLINE C32 ternary(C32 a, C32 b, C32 c) {
    return (C32)_mm512_ternarylogic_epi32(SASSEMU_I(a), SASSEMU_I(b), SASSEMU_I(c), Lut);
}

// ---- floats. Directed roundings are embedded in the instruction, so RoundScope does nothing.
template <Rounding R>
inline constexpr int kRc = (R == Rounding::rn   ? _MM_FROUND_TO_NEAREST_INT
                            : R == Rounding::rm ? _MM_FROUND_TO_NEG_INF
                            : R == Rounding::rp ? _MM_FROUND_TO_POS_INF
                                                : _MM_FROUND_TO_ZERO) |
                           _MM_FROUND_NO_EXC;
template <Rounding R>
struct RoundScope {
    SASSEMU_INLINE RoundScope() {}
};
template <Rounding R>
SASSEMU_INLINE CF fadd(CF a, CF b) {
    if constexpr (R == Rounding::rn) return a + b;
    return (CF)_mm512_add_round_ps(SASSEMU_F(a), SASSEMU_F(b), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE CF fmul(CF a, CF b) {
    if constexpr (R == Rounding::rn) return a * b;
    return (CF)_mm512_mul_round_ps(SASSEMU_F(a), SASSEMU_F(b), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE CF ffma(CF a, CF b, CF c) {
    if constexpr (R == Rounding::rn)
        return (CF)_mm512_fmadd_ps(SASSEMU_F(a), SASSEMU_F(b), SASSEMU_F(c));
    return (CF)_mm512_fmadd_round_ps(SASSEMU_F(a), SASSEMU_F(b), SASSEMU_F(c), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE CD dadd(CD a, CD b) {
    if constexpr (R == Rounding::rn) return a + b;
    return (CD)_mm512_add_round_pd(SASSEMU_D(a), SASSEMU_D(b), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE CD dmul(CD a, CD b) {
    if constexpr (R == Rounding::rn) return a * b;
    return (CD)_mm512_mul_round_pd(SASSEMU_D(a), SASSEMU_D(b), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE CD dfma(CD a, CD b, CD c) {
    if constexpr (R == Rounding::rn)
        return (CD)_mm512_fmadd_pd(SASSEMU_D(a), SASSEMU_D(b), SASSEMU_D(c));
    return (CD)_mm512_fmadd_round_pd(SASSEMU_D(a), SASSEMU_D(b), SASSEMU_D(c), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE CF frnd(CF a) {
    return (CF)_mm512_roundscale_ps(SASSEMU_F(a), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE CD drnd(CD a) {
    return (CD)_mm512_roundscale_pd(SASSEMU_D(a), kRc<R>);
}
SASSEMU_INLINE CF fmin_x86(CF a, CF b) { return (CF)_mm512_min_ps(SASSEMU_F(a), SASSEMU_F(b)); }
SASSEMU_INLINE CF fmax_x86(CF a, CF b) { return (CF)_mm512_max_ps(SASSEMU_F(a), SASSEMU_F(b)); }
SASSEMU_INLINE CD dmin_x86(CD a, CD b) { return (CD)_mm512_min_pd(SASSEMU_D(a), SASSEMU_D(b)); }
SASSEMU_INLINE CD dmax_x86(CD a, CD b) { return (CD)_mm512_max_pd(SASSEMU_D(a), SASSEMU_D(b)); }
// The hardware's comparison predicate (_CMP_..._Q/S) as a template argument.
template <int P>
SASSEMU_INLINE M fcmp(CF a, CF b) {
    return _mm512_cmp_ps_mask(SASSEMU_F(a), SASSEMU_F(b), P);
}
template <int P>
SASSEMU_INLINE M64 dcmp(CD a, CD b) {
    return _mm512_cmp_pd_mask(SASSEMU_D(a), SASSEMU_D(b), P);
}
#undef SASSEMU_OP2
#undef SASSEMU_CMP
}  // namespace k
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu

#include "emu/lanes/v4/chunk_convert.hpp"
#include "emu/lanes/v4/dot_bytes.hpp"
