// SPDX-License-Identifier: Apache-2.0
// f32 and f64 of the scalar level.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

template <Rounding R, bool Ftz>
SASSEMU_INLINE V32 fadd(V32 a, V32 b) {
    SASSEMU_V32((scalar::fadd<R, Ftz>(a.l[i], b.l[i])));
}
template <Rounding R, bool Ftz>
SASSEMU_INLINE V32 fmul(V32 a, V32 b) {
    SASSEMU_V32((scalar::fmul<R, Ftz>(a.l[i], b.l[i])));
}
template <Rounding R, bool Ftz>
SASSEMU_INLINE V32 ffma(V32 a, V32 b, V32 c) {
    SASSEMU_V32((scalar::ffma<R, Ftz>(a.l[i], b.l[i], c.l[i])));
}
SASSEMU_INLINE V32 ftz(V32 a) { SASSEMU_V32(scalar::ftz(a.l[i])); }
SASSEMU_INLINE V32 fsat(V32 a) { SASSEMU_V32(scalar::fsat(a.l[i])); }
SASSEMU_INLINE V32 fneg(V32 a) { SASSEMU_V32(a.l[i] ^ 0x80000000u); }
SASSEMU_INLINE V32 fabs(V32 a) { SASSEMU_V32(a.l[i] & 0x7fffffffu); }
SASSEMU_INLINE V32 fmin(V32 a, V32 b) {
    SASSEMU_V32((scalar::minmax<soft::F32, false, false>(a.l[i], b.l[i])));
}
SASSEMU_INLINE V32 fmax(V32 a, V32 b) {
    SASSEMU_V32((scalar::minmax<soft::F32, true, false>(a.l[i], b.l[i])));
}
SASSEMU_INLINE V32 fmin_nan(V32 a, V32 b) {
    SASSEMU_V32((scalar::minmax<soft::F32, false, true>(a.l[i], b.l[i])));
}
SASSEMU_INLINE V32 fmax_nan(V32 a, V32 b) {
    SASSEMU_V32((scalar::minmax<soft::F32, true, true>(a.l[i], b.l[i])));
}
SASSEMU_INLINE Mask fcmp(V32 a, V32 b, Compare c) {
    SASSEMU_MASK(scalar::compare<soft::F32>(a.l[i], b.l[i], c));
}
template <Compare C>
SASSEMU_INLINE Mask fcmp(V32 a, V32 b) {
    return fcmp(a, b, C);
}
SASSEMU_INLINE Mask fisnan(V32 a) { SASSEMU_MASK(scalar::is_nan32(a.l[i])); }
template <Rounding R>
SASSEMU_INLINE V32 frnd(V32 a) {
    SASSEMU_V32(soft::round_integral<soft::F32>(a.l[i], R));
}

template <Rounding R>
SASSEMU_INLINE V64 dadd(V64 a, V64 b) {
    SASSEMU_V64(scalar::dadd<R>(a.l[i], b.l[i]));
}
template <Rounding R>
SASSEMU_INLINE V64 dmul(V64 a, V64 b) {
    SASSEMU_V64(scalar::dmul<R>(a.l[i], b.l[i]));
}
template <Rounding R>
SASSEMU_INLINE V64 dfma(V64 a, V64 b, V64 c) {
    SASSEMU_V64(scalar::dfma<R>(a.l[i], b.l[i], c.l[i]));
}
SASSEMU_INLINE V64 dneg(V64 a) { SASSEMU_V64(a.l[i] ^ soft::F64::kSign); }
SASSEMU_INLINE V64 dabs(V64 a) { SASSEMU_V64(a.l[i] & ~soft::F64::kSign); }
SASSEMU_INLINE V64 dmin(V64 a, V64 b) {
    SASSEMU_V64((scalar::minmax<soft::F64, false, false>(a.l[i], b.l[i])));
}
SASSEMU_INLINE V64 dmax(V64 a, V64 b) {
    SASSEMU_V64((scalar::minmax<soft::F64, true, false>(a.l[i], b.l[i])));
}
SASSEMU_INLINE Mask dcmp(V64 a, V64 b, Compare c) {
    SASSEMU_MASK(scalar::compare<soft::F64>(a.l[i], b.l[i], c));
}
template <Compare C>
SASSEMU_INLINE Mask dcmp(V64 a, V64 b) {
    return dcmp(a, b, C);
}
template <Rounding R>
SASSEMU_INLINE V64 drnd(V64 a) {
    SASSEMU_V64(soft::round_integral<soft::F64>(a.l[i], R));
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
