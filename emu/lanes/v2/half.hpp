// SPDX-License-Identifier: Apache-2.0
// f16x2 and bf16x2 of the scalar level.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

template <bool Ftz, Post P>
SASSEMU_INLINE V32 hadd2(V32 a, V32 b) {
    SASSEMU_V32(scalar::halves(scalar::add16<soft::F16>(a.l[i], b.l[i], Ftz, P),
                               scalar::add16<soft::F16>(a.l[i] >> 16, b.l[i] >> 16, Ftz, P)));
}
template <bool Ftz, Post P>
SASSEMU_INLINE V32 hmul2(V32 a, V32 b) {
    SASSEMU_V32(scalar::halves(scalar::mul16<soft::F16>(a.l[i], b.l[i], Ftz, P),
                               scalar::mul16<soft::F16>(a.l[i] >> 16, b.l[i] >> 16, Ftz, P)));
}
template <bool Ftz, Post P>
SASSEMU_INLINE V32 hfma2(V32 a, V32 b, V32 c) {
    SASSEMU_V32(
        scalar::halves(scalar::fma16<soft::F16>(a.l[i], b.l[i], c.l[i], Ftz, P),
                       scalar::fma16<soft::F16>(a.l[i] >> 16, b.l[i] >> 16, c.l[i] >> 16, Ftz, P)));
}
template <Post P>
SASSEMU_INLINE V32 badd2(V32 a, V32 b) {
    SASSEMU_V32(scalar::halves(scalar::add16<soft::Bf16>(a.l[i], b.l[i], false, P),
                               scalar::add16<soft::Bf16>(a.l[i] >> 16, b.l[i] >> 16, false, P)));
}
template <Post P>
SASSEMU_INLINE V32 bmul2(V32 a, V32 b) {
    SASSEMU_V32(scalar::halves(scalar::mul16<soft::Bf16>(a.l[i], b.l[i], false, P),
                               scalar::mul16<soft::Bf16>(a.l[i] >> 16, b.l[i] >> 16, false, P)));
}
template <Post P>
SASSEMU_INLINE V32 bfma2(V32 a, V32 b, V32 c) {
    SASSEMU_V32(scalar::halves(
        scalar::fma16<soft::Bf16>(a.l[i], b.l[i], c.l[i], false, P),
        scalar::fma16<soft::Bf16>(a.l[i] >> 16, b.l[i] >> 16, c.l[i] >> 16, false, P)));
}
SASSEMU_INLINE V32 ftz_f16x2(V32 a) {
    SASSEMU_V32(scalar::halves((uint32_t)soft::flush<soft::F16>(a.l[i] & 0xffff, true),
                               (uint32_t)soft::flush<soft::F16>(a.l[i] >> 16, true)));
}
#define SASSEMU_MINMAX(name, F, is_max)                                                     \
    template <bool NanWins>                                                                 \
    SASSEMU_INLINE V32 name(V32 a, V32 b) {                                                 \
        SASSEMU_V32(scalar::halves(                                                         \
            (uint32_t)scalar::minmax<F, is_max, NanWins>(a.l[i] & 0xffff, b.l[i] & 0xffff), \
            (uint32_t)scalar::minmax<F, is_max, NanWins>(a.l[i] >> 16, b.l[i] >> 16)));     \
    }
SASSEMU_MINMAX(hmin2, soft::F16, false)
SASSEMU_MINMAX(hmax2, soft::F16, true)
SASSEMU_MINMAX(bmin2, soft::Bf16, false)
SASSEMU_MINMAX(bmax2, soft::Bf16, true)
#undef SASSEMU_MINMAX
template <class F>
SASSEMU_INLINE MaskPair compare_halves(V32 a, V32 b, Compare c) {
    MaskPair r{0, 0};
    SASSEMU_FOR_LANES {
        r.lo |= (Mask)scalar::compare<F>(a.l[i] & 0xffff, b.l[i] & 0xffff, c) << i;
        r.hi |= (Mask)scalar::compare<F>(a.l[i] >> 16, b.l[i] >> 16, c) << i;
    }
    return r;
}
SASSEMU_INLINE MaskPair hcmp2(V32 a, V32 b, Compare c) {
    return compare_halves<soft::F16>(a, b, c);
}
SASSEMU_INLINE MaskPair bcmp2(V32 a, V32 b, Compare c) {
    return compare_halves<soft::Bf16>(a, b, c);
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
