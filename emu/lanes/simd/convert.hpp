// SPDX-License-Identifier: Apache-2.0
// Conversions of the vector levels.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

namespace k {
inline constexpr double kTwo31 = 2147483648.0, kTwo52 = 4503599627370496.0;
SASSEMU_INLINE CF splat_f(float x) { return (CF)splat(__builtin_bit_cast(uint32_t, x)); }
SASSEMU_INLINE CD splat_d(double x) { return (CD)splat64(__builtin_bit_cast(uint64_t, x)); }
// NaN of an f32 in the low word of a 64-bit lane.
SASSEMU_INLINE C64 canonical_nan_low(C64 a) {
    return blend64(lt_s64(splat64(0x7f800000u), a & 0x7fffffffu), splat64(kF32Nan), a);
}
template <int Bits, bool FromF64>
SASSEMU_INLINE constexpr uint64_t nan_integer() {
    return lanes::kNanToWideIntIsHighBit && (FromF64 || Bits == 64) ? 1ull << (Bits - 1) : 0;
}
}  // namespace k

// ---- f32 <-> 32-bit integers
template <Rounding R>
SASSEMU_INLINE V32 f32_to_s32(V32 a) {
    V32 r;
    SASSEMU_EACH(
        const CF x = k::frnd<R>((CF)a.c[i]); C32 n = k::cvtt_s32(x);
        n = k::blend(k::fcmp<_CMP_GE_OQ>(x, k::splat_f(2147483648.0f)), k::splat(0x7fffffffu), n);
        r.c[i] = k::blend(k::fcmp<_CMP_UNORD_Q>(x, x), k::splat(0), n););
    return r;
}
// The maximum with 0 also turns NaN into 0.
template <Rounding R>
SASSEMU_INLINE V32 f32_to_u32(V32 a) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::cvtt_u32(k::fmax_x86(k::frnd<R>((CF)a.c[i]), k::splat_f(0.0f))););
    return r;
}
template <Rounding R, int Bits, bool Signed>
SASSEMU_INLINE V32 f32_to_small(V32 a) {
    if constexpr (Signed) return sat_narrow<Bits, true, true>(f32_to_s32<R>(a));
    return sat_narrow<Bits, false, false>(f32_to_u32<R>(a));
}
template <Rounding R>
SASSEMU_INLINE V32 s32_to_f32(V32 a) {
    V32 r;
    k::RoundScope<R> scope;
    SASSEMU_EACH(r.c[i] = k::from_s32<R>(a.c[i]););
    return r;
}
template <Rounding R>
SASSEMU_INLINE V32 u32_to_f32(V32 a) {
    V32 r;
    k::RoundScope<R> scope;
    SASSEMU_EACH(r.c[i] = k::from_u32<R>(a.c[i]););
    return r;
}

// ---- f64 <-> 32-bit integers. Adding 1.5 * 2^52 to an integral f64 of at most 32 bits leaves it,
// as two's complement, in the low word; or-ing an integer into 2^52 is the way back.
namespace k {
template <Rounding R, bool Signed>
SASSEMU_INLINE C64 f64_to_int32(CD a) {
    CD x = drnd<R>(a);
    x = dmax_x86(x, splat_d(Signed ? -2147483648.0 : 0.0));
    x = dmin_x86(x, splat_d(Signed ? 2147483647.0 : 4294967295.0));
    const C64 n = (C64)(x + splat_d(1.5 * kTwo52));
    return blend64(dcmp<_CMP_UNORD_Q>(a, a), splat64(nan_integer<32, true>()), n);
}
}  // namespace k
template <Rounding R>
SASSEMU_INLINE V32 f64_to_s32(V64 a) {
    V64 r;
    SASSEMU_EACH64(r.c[j] = k::f64_to_int32<R, true>((CD)a.c[j]););
    return lo32(r);
}
template <Rounding R>
SASSEMU_INLINE V32 f64_to_u32(V64 a) {
    V64 r;
    SASSEMU_EACH64(r.c[j] = k::f64_to_int32<R, false>((CD)a.c[j]););
    return lo32(r);
}
namespace k {
SASSEMU_INLINE V64 biased_to_f64(V64 a, double bias) {
    V64 r;
    SASSEMU_EACH64(
        r.c[j] = (C64)dadd<Rounding::rn>((CD)(a.c[j] | 0x4330000000000000ull), splat_d(-bias)););
    return r;
}
}  // namespace k
SASSEMU_INLINE V64 s32_to_f64(V32 a) {
    return k::biased_to_f64(zext64(xor_(a, splat(0x80000000u))), k::kTwo52 + k::kTwo31);
}
SASSEMU_INLINE V64 u32_to_f64(V32 a) { return k::biased_to_f64(zext64(a), k::kTwo52); }

// ---- f32 <-> f64
SASSEMU_INLINE V64 f32_to_f64(V32 a) {
    const V64 x = zext64(a);
    V64 r;
    SASSEMU_EACH64(r.c[j] = (C64)k::f32_to_f64(x.c[j]););
    return r;
}
template <Rounding R>
SASSEMU_INLINE V32 f64_to_f32(V64 a) {
    V64 r;
    {
        k::RoundScope<R> scope;
        SASSEMU_EACH64(r.c[j] = k::f64_to_f32<R>((CD)a.c[j]););
    }
    return lo32(r);
}

// ---- 64-bit integers. AVX-512DQ converts them; AVX2 lane by lane.
namespace k {
#if SASSEMU_LANES_LEVEL == 3
SASSEMU_INLINE C64 cvtt_f64_s64(CD a) {
    return C64{lane_to_s64(a[0]), lane_to_s64(a[1]), lane_to_s64(a[2]), lane_to_s64(a[3])};
}
SASSEMU_INLINE C64 cvtt_f64_u64(CD a) {  // a is not negative
    const CD two63 = splat_d(9223372036854775808.0), two64 = two63 + two63;
    const M64 high = dcmp<_CMP_GE_OQ>(a, two63);
    const C64 upper = cvtt_f64_s64(a - two63) ^ (1ull << 63);
    return blend64(high, upper, cvtt_f64_s64(a)) | dcmp<_CMP_GE_OQ>(a, two64);
}
#define SASSEMU_FROM_INT64(name, T, lane, IntT, bits)                           \
    template <Rounding R>                                                       \
    SASSEMU_INLINE C64 name(C64 a) {                                            \
        return C64{bits(lane<R, T>((IntT)a[0])), bits(lane<R, T>((IntT)a[1])),  \
                   bits(lane<R, T>((IntT)a[2])), bits(lane<R, T>((IntT)a[3]))}; \
    }
SASSEMU_FROM_INT64(s64_to_f64, double, lane_from_s64, int64_t, scalar::bits_of)
SASSEMU_FROM_INT64(u64_to_f64, double, lane_from_u64, uint64_t, scalar::bits_of)
SASSEMU_FROM_INT64(s64_to_f32, float, lane_from_s64, int64_t, scalar::bits_of)
SASSEMU_FROM_INT64(u64_to_f32, float, lane_from_u64, uint64_t, scalar::bits_of)
#undef SASSEMU_FROM_INT64
#endif
}  // namespace k
template <Rounding R>
SASSEMU_INLINE V64 f64_to_s64(V64 a) {
    V64 r;
    SASSEMU_EACH64(const CD x = k::drnd<R>((CD)a.c[j]); C64 n = k::cvtt_f64_s64(x);
                   n = k::blend64(k::dcmp<_CMP_GE_OQ>(x, k::splat_d(9223372036854775808.0)),
                                  k::splat64(0x7fffffffffffffffull), n);
                   r.c[j] = k::blend64(k::dcmp<_CMP_UNORD_Q>(x, x),
                                       k::splat64(k::nan_integer<64, true>()), n););
    return r;
}
template <Rounding R>
SASSEMU_INLINE V64 f64_to_u64(V64 a) {
    V64 r;
    SASSEMU_EACH64(const CD x = k::drnd<R>((CD)a.c[j]);
                   const C64 n = k::cvtt_f64_u64(k::dmax_x86(x, k::splat_d(0.0)));
                   r.c[j] = k::blend64(k::dcmp<_CMP_UNORD_Q>(x, x),
                                       k::splat64(k::nan_integer<64, true>()), n););
    return r;
}
// An f32 is exactly an f64, and a NaN stays one.
template <Rounding R>
SASSEMU_INLINE V64 f32_to_s64(V32 a) {
    return f64_to_s64<R>(f32_to_f64(a));
}
template <Rounding R>
SASSEMU_INLINE V64 f32_to_u64(V32 a) {
    return f64_to_u64<R>(f32_to_f64(a));
}
#define SASSEMU_FROM_INT64(name, To, finish)              \
    template <Rounding R>                                 \
    SASSEMU_INLINE To name(V64 a) {                       \
        V64 r;                                            \
        {                                                 \
            k::RoundScope<R> scope;                       \
            SASSEMU_EACH64(r.c[j] = k::name<R>(a.c[j]);); \
        }                                                 \
        return finish(r);                                 \
    }
SASSEMU_FROM_INT64(s64_to_f64, V64, )
SASSEMU_FROM_INT64(u64_to_f64, V64, )
SASSEMU_FROM_INT64(s64_to_f32, V32, lo32)
SASSEMU_FROM_INT64(u64_to_f32, V32, lo32)
#undef SASSEMU_FROM_INT64

// ---- f16 and bf16
template <Rounding R>
SASSEMU_INLINE V32 f32_to_f16(V32 a) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::f32_to_f16<R>((CF)k::canonical_nan((CF)a.c[i])););
    return r;
}
SASSEMU_INLINE V32 f16_to_f32(V32 a) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::canonical_nan(k::f16_to_f32(a.c[i])););
    return r;
}
SASSEMU_INLINE V32 bf16_to_f32(V32 a) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::canonical_nan((CF)(a.c[i] << 16)););
    return r;
}
namespace k {
// The increment carries from the fraction into the exponent, and from the largest value to
// infinity, as it should.
template <Rounding R>
SASSEMU_INLINE C32 f32_to_bf16(CF a) {
    const C32 x = (C32)a;
    C32 n = x;
    if constexpr (R == Rounding::rn) n = x + 0x7fffu + ((x >> 16) & 1u);
    const C32 away = x + 0xffffu;
    if constexpr (R == Rounding::rp) n = blend(sign(x), x, away);
    if constexpr (R == Rounding::rm) n = blend(sign(x), away, x);
    return blend(fcmp<_CMP_UNORD_Q>(a, a), splat(kF16Nan), n >> 16);
}
}  // namespace k
template <Rounding R>
SASSEMU_INLINE V32 f32_to_bf16(V32 a) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::f32_to_bf16<R>((CF)a.c[i]););
    return r;
}
// Rounding to odd in f32 (of the two neighbours, the one with an odd last bit) keeps enough for
// the second rounding to be the only one (Boldo and Melquiond, IEEE TC 57(4), 2008).
template <Rounding R>
SASSEMU_INLINE V32 f64_to_f16(V64 a) {
    const V32 down = f64_to_f32<Rounding::rm>(a), up = f64_to_f32<Rounding::rp>(a);
    const V32 narrow = f32_to_f16<R>(select(nonzero(and_(down, splat(1))), down, up));
    // A NaN keeps sign and payload: the top of the f32 NaN that it became.
    const V32 nan = or_(and_(shr(down, splat(13)), splat(0x3ff)),
                        or_(splat(0x7e00), and_(shr(down, splat(16)), splat(0x8000))));
    return select(fisnan(down), nan, narrow);
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
