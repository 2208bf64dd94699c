// SPDX-License-Identifier: Apache-2.0
// f16x2 and bf16x2 of the vector levels, computed in f32.
//   f16 sums: 24 >= 2 * 11 + 2 bits, so rounding to f32 first is harmless; f16 products are exact.
//   bf16 sums and products: likewise (16-bit products; below 2^-126 every product that is near a
//   rounding boundary of bf16 still fits f32's subnormals).
//   fma: the f32 fma rounded to odd, then rounded to nearest: one rounding in effect, since f32
//   has at least two more bits than f16 and bf16 everywhere (Boldo and Melquiond, IEEE TC 57(4)).
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

namespace k {
template <Post P>
SASSEMU_INLINE CF post(CF r) {
    if constexpr (P == Post::sat) {
        return fmin_x86(fmax_x86(r, (CF)splat(0)), (CF)splat(0x3f800000u));
    } else {
        const C32 x = canonical_nan(r);  // positive
        if constexpr (P == Post::relu) return (CF)blend(sign(x), splat(0), x);
        return (CF)x;
    }
}
// Exact sums can give -0 rounding down and +0 rounding up; +0 is what is wanted, and -0 is even.
SASSEMU_INLINE CF pick_odd(CF down, CF up) {
    return (CF)blend(test((C32)down, splat(1)), (C32)down, (C32)up);
}
// bf16 values of the low and high halves as f32; and back.
SASSEMU_INLINE CF bf16_low(C32 a) { return (CF)(a << 16); }
SASSEMU_INLINE CF bf16_high(C32 a) { return (CF)(a & 0xffff0000u); }
SASSEMU_INLINE C32 join_bf16(CF low, CF high) {
    return f32_to_bf16<Rounding::rn>(low) | (f32_to_bf16<Rounding::rn>(high) << 16);
}
struct F16Halves {
    static constexpr bool kExactProducts = true;  // 22 bits, and far from f32's ends
    static SASSEMU_INLINE CF first(C32 a) { return f16_first(a); }
    static SASSEMU_INLINE CF second(C32 a) { return f16_second(a); }
    static SASSEMU_INLINE C32 join(CF first, CF second) { return join_f16(first, second); }
};
struct Bf16Halves {
    static constexpr bool kExactProducts = false;
    static SASSEMU_INLINE CF first(C32 a) { return bf16_low(a); }
    static SASSEMU_INLINE CF second(C32 a) { return bf16_high(a); }
    static SASSEMU_INLINE C32 join(CF first, CF second) { return join_bf16(first, second); }
};
template <class H, Post P>
SASSEMU_INLINE V32 add2(V32 a, V32 b) {
    V32 r;
    SASSEMU_EACH(r.c[i] =
                     H::join(post<P>(fadd<Rounding::rn>(H::first(a.c[i]), H::first(b.c[i]))),
                             post<P>(fadd<Rounding::rn>(H::second(a.c[i]), H::second(b.c[i])))););
    return r;
}
template <class H, Post P>
SASSEMU_INLINE V32 mul2(V32 a, V32 b) {
    V32 r;
    SASSEMU_EACH(r.c[i] =
                     H::join(post<P>(fmul<Rounding::rn>(H::first(a.c[i]), H::first(b.c[i]))),
                             post<P>(fmul<Rounding::rn>(H::second(a.c[i]), H::second(b.c[i])))););
    return r;
}
#if SASSEMU_LANES_LEVEL == 3
// The same for exact products (f16), without MXCSR, whose changes cost up to 30 ns on some cores:
// the sum without its addend and without its product are rounded, but what either misses has the
// error's sign or is zero, and the one without the larger is exact (Dekker, Numer. Math. 18(3)).
// Where there is an error an even sum moves by one towards it. Infinite sums have a negative NaN
// for an error: they become the largest number, which is infinite as f16.
SASSEMU_INLINE CF fma_odd(CF a, CF b, CF c) {
    constexpr auto rn = Rounding::rn;
    const CF s = ffma<rn>(a, b, c), addend = fsub<rn>(s, c);
    const CF product = (CF)_mm256_fnmadd_ps(SASSEMU_F(a), SASSEMU_F(b), SASSEMU_F(s));
    const CF error = fadd<rn>(fsub<rn>(c, product),
                              (CF)_mm256_fmsub_ps(SASSEMU_F(a), SASSEMU_F(b), SASSEMU_F(addend)));
    const CF outward = ffma<rn>(error, s, (CF)splat(0));  // above 0: away from zero; never -0
    const __m256i even = _mm256_andnot_si256(SASSEMU_I(s), SASSEMU_I(splat(1)));
    return (CF)((C32)s + (C32)_mm256_sign_epi32(even, SASSEMU_I(outward)));
}
template <Post P>
SASSEMU_INLINE V32 fma2_exact(V32 a, V32 b, V32 c) {
    V32 r;
    SASSEMU_EACH(
        CF first = fma_odd(f16_first(a.c[i]), f16_first(b.c[i]), f16_first(c.c[i]));
        CF second = fma_odd(f16_second(a.c[i]), f16_second(b.c[i]), f16_second(c.c[i]));
        if constexpr (P == Post::none) {
            r.c[i] = canonical_nan_f16x2(join_f16(first, second));
        } else { r.c[i] = join_f16(post<P>(first), post<P>(second)); });
    return r;
}
// Where the bytes of four lanes with the low (high) half of each in both come from.
alignas(16) inline constexpr uint8_t kHalfPick[2][16] = {
    {0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13},
    {2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15}};
// A row in memory whose halves `pick` chooses: `row` itself, or written to `picked`.
SASSEMU_INLINE const uint32_t* pick_halves(const uint32_t* row, HalfPick pick, uint32_t* picked) {
    if (pick == HalfPick::both) return row;
    const C32 from = table16(_mm_load_si128((const __m128i*)kHalfPick[pick == HalfPick::high]));
    SASSEMU_EACH(store(picked + 8 * i, shuffle8(load(row + 8 * i), from)););
    return picked;
}
// Four lanes of a row in memory, widened as they are loaded: that spares extractions.
SASSEMU_INLINE CF widen_halves(const uint32_t* row) {
    return (CF)_mm256_cvtph_ps(_mm_load_si128((const __m128i*)row));
}
SASSEMU_INLINE V32 fma2_rows(const uint32_t* a, const uint32_t* b, const uint32_t* c) {
    V32 r;
    SASSEMU_EACH(
        constexpr int first = 8 * i; constexpr int second = 8 * i + 4;
        r.c[i] = canonical_nan_f16x2(join_f16(
            fma_odd(widen_halves(a + first), widen_halves(b + first), widen_halves(c + first)),
            fma_odd(widen_halves(a + second), widen_halves(b + second),
                    widen_halves(c + second)))););
    return r;
}
#endif
template <class H, Post P>
SASSEMU_INLINE V32 fma2(V32 a, V32 b, V32 c) {
#if SASSEMU_LANES_LEVEL == 3
    if constexpr (H::kExactProducts) return fma2_exact<P>(a, b, c);
#endif
    V32 down0, down1, up0, up1, r;
    {
        RoundScope<Rounding::rm> scope;
        SASSEMU_EACH(down0.c[i] = (C32)ffma<Rounding::rm>(H::first(a.c[i]), H::first(b.c[i]),
                                                          H::first(c.c[i]));
                     down1.c[i] = (C32)ffma<Rounding::rm>(H::second(a.c[i]), H::second(b.c[i]),
                                                          H::second(c.c[i])););
    }
    {
        RoundScope<Rounding::rp> scope;
        SASSEMU_EACH(up0.c[i] = (C32)ffma<Rounding::rp>(H::first(a.c[i]), H::first(b.c[i]),
                                                        H::first(c.c[i]));
                     up1.c[i] = (C32)ffma<Rounding::rp>(H::second(a.c[i]), H::second(b.c[i]),
                                                        H::second(c.c[i])););
    }
    SASSEMU_EACH(r.c[i] = H::join(post<P>(pick_odd((CF)down0.c[i], (CF)up0.c[i])),
                                  post<P>(pick_odd((CF)down1.c[i], (CF)up1.c[i]))););
    return r;
}
template <class H, bool Max, bool NanWins>
SASSEMU_INLINE V32 minmax2(V32 a, V32 b) {
    V32 r;
    SASSEMU_EACH(r.c[i] = H::join(
                     (CF)minmax<Max, NanWins>((C32)H::first(a.c[i]), (C32)H::first(b.c[i])),
                     (CF)minmax<Max, NanWins>((C32)H::second(a.c[i]), (C32)H::second(b.c[i]))););
    return r;
}
}  // namespace k

SASSEMU_LANE_OP1(ftz_f16x2, k::ftz_f16x2(x))

// As for f32: a policy that looks past the rounded result is settled lane by lane where a half is
// exactly the smallest normal.
template <FloatOp Op, Post P>
SASSEMU_INLINE V32 ftz_result16(V32 r, V32 a, V32 b, V32 c) {
    V32 out = ftz_f16x2(r);
    if constexpr (lanes::kFtzPolicy != FtzPolicy::rounded_result) {
        const V32 magnitude = and_(r, splat(0x7fff7fffu));
        const Mask edge = cmp_eq(and_(magnitude, splat(0xffffu)), splat(0x0400u)) |
                          cmp_eq(shr(magnitude, splat(16)), splat(0x0400u));
        if (__builtin_expect(edge != 0, 0)) {
            alignas(64) uint32_t x[kLanes], y[kLanes], z[kLanes], o[kLanes];
            store(x, a);
            store(y, b);
            store(z, c);
            store(o, out);
            for (int l = 0; l < kLanes; ++l) {
                if (!(edge >> l & 1)) continue;
                uint32_t half[2];
                for (int h = 0; h < 2; ++h) {
                    const uint32_t u = x[l] >> (16 * h), v = y[l] >> (16 * h);
                    if constexpr (Op == FloatOp::add)
                        half[h] = scalar::add16<soft::F16>(u, v, true, P);
                    if constexpr (Op == FloatOp::mul)
                        half[h] = scalar::mul16<soft::F16>(u, v, true, P);
                    if constexpr (Op == FloatOp::fma)
                        half[h] = scalar::fma16<soft::F16>(u, v, z[l] >> (16 * h), true, P);
                }
                o[l] = scalar::halves(half[0], half[1]);
            }
            out = load(o);
        }
    }
    return out;
}

template <bool Ftz, Post P>
SASSEMU_INLINE V32 hadd2(V32 a, V32 b) {
    if constexpr (Ftz) {
        a = ftz_f16x2(a);
        b = ftz_f16x2(b);
        return ftz_result16<FloatOp::add, P>(k::add2<k::F16Halves, P>(a, b), a, b, b);
    }
    return k::add2<k::F16Halves, P>(a, b);
}
template <bool Ftz, Post P>
SASSEMU_INLINE V32 hmul2(V32 a, V32 b) {
    if constexpr (Ftz) {
        a = ftz_f16x2(a);
        b = ftz_f16x2(b);
        return ftz_result16<FloatOp::mul, P>(k::mul2<k::F16Halves, P>(a, b), a, b, b);
    }
    return k::mul2<k::F16Halves, P>(a, b);
}
template <bool Ftz, Post P>
SASSEMU_INLINE V32 hfma2(V32 a, V32 b, V32 c) {
    if constexpr (Ftz) {
        a = ftz_f16x2(a);
        b = ftz_f16x2(b);
        c = ftz_f16x2(c);
        return ftz_result16<FloatOp::fma, P>(k::fma2<k::F16Halves, P>(a, b, c), a, b, c);
    }
    return k::fma2<k::F16Halves, P>(a, b, c);
}
#if SASSEMU_LANES_LEVEL == 3
SASSEMU_INLINE V32 hfma2_rows(const uint32_t* a, const uint32_t* b, const uint32_t* c,
                              HalfPicks pick) {
    alignas(32) uint32_t picked[3][kLanes];
    return k::fma2_rows(k::pick_halves(a, pick.a, picked[0]), k::pick_halves(b, pick.b, picked[1]),
                        k::pick_halves(c, pick.c, picked[2]));
}
#endif
template <Post P>
SASSEMU_INLINE V32 badd2(V32 a, V32 b) {
    return k::add2<k::Bf16Halves, P>(a, b);
}
template <Post P>
SASSEMU_INLINE V32 bmul2(V32 a, V32 b) {
    return k::mul2<k::Bf16Halves, P>(a, b);
}
template <Post P>
SASSEMU_INLINE V32 bfma2(V32 a, V32 b, V32 c) {
    return k::fma2<k::Bf16Halves, P>(a, b, c);
}
#define SASSEMU_MINMAX(name, H, is_max)                 \
    template <bool NanWins>                             \
    SASSEMU_INLINE V32 name(V32 a, V32 b) {             \
        return k::minmax2<k::H, is_max, NanWins>(a, b); \
    }
SASSEMU_MINMAX(hmin2, F16Halves, false)
SASSEMU_MINMAX(hmax2, F16Halves, true)
SASSEMU_MINMAX(bmin2, Bf16Halves, false)
SASSEMU_MINMAX(bmax2, Bf16Halves, true)
#undef SASSEMU_MINMAX

// Comparisons give one bit per half in memory order (f16) or per word (bf16).
namespace k {
template <Compare C>
SASSEMU_INLINE uint64_t compare_f16(V32 a, V32 b) {
    uint64_t r = 0;
    SASSEMU_EACH(const M first = fcmp<predicate<C>()>(f16_first(a.c[i]), f16_first(b.c[i]));
                 const M second = fcmp<predicate<C>()>(f16_second(a.c[i]), f16_second(b.c[i]));
                 r |= ((uint64_t)bits(first, 0) | (uint64_t)bits(second, 0) << kChunkLanes)
                      << (2 * i * kChunkLanes););
    return r;
}
}  // namespace k
SASSEMU_INLINE MaskPair hcmp2(V32 a, V32 b, Compare c) {
    const unsigned want = (unsigned)c;
    const uint64_t lt = k::compare_f16<Compare::lt>(a, b), eq = k::compare_f16<Compare::eq>(a, b);
    const uint64_t nan = k::compare_f16<Compare::nan>(a, b), gt = ~(lt | eq | nan);
    const uint64_t r =
        (want & 1 ? lt : 0) | (want & 2 ? eq : 0) | (want & 4 ? gt : 0) | (want & 8 ? nan : 0);
    return MaskPair{(Mask)_pext_u64(r, 0x5555555555555555ull),
                    (Mask)_pext_u64(r, 0xaaaaaaaaaaaaaaaaull)};
}
SASSEMU_INLINE MaskPair bcmp2(V32 a, V32 b, Compare c) {
    return MaskPair{fcmp(shl(a, splat(16)), shl(b, splat(16)), c),
                    fcmp(and_(a, splat(0xffff0000u)), and_(b, splat(0xffff0000u)), c)};
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
