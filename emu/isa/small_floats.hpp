// SPDX-License-Identifier: Apache-2.0
// Floating-point formats of 16, 8, 6 and 4 bits, and scale factors, as F2FP makes them of f32 and
// back. No instruction is here.
#pragma once

#include "emu/isa/float_modes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// k[0]: .RELU 1, .SATFINITE 2, round towards zero 4, high half 8, bf16 16, e4m3 32, signed 64.
inline constexpr unsigned mode_relu = 1, mode_satfinite = 2, mode_rz = 4, mode_h1 = 8, mode_bf = 16,
                          mode_e4m3 = 32, mode_signed = 64, mode_ntz = 128;

// What a conversion made, under one half of c.
SASSEMU_INLINE V32 above(V32 low, V32 c, unsigned mode) {
    if (mode & mode_h1) c = L::hi16(c);
    return L::or_(low, L::shl(c, L::splat(16)));
}

// f32 to e4m3 or e5m2, round to nearest even. Subnormals are rounded by an f32 addition whose
// result has the quantum of the format; larger values by adding half a quantum to the bits.
SASSEMU_INLINE V32 encode8(V32 v, unsigned mode) {
    const bool e4m3 = mode & mode_e4m3;
    const unsigned fraction = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, cut = 23 - fraction;
    const uint32_t largest = e4m3 ? 0x7eu : 0x7bu, overflow = e4m3 ? 0x7fu : 0x7cu;
    const Mask nan = L::fisnan(v);
    const V32 sign = L::and_(L::shr(v, L::splat(24)), L::splat(0x80u));
    const V32 magnitude = L::fabs(v);
    const V32 odd = L::and_(L::shr(magnitude, L::splat(cut)), L::splat(1));
    const V32 half = L::splat((1u << (cut - 1)) - 1);
    const V32 rounded = L::shr(L::add3(magnitude, half, odd), L::splat(cut));
    const V32 normal = L::sub(rounded, L::splat((127 - bias) << fraction));
    const V32 magic = L::splat((127 + 23 + 1 - bias - fraction) << 23);
    const V32 small = L::sub(L::fadd<>(magnitude, magic), magic);
    const Mask is_small = L::cmp_lt_u(magnitude, L::splat((127 + 1 - bias) << 23));
    V32 r = L::select(is_small, small, normal);
    const Mask over = ~is_small & L::cmp_ge_u(normal, L::splat(overflow));
    r = L::select(over, L::splat(mode & mode_satfinite ? largest : overflow), r);
    r = L::or_(r, sign);
    if (mode & mode_relu) r = L::select(L::sign_mask(v), L::splat(0), r);
    // What overflows e4m3 without .SATFINITE is the one NaN, without sign (measured on an H200).
    const Mask not_a_number = e4m3 && !(mode & mode_satfinite) ? nan | over : nan;
    return L::select(not_a_number, L::splat(0x7fu), r);
}
// e4m3 or e5m2 in the low byte to f32, exactly.
SASSEMU_INLINE V32 decode8(V32 v, bool e4m3) {
    const V32 sign = L::shl(L::and_(v, L::splat(0x80u)), L::splat(24));
    const V32 magnitude = L::and_(v, L::splat(0x7fu));
    if (!e4m3) return L::or_(L::f16_to_f32(L::shl(magnitude, L::splat(8))), sign);
    // As an f16 the exponent is 8 too small.
    const V32 value =
        L::fmul<>(L::f16_to_f32(L::shl(magnitude, L::splat(7))), L::splat(0x43800000u));
    const V32 r = L::select(L::cmp_eq(magnitude, L::splat(0x7fu)), L::splat(L::kF32Nan), value);
    return L::or_(r, sign);
}

// Formats without infinities and NaN (OCP Microscaling Formats 1.0).
struct SmallFormat {
    unsigned bits, fraction, bias;
    uint32_t largest() const { return (1u << (bits - 1)) - 1; }
};
inline constexpr SmallFormat e2m1{4, 1, 1}, e2m3{6, 3, 1}, e3m2{6, 2, 3};

// To nearest even; what is too large becomes the largest, and so does a NaN, without its sign (PTX
// ISA, "cvt", .satfinite). Rounded as encode8() does it.
SASSEMU_INLINE V32 encode(V32 v, const SmallFormat& f, bool relu) {
    const unsigned cut = 23 - f.fraction;
    const V32 magnitude = L::fabs(v), largest = L::splat(f.largest());
    const V32 odd = L::and_(L::shr(magnitude, L::splat(cut)), L::splat(1));
    const V32 rounded =
        L::shr(L::add3(magnitude, L::splat((1u << (cut - 1)) - 1), odd), L::splat(cut));
    const V32 normal = L::sub(rounded, L::splat((127 - f.bias) << f.fraction));
    const V32 magic = L::splat((127 + 23 + 1 - f.bias - f.fraction) << 23);
    const V32 small = L::sub(L::fadd<>(magnitude, magic), magic);
    const Mask is_small = L::cmp_lt_u(magnitude, L::splat((127 + 1 - f.bias) << 23));
    V32 r = L::select(is_small, small, normal);
    r = L::select(~is_small & L::cmp_ge_u(normal, largest), largest, r);
    r = L::or_(r, L::shl(L::shr(v, L::splat(31)), L::splat(f.bits - 1)));
    if (relu) r = L::select(L::sign_mask(v), L::splat(0), r);
    return L::select(L::fisnan(v), largest, r);
}
// The lowest bits to f32, exactly: as an f16 the exponent is too small.
SASSEMU_INLINE V32 decode(V32 v, const SmallFormat& f) {
    const V32 magnitude = L::and_(v, L::splat(f.largest()));
    const V32 value = L::fmul<>(L::f16_to_f32(L::shl(magnitude, L::splat(10 - f.fraction))),
                                L::splat((127 + 15 - f.bias) << 23));
    const V32 sign = L::and_(L::shr(v, L::splat(f.bits - 1)), L::splat(1));
    return L::or_(value, L::shl(sign, L::splat(31)));
}

// ue8m0, a power of two: the exponent of the magnitude, or the next where `up` and something is
// left. 0 is 2^-127, 255 NaN.
SASSEMU_INLINE V32 encode_scale(V32 v, bool up, bool saturates) {
    const V32 magnitude = L::fabs(v);
    V32 r = L::shr(magnitude, L::splat(23));
    if (up) {
        const Mask left = L::nonzero(L::and_(magnitude, L::splat(0x7fffffu)));
        const Mask least = L::cmp_lt_u(magnitude, L::splat(0x400001u));  // at most 2^-127
        r = L::add(r, L::select(left & ~least, L::splat(1), L::splat(0)));
    }
    if (saturates) r = L::select(L::cmp_ge_u(r, L::splat(254)), L::splat(254), r);
    return L::select(L::fisnan(v), L::splat(255), r);
}
SASSEMU_INLINE V32 decode_scale(V32 v) {
    const V32 e = L::and_(v, L::splat(0xffu));
    const V32 normal = L::shl(e, L::splat(23));
    const V32 least = L::select(L::nonzero(e), normal, L::splat(0x00400000u));
    return L::select(L::cmp_eq(e, L::splat(255)), L::splat(L::kF32Nan), least);
}

// Infinite halves become the largest finite number.
SASSEMU_INLINE V32 finite_halves(V32 r, uint32_t infinity) {
    const Mask lo = L::cmp_eq(L::and_(r, L::splat(0x7fffu)), L::splat(infinity));
    const Mask hi = L::cmp_eq(L::and_(r, L::splat(0x7fff0000u)), L::splat(infinity << 16));
    return L::sub(r, L::or_(L::select(lo, L::splat(1), L::splat(0)),
                            L::select(hi, L::splat(0x10000u), L::splat(0))));
}
// a and b as a pair of f16 or bf16, a in the upper half.
SASSEMU_INLINE V32 pack_any_mode(V32 a, V32 b, unsigned mode) {
    V32 r;
    if (mode & mode_bf)
        r = mode & mode_rz ? L::f32x2_to_bf16x2<Rounding::rz>(b, a) : L::f32x2_to_bf16x2<>(b, a);
    else
        r = mode & mode_rz ? L::f32x2_to_f16x2<Rounding::rz>(b, a) : L::f32x2_to_f16x2<>(b, a);
    if (mode & mode_satfinite) r = finite_halves(r, mode & mode_bf ? 0x7f80u : 0x7c00u);
    if (mode & mode_relu)
        r = mode & mode_bf ? L::bmax2<true>(r, L::splat(0)) : L::hmax2<true>(r, L::splat(0));
    return r;
}
}  // namespace
}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
