// SPDX-License-Identifier: Apache-2.0
// fp32 operations in every mode that an instruction may ask for, as FADD, FMUL, FFMA and FMNMX and
// their namesakes on the uniform datapath compute them. No instruction is here.
#pragma once

#include "emu/isa/float_modes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// op->k[0]: rounding in bits 1..0, then flush, fmz and saturate. op->k[1]: scale of FMUL.
inline constexpr unsigned mode_ftz = 4, mode_fmz = 8, mode_sat = 16;

SASSEMU_INLINE V32 finish(V32 r, unsigned mode) { return mode & mode_sat ? L::fsat(r) : r; }

struct AddAnyMode {
    static SASSEMU_RARE V32 apply(V32 a, V32 b, const Op& op) {
        const unsigned mode = op.k[0];
        const V32 r = with_rounding(mode, [&]<Rounding R>() {
            return mode & mode_ftz ? L::fadd<R, true>(a, b) : L::fadd<R, false>(a, b);
        });
        return finish(r, mode);
    }
};

// .FMZ: a product with a zero factor (after flushing) is +0, whatever the other factor is. It is
// the multiplication of old shader models; Mesa calls it fmulz.
SASSEMU_INLINE Mask zero_factor(V32 a, V32 b) {
    const V32 magnitude = L::splat(0x7f800000u);
    return ~(L::nonzero(L::and_(a, magnitude)) & L::nonzero(L::and_(b, magnitude)));
}

// a * b * 2^scale, rounded once: exact in f64 (48 bits, exponents far inside its range).
template <Rounding R, bool Ftz>
SASSEMU_INLINE V32 scaled_product(V32 a, V32 b, uint64_t scale) {
    if constexpr (Ftz) {
        a = L::ftz(a);
        b = L::ftz(b);
    }
    const V64 product = L::dmul<Rounding::rn>(L::f32_to_f64(a), L::f32_to_f64(b));
    const V64 scaled = L::dmul<Rounding::rn>(product, L::splat64(scale));
    V32 r = L::f64_to_f32<R>(scaled);
    r = L::select(L::fisnan(r), L::splat(L::kF32Nan), r);
    if constexpr (!Ftz) return r;
    // What rounds to less than 2^-126 with all 24 bits is flushed (measured on an H200); 2^64 times
    // the product has them all.
    const V32 enlarged =
        L::f64_to_f32<R>(L::dmul<Rounding::rn>(scaled, L::splat64(uint64_t{1087} << 52)));
    const Mask tiny = L::cmp_lt_u(L::fabs(enlarged), L::splat((127u - 126 + 64) << 23));
    return L::select(tiny, L::and_(enlarged, L::splat(0x80000000u)), r);
}

struct MulAnyMode {
    static SASSEMU_RARE V32 apply(V32 a, V32 b, const Op& op) {
        const unsigned mode = op.k[0], scale = op.k[1];
        V32 r = with_rounding(mode, [&]<Rounding R>() {
            if (scale != static_cast<unsigned>(typed::FScale::M1)) {
                const uint64_t factor = (uint64_t{1023} + scale - 4) << 52;
                return mode & mode_ftz ? scaled_product<R, true>(a, b, factor)
                                       : scaled_product<R, false>(a, b, factor);
            }
            return mode & mode_ftz ? L::fmul<R, true>(a, b) : L::fmul<R, false>(a, b);
        });
        if (mode & mode_fmz) r = L::select(zero_factor(a, b), L::splat(0), r);
        return finish(r, mode);
    }
};

struct FmaAnyMode {
    static SASSEMU_RARE V32 apply(V32 a, V32 b, V32 c, const Op& op) {
        const unsigned mode = op.k[0];
        if (mode & mode_fmz) {
            const Mask zero = zero_factor(a, b);
            a = L::select(zero, L::splat(0), a);
            b = L::select(zero, L::splat(0), b);
        }
        const V32 r = with_rounding(mode, [&]<Rounding R>() {
            return mode & mode_ftz ? L::ffma<R, true>(a, b, c) : L::ffma<R, false>(a, b, c);
        });
        return finish(r, mode);
    }
};

inline unsigned mode_of(typed::Rounding r, bool ftz, bool fmz, bool sat) {
    return static_cast<unsigned>(r) | (ftz || fmz ? mode_ftz : 0) | (fmz ? mode_fmz : 0) |
           (sat ? mode_sat : 0);
}
inline void check_flush_mode(Lower& x, typed::Fmz f) {
    if (static_cast<unsigned>(f) > 2) x.reject("an invalid flush mode");
}
inline bool flushes(typed::Fmz f) { return f == typed::Fmz::FTZ; }
inline bool zeroes(typed::Fmz f) { return f == typed::Fmz::FMZ; }

// Minimum where the predicate holds, maximum elsewhere. op.k[0]: 1 flush, 2 NaN wins, 4 .XORSIGN.
// As measured on an H200: .IS_A compares the result with the modified a before .FTZ, so a flushed a
// or one that gets another sign is not it, and holds where a is the NaN that wins; .XORSIGN
// compares the modified operands and replaces the result's sign by the xor of the registers' signs.
inline constexpr unsigned minmax_ftz = 1, minmax_nan = 2, minmax_xorsign = 4;
struct MinMaxResult {
    V32 value;
    Mask is_a;
};
SASSEMU_INLINE V32 min_max(V32 a, V32 b, Mask min, unsigned mode) {
    if (mode & minmax_ftz) {
        a = L::ftz(a);
        b = L::ftz(b);
    }
    return mode & minmax_nan ? L::select(min, L::fmin_nan(a, b), L::fmax_nan(a, b))
                             : L::select(min, L::fmin(a, b), L::fmax(a, b));
}
// `a`, `b` as in the registers; op.m[0], op.m[1] their modifiers.
SASSEMU_INLINE MinMaxResult min_max(V32 a, V32 b, Mask min, const Op& op) {
    const unsigned mode = op.k[0];
    const V32 sign = L::and_(L::xor_(a, b), L::splat(0x80000000u));
    a = apply_modifier(a, op.m[0]);
    b = apply_modifier(b, op.m[1]);
    V32 r = min_max(a, b, min, mode);
    const Mask chosen = L::cmp_eq(r, a);
    if (mode & minmax_xorsign)  // a NaN stays canonical
        r = L::select(L::fisnan(r), r, L::or_(L::fabs(r), sign));
    return {r, (chosen & L::cmp_eq(r, a)) | (L::fisnan(r) & L::fisnan(a))};
}
template <class T>
uint8_t minmax_mode(const T& i) {
    return static_cast<uint8_t>((i.ftz ? minmax_ftz : 0) | (i.nan ? minmax_nan : 0) |
                                (i.xorsign ? minmax_xorsign : 0));
}

}  // namespace
}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
