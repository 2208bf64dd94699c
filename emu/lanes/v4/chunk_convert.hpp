// SPDX-License-Identifier: Apache-2.0
// Conversions of the AVX-512 chunk. chunk.hpp has the rest.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace k {

// ---- 32-bit integers. cvtt gives 0x80000000 (signed) or 0xffffffff (unsigned) out of range.
SASSEMU_INLINE C32 cvtt_s32(CF a) { return (C32)_mm512_cvttps_epi32(SASSEMU_F(a)); }
SASSEMU_INLINE C32 cvtt_u32(CF a) { return (C32)_mm512_cvttps_epu32(SASSEMU_F(a)); }
template <Rounding R>
SASSEMU_INLINE C32 from_s32(C32 a) {
    return (C32)_mm512_cvt_roundepi32_ps(SASSEMU_I(a), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE C32 from_u32(C32 a) {
    return (C32)_mm512_cvt_roundepu32_ps(SASSEMU_I(a), kRc<R>);
}

// ---- f64 and 64-bit integers; an f32 sits in the low word of its 64-bit lane.
SASSEMU_INLINE C64 widen(__m256 a) { return (C64)_mm512_cvtepu32_epi64(_mm256_castps_si256(a)); }
SASSEMU_INLINE __m256 narrow(C64 a) {
    return _mm256_castsi256_ps(_mm512_cvtepi64_epi32(SASSEMU_I(a)));
}
template <Rounding R>
SASSEMU_INLINE C64 f64_to_f32(CD a) {
    return widen(_mm512_cvt_roundpd_ps(SASSEMU_D(a), kRc<R>));
}
SASSEMU_INLINE CD f32_to_f64(C64 a) { return (CD)_mm512_cvtps_pd(narrow(a)); }
SASSEMU_INLINE C64 cvtt_f64_s64(CD a) { return (C64)_mm512_cvttpd_epi64(SASSEMU_D(a)); }
SASSEMU_INLINE C64 cvtt_f64_u64(CD a) { return (C64)_mm512_cvttpd_epu64(SASSEMU_D(a)); }
template <Rounding R>
SASSEMU_INLINE C64 s64_to_f64(C64 a) {
    return (C64)_mm512_cvt_roundepi64_pd(SASSEMU_I(a), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE C64 u64_to_f64(C64 a) {
    return (C64)_mm512_cvt_roundepu64_pd(SASSEMU_I(a), kRc<R>);
}
template <Rounding R>
SASSEMU_INLINE C64 s64_to_f32(C64 a) {
    return widen(_mm512_cvt_roundepi64_ps(SASSEMU_I(a), kRc<R>));
}
template <Rounding R>
SASSEMU_INLINE C64 u64_to_f32(C64 a) {
    return widen(_mm512_cvt_roundepu64_ps(SASSEMU_I(a), kRc<R>));
}

// ---- f16. One per 32-bit lane, in the low half ...
template <Rounding R>
SASSEMU_INLINE C32 f32_to_f16(CF a) {
    return (C32)_mm512_cvtepu16_epi32(_mm512_cvtps_ph(SASSEMU_F(a), kRc<R>));
}
SASSEMU_INLINE CF f16_to_f32(C32 a) {
    return (CF)_mm512_cvtph_ps(_mm512_cvtepi32_epi16(SASSEMU_I(a)));
}
// ... or packed: the first and the second half of a chunk's f16 values in memory order.
SASSEMU_INLINE CF f16_first(C32 a) {
    return (CF)_mm512_cvtph_ps(_mm512_castsi512_si256(SASSEMU_I(a)));
}
SASSEMU_INLINE CF f16_second(C32 a) {
    return (CF)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(SASSEMU_I(a), 1));
}
SASSEMU_INLINE C32 join_f16(CF first, CF second) {
    const __m256i a = _mm512_cvtps_ph(SASSEMU_F(first), kRc<Rounding::rn>);
    const __m256i b = _mm512_cvtps_ph(SASSEMU_F(second), kRc<Rounding::rn>);
    return (C32)_mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}
// Halves whose exponent is zero keep only their sign.
SASSEMU_INLINE C32 ftz_f16x2(C32 a) {
    const __mmask32 normal = _mm512_test_epi16_mask(SASSEMU_I(a), _mm512_set1_epi16(0x7c00));
    const __m512i sign = _mm512_and_si512(SASSEMU_I(a), _mm512_set1_epi16((short)0x8000));
    return (C32)_mm512_mask_mov_epi16(sign, normal, SASSEMU_I(a));
}

// ---- For matrices: the first and second half of a chunk's numbers widened, in memory order; eight
// rows of both halves.
SASSEMU_INLINE CD f64_of_first(C32 a) {
    return (CD)_mm512_cvtepi32_pd(_mm512_castsi512_si256(SASSEMU_I(a)));
}
SASSEMU_INLINE CD f64_of_second(C32 a) {
    return (CD)_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(SASSEMU_I(a), 1));
}
SASSEMU_INLINE C64 widen_first(C32 a) {
    return (C64)_mm512_cvtepu32_epi64(_mm512_castsi512_si256(SASSEMU_I(a)));
}
SASSEMU_INLINE C64 widen_second(C32 a) {
    return (C64)_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(SASSEMU_I(a), 1));
}
SASSEMU_INLINE C32 load_halves(const uint32_t* const half[2], int) {
    const __m256i first = _mm256_load_si256((const __m256i*)half[0]);
    const __m256i second = _mm256_load_si256((const __m256i*)half[1]);
    return (C32)_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}
SASSEMU_INLINE void store_halves(uint32_t* const half[2], int, C32 v) {
    _mm256_store_si256((__m256i*)half[0], _mm512_castsi512_si256(SASSEMU_I(v)));
    _mm256_store_si256((__m256i*)half[1], _mm512_extracti64x4_epi64(SASSEMU_I(v), 1));
}
SASSEMU_INLINE CD f64_of_first(CF a) {
    return (CD)_mm512_cvtps_pd(_mm512_castps512_ps256(SASSEMU_F(a)));
}
SASSEMU_INLINE CD f64_of_second(CF a) {
    return (CD)_mm512_cvtps_pd(_mm512_extractf32x8_ps(SASSEMU_F(a), 1));
}
// c + a * b towards zero.
SASSEMU_INLINE CD fma_cut(const void* a, CD b, CD c) {
    return dfma<Rounding::rz>((CD)load(a), b, c);
}
SASSEMU_INLINE CF fma_cut(const void* a, CF b, CF c) {
    return ffma<Rounding::rz>((CF)load(a), b, c);
}
// Stores eight numbers, no NaN: as f32, and as f16 in the low halves of words.
SASSEMU_INLINE void narrow_f32(uint32_t* p, CD a) {
    _mm256_store_ps((float*)p, _mm512_cvtpd_ps(SASSEMU_D(a)));
}
// The same cut towards zero, which is +0; below 2^128.
SASSEMU_INLINE void cut_f32(uint32_t* p, CD a) {
    const __m256 r = _mm512_cvt_roundpd_ps(SASSEMU_D(a), kRc<Rounding::rz>);
    _mm256_store_ps((float*)p, _mm256_add_ps(r, _mm256_setzero_ps()));
}
SASSEMU_INLINE void narrow_f16(uint32_t* p, CD a) {
    const __m128i h = _mm256_cvtps_ph(_mm512_cvtpd_ps(SASSEMU_D(a)), _MM_FROUND_TO_NEAREST_INT);
    _mm256_store_si256((__m256i*)p, _mm256_cvtepu16_epi32(h));
}

}  // namespace k
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
