// SPDX-License-Identifier: Apache-2.0
// Primitives written over other primitives, the same text for every level.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

SASSEMU_INLINE int first_lane(Mask m) { return m ? __builtin_ctz(m) : kLanes; }

SASSEMU_INLINE bool all_equal(V32 v, Mask m) {
    return (cmp_eq(v, broadcast_lane(v, (unsigned)first_lane(m))) & m) == m;
}
SASSEMU_INLINE bool all_equal64(V64 v, Mask m) {
    return all_equal(lo32(v), m) && all_equal(hi32(v), m);
}
SASSEMU_INLINE bool is_stride(V32 v, Mask m, uint32_t stride) {
    return all_equal(sub(v, mul_lo(lane_ids(), splat(stride))), m);
}
SASSEMU_INLINE bool is_stride64(V64 v, Mask m, uint64_t stride, uint64_t* lane0) {
    const V64 line = sub64(v, mul_lo64(zext64(lane_ids()), splat64(stride)));
    *lane0 = m ? lane64(line, (unsigned)first_lane(m)) : 0;
    return (cmp_eq64(line, splat64(*lane0)) & m) == m;
}
// One round per distinct value.
SASSEMU_INLINE V32 match_any(V32 v, Mask m) {
    V32 r = splat(0);
    for (Mask rest = m; rest != 0;) {
        const Mask same = cmp_eq(v, broadcast_lane(v, (unsigned)first_lane(rest))) & m;
        r = select(same, splat(same), r);
        rest &= ~same;
    }
    return r;
}

SASSEMU_INLINE V32 pack16(V32 lo, V32 hi) {
    return or_(and_(lo, splat(0xffff)), shl(hi, splat(16)));
}
SASSEMU_INLINE V32 hi16(V32 a) { return shr(a, splat(16)); }
template <Rounding R>
SASSEMU_INLINE V32 f32x2_to_f16x2(V32 lo, V32 hi) {
    return pack16(f32_to_f16<R>(lo), f32_to_f16<R>(hi));
}
template <Rounding R>
SASSEMU_INLINE V32 f32x2_to_bf16x2(V32 lo, V32 hi) {
    return pack16(f32_to_bf16<R>(lo), f32_to_bf16<R>(hi));
}
#if SASSEMU_LANES_LEVEL == 2
namespace k {
SASSEMU_INLINE V64 all_of(const uint32_t* pair) { return load_pair(pair, pair + kLanes); }
SASSEMU_INLINE V64 all_of(uint64_t value) { return splat64(value); }
}  // namespace k
template <class B>
SASSEMU_INLINE bool dadd_numbers(V64* r, const uint32_t* a, B b) {
    *r = dadd<Rounding::rn>(k::all_of(a), k::all_of(b));
    return true;
}
template <class B>
SASSEMU_INLINE bool dmul_numbers(V64* r, const uint32_t* a, B b) {
    *r = dmul<Rounding::rn>(k::all_of(a), k::all_of(b));
    return true;
}
template <class B, class C>
SASSEMU_INLINE bool dfma_numbers(V64* r, const uint32_t* a, B b, C c) {
    *r = dfma<Rounding::rn>(k::all_of(a), k::all_of(b), k::all_of(c));
    return true;
}
#endif
#if SASSEMU_LANES_LEVEL != 3
SASSEMU_INLINE V32 pick_halves(const uint32_t* row, HalfPick pick) {
    const V32 v = load(row);
    if (pick == HalfPick::both) return v;
    if (pick == HalfPick::low) return or_(and_(v, splat(0xffffu)), shl(v, splat(16)));
    return or_(and_(v, splat(0xffff0000u)), shr(v, splat(16)));
}
SASSEMU_INLINE V32 hfma2_rows(const uint32_t* a, const uint32_t* b, const uint32_t* c,
                              HalfPicks pick) {
    return hfma2<>(pick_halves(a, pick.a), pick_halves(b, pick.b), pick_halves(c, pick.c));
}
#endif

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
