// SPDX-License-Identifier: Apache-2.0
// Floats and conversions of the AVX2 chunk. chunk.hpp has the rest, and says how directed
// roundings work.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace k {

// MXCSR: all exceptions masked, the rounding mode in bits 13 and 14 (RN, RM, RP, RZ in order).
static constexpr uint32_t kMxcsr[4] = {0x1f80u, 0x3f80u, 0x5f80u, 0x7f80u};
template <Rounding R>
struct RoundScope {
    SASSEMU_INLINE RoundScope() {
        if constexpr (R != Rounding::rn) asm volatile("vldmxcsr %0" : : "m"(kMxcsr[(int)R]));
    }
    SASSEMU_INLINE ~RoundScope() {
        if constexpr (R != Rounding::rn) asm volatile("vldmxcsr %0" : : "m"(kMxcsr[0]));
    }
    RoundScope(const RoundScope&) = delete;
    RoundScope& operator=(const RoundScope&) = delete;
};

// Round-to-nearest sums and products are asm too, not volatile: GCC may evaluate a plain a + b as
// late as where its value is used, and that may be inside a RoundScope.
#define SASSEMU_ROUNDED2(name, T, instruction)                                  \
    template <Rounding R>                                                       \
    SASSEMU_INLINE T name(T a, T b) {                                           \
        T r;                                                                    \
        if constexpr (R == Rounding::rn) {                                      \
            asm(instruction " %2, %1, %0" : "=x"(r) : "x"(a), "xm"(b));         \
        } else {                                                                \
            asm volatile(instruction " %2, %1, %0" : "=x"(r) : "x"(a), "x"(b)); \
        }                                                                       \
        return r;                                                               \
    }
SASSEMU_ROUNDED2(fadd, CF, "vaddps")
SASSEMU_ROUNDED2(fsub, CF, "vsubps")
SASSEMU_ROUNDED2(fmul, CF, "vmulps")
SASSEMU_ROUNDED2(dadd, CD, "vaddpd")
SASSEMU_ROUNDED2(dmul, CD, "vmulpd")
#undef SASSEMU_ROUNDED2
template <Rounding R>
SASSEMU_INLINE CF ffma(CF a, CF b, CF c) {
    if constexpr (R == Rounding::rn) {
        return (CF)_mm256_fmadd_ps(SASSEMU_F(a), SASSEMU_F(b), SASSEMU_F(c));
    }
    asm volatile("vfmadd213ps %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
    return a;
}
template <Rounding R>
SASSEMU_INLINE CD dfma(CD a, CD b, CD c) {
    if constexpr (R == Rounding::rn) {
        return (CD)_mm256_fmadd_pd(SASSEMU_D(a), SASSEMU_D(b), SASSEMU_D(c));
    }
    asm volatile("vfmadd213pd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
    return a;
}
// The rounding of these is in the instruction, not in MXCSR.
template <Rounding R>
inline constexpr int kRoundImm = (R == Rounding::rn   ? _MM_FROUND_TO_NEAREST_INT
                                  : R == Rounding::rm ? _MM_FROUND_TO_NEG_INF
                                  : R == Rounding::rp ? _MM_FROUND_TO_POS_INF
                                                      : _MM_FROUND_TO_ZERO) |
                                 _MM_FROUND_NO_EXC;
template <Rounding R>
SASSEMU_INLINE CF frnd(CF a) {
    return (CF)_mm256_round_ps(SASSEMU_F(a), kRoundImm<R>);
}
template <Rounding R>
SASSEMU_INLINE CD drnd(CD a) {
    return (CD)_mm256_round_pd(SASSEMU_D(a), kRoundImm<R>);
}
SASSEMU_INLINE CF fmin_x86(CF a, CF b) { return (CF)_mm256_min_ps(SASSEMU_F(a), SASSEMU_F(b)); }
SASSEMU_INLINE CF fmax_x86(CF a, CF b) { return (CF)_mm256_max_ps(SASSEMU_F(a), SASSEMU_F(b)); }
SASSEMU_INLINE CD dmin_x86(CD a, CD b) { return (CD)_mm256_min_pd(SASSEMU_D(a), SASSEMU_D(b)); }
SASSEMU_INLINE CD dmax_x86(CD a, CD b) { return (CD)_mm256_max_pd(SASSEMU_D(a), SASSEMU_D(b)); }
template <int P>
SASSEMU_INLINE M fcmp(CF a, CF b) {
    return (M)_mm256_cmp_ps(SASSEMU_F(a), SASSEMU_F(b), P);
}
template <int P>
SASSEMU_INLINE M64 dcmp(CD a, CD b) {
    return (M64)_mm256_cmp_pd(SASSEMU_D(a), SASSEMU_D(b), P);
}

// ---- 32-bit integers. cvtt gives 0x80000000 (signed) or 0xffffffff (unsigned) out of range; the
// unsigned one takes integral values that are not negative.
SASSEMU_INLINE C32 cvtt_s32(CF a) { return (C32)_mm256_cvttps_epi32(SASSEMU_F(a)); }
SASSEMU_INLINE C32 cvtt_u32(CF a) {
    const CF two31 = (CF)splat(0x4f000000u), two32 = (CF)splat(0x4f800000u);
    const M high = fcmp<_CMP_GE_OQ>(a, two31);
    const C32 upper = cvtt_s32(a - two31) ^ 0x80000000u;
    return blend(high, upper, cvtt_s32(a)) | fcmp<_CMP_GE_OQ>(a, two32);
}
template <Rounding R>
SASSEMU_INLINE C32 from_s32(C32 a) {
    if constexpr (R == Rounding::rn) return (C32)_mm256_cvtepi32_ps(SASSEMU_I(a));
    C32 r;
    asm volatile("vcvtdq2ps %1, %0" : "=x"(r) : "x"(a));
    return r;
}

// ---- f64; an f32 sits in the low word of its 64-bit lane.
template <Rounding R>
SASSEMU_INLINE C64 f64_to_f32(CD a) {
    __m128 r;
    if constexpr (R == Rounding::rn) {
        r = _mm256_cvtpd_ps(SASSEMU_D(a));
    } else {
        asm volatile("vcvtpd2psy %1, %0" : "=x"(r) : "x"(a));
    }
    return (C64)_mm256_cvtepu32_epi64(_mm_castps_si128(r));
}
SASSEMU_INLINE CD f32_to_f64(C64 a) {
    const C32 even = {0, 2, 4, 6, 0, 2, 4, 6};
    const __m256i low = _mm256_permutevar8x32_epi32(SASSEMU_I(a), SASSEMU_I(even));
    return (CD)_mm256_cvtps_pd(_mm_castsi128_ps(_mm256_castsi256_si128(low)));
}
// Every u32 is exactly an f64 (2^52 + x - 2^52), which then rounds once.
template <Rounding R>
SASSEMU_INLINE C32 from_u32(C32 a) {
    const C64 two52 = splat64(0x4330000000000000ull);
    const C64 even = ((C64)a & 0xffffffffu) | two52, odd = ((C64)a >> 32) | two52;
    // Exact in any rounding mode, except that 0 is -0 when rounding down: the sign is removed.
    const CD even_d = dadd<R>((CD)even, (CD)(two52 ^ (1ull << 63)));
    const CD odd_d = dadd<R>((CD)odd, (CD)(two52 ^ (1ull << 63)));
    return low_words(f64_to_f32<R>(even_d), f64_to_f32<R>(odd_d)) & 0x7fffffffu;
}
// ---- 64-bit integers, one scalar instruction per lane, in the rounding mode of MXCSR. Values of
// 2^63 and more are halved, keeping a sticky bit below the last, and doubled again.
template <Rounding R, class T>
SASSEMU_INLINE T lane_from_s64(int64_t a) {
    __m128 zero = _mm_setzero_ps(), r;
    if constexpr (sizeof(T) == 4) {
        asm volatile("vcvtsi2ssq %1, %2, %0" : "=x"(r) : "r"(a), "x"(zero));
        return _mm_cvtss_f32(r);
    } else {
        asm volatile("vcvtsi2sdq %1, %2, %0" : "=x"(r) : "r"(a), "x"(zero));
        return _mm_cvtsd_f64(_mm_castps_pd(r));
    }
}
template <Rounding R, class T>
SASSEMU_INLINE T lane_from_u64(uint64_t a) {
    if ((int64_t)a >= 0) return lane_from_s64<R, T>((int64_t)a);
    return lane_from_s64<R, T>((int64_t)(a >> 1 | (a & 1))) * (T)2;
}
// a is integral and below 2^63 in magnitude, or the result does not count.
SASSEMU_INLINE uint64_t lane_to_s64(double a) { return (uint64_t)_mm_cvttsd_si64(_mm_set_sd(a)); }

// ---- f16. One per 32-bit lane, in the low half ...
template <Rounding R>
SASSEMU_INLINE C32 f32_to_f16(CF a) {
    return (C32)_mm256_cvtepu16_epi32(_mm256_cvtps_ph(SASSEMU_F(a), kRoundImm<R> & 3));
}
SASSEMU_INLINE CF f16_to_f32(C32 a) { return (CF)_mm256_cvtph_ps(narrow16(a)); }
// ... or packed: the first and the second half of a chunk's f16 values in memory order.
SASSEMU_INLINE CF f16_first(C32 a) {
    return (CF)_mm256_cvtph_ps(_mm256_castsi256_si128(SASSEMU_I(a)));
}
SASSEMU_INLINE CF f16_second(C32 a) {
    return (CF)_mm256_cvtph_ps(_mm256_extracti128_si256(SASSEMU_I(a), 1));
}
SASSEMU_INLINE C32 join_f16(CF first, CF second) {
    const __m128i a = _mm256_cvtps_ph(SASSEMU_F(first), 0);
    const __m128i b = _mm256_cvtps_ph(SASSEMU_F(second), 0);
    return (C32)_mm256_set_m128i(b, a);
}
// NaN halves become 0x7fff.
SASSEMU_INLINE C32 canonical_nan_f16x2(C32 a) {
    const __m256i quiet = _mm256_set1_epi16(0x7fff);
    const __m256i nan =
        _mm256_cmpgt_epi16(_mm256_and_si256(SASSEMU_I(a), quiet), _mm256_set1_epi16(0x7c00));
    return (C32)_mm256_blendv_epi8(SASSEMU_I(a), quiet, nan);
}
// Halves whose exponent is zero keep only their sign.
SASSEMU_INLINE C32 ftz_f16x2(C32 a) {
    const __m256i exponent = _mm256_and_si256(SASSEMU_I(a), _mm256_set1_epi16(0x7c00));
    const __m256i zero = _mm256_cmpeq_epi16(exponent, _mm256_setzero_si256());
    return a & ~((C32)zero & 0x7fff7fffu);
}

// ---- For matrices: the first and second half of a chunk's numbers widened, in memory order; eight
// rows of either half.
SASSEMU_INLINE CD f64_of_first(C32 a) {
    return (CD)_mm256_cvtepi32_pd(_mm256_castsi256_si128(SASSEMU_I(a)));
}
SASSEMU_INLINE CD f64_of_second(C32 a) {
    return (CD)_mm256_cvtepi32_pd(_mm256_extracti128_si256(SASSEMU_I(a), 1));
}
SASSEMU_INLINE C64 widen_first(C32 a) {
    return (C64)_mm256_cvtepu32_epi64(_mm256_castsi256_si128(SASSEMU_I(a)));
}
SASSEMU_INLINE C64 widen_second(C32 a) {
    return (C64)_mm256_cvtepu32_epi64(_mm256_extracti128_si256(SASSEMU_I(a), 1));
}
SASSEMU_INLINE C32 load_halves(const uint32_t* const half[2], int chunk) {
    return load(half[chunk]);
}
SASSEMU_INLINE void store_halves(uint32_t* const half[2], int chunk, C32 v) {
    store(half[chunk], v);
}
SASSEMU_INLINE CD f64_of_first(CF a) {
    return (CD)_mm256_cvtps_pd(_mm256_castps256_ps128(SASSEMU_F(a)));
}
SASSEMU_INLINE CD f64_of_second(CF a) {
    return (CD)_mm256_cvtps_pd(_mm256_extractf128_ps(SASSEMU_F(a), 1));
}
// c + a * b towards zero, in a RoundScope that says so.
SASSEMU_INLINE CD fma_cut(const void* a, CD b, CD c) {
    asm volatile("vfmadd231pd %2, %1, %0" : "+x"(c) : "x"(b), "m"(*(const CD*)a));
    return c;
}
SASSEMU_INLINE CF fma_cut(const void* a, CF b, CF c) {
    asm volatile("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(b), "m"(*(const CF*)a));
    return c;
}
// Stores four numbers, no NaN: as f32, and as f16 in the low halves of words.
SASSEMU_INLINE void narrow_f32(uint32_t* p, CD a) {
    _mm_store_ps((float*)p, _mm256_cvtpd_ps(SASSEMU_D(a)));
}
// The same cut towards zero, which is +0; below 2^128, in a RoundScope that says so.
SASSEMU_INLINE void cut_f32(uint32_t* p, CD a) {
    __m128 r;
    asm volatile("vcvtpd2psy %1, %0" : "=x"(r) : "x"(a));
    _mm_store_ps((float*)p, _mm_add_ps(r, _mm_setzero_ps()));
}
SASSEMU_INLINE void narrow_f16(uint32_t* p, CD a) {
    const __m128i h = _mm_cvtps_ph(_mm256_cvtpd_ps(SASSEMU_D(a)), _MM_FROUND_TO_NEAREST_INT);
    _mm_store_si128((__m128i*)p, _mm_cvtepu16_epi32(h));
}

}  // namespace k
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
