// SPDX-License-Identifier: Apache-2.0
// Rows, masks and integers of the scalar level.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

SASSEMU_INLINE V32 load(const uint32_t* row) { SASSEMU_V32(row[i]); }
SASSEMU_INLINE void store(uint32_t* row, V32 v) { SASSEMU_FOR_LANES row[i] = v.l[i]; }
SASSEMU_INLINE void store(uint32_t* row, V32 v, Mask m) {
    SASSEMU_FOR_LANES {
        if (m >> i & 1) row[i] = v.l[i];
    }
}
SASSEMU_INLINE V32 splat(uint32_t x) { SASSEMU_V32(x); }
SASSEMU_INLINE V32 load_quad(const uint32_t* words) { SASSEMU_V32(words[i % 4]); }
SASSEMU_INLINE V64 splat64(uint64_t x) { SASSEMU_V64(x); }
SASSEMU_INLINE V32 lane_ids() { SASSEMU_V32(i); }
SASSEMU_INLINE V64 make64(V32 lo, V32 hi) { SASSEMU_V64(scalar::join(lo.l[i], hi.l[i])); }
SASSEMU_INLINE V32 lo32(V64 v) { SASSEMU_V32(v.l[i]); }
SASSEMU_INLINE V32 hi32(V64 v) { SASSEMU_V32(v.l[i] >> 32); }
SASSEMU_INLINE V64 zext64(V32 v) { SASSEMU_V64(v.l[i]); }
SASSEMU_INLINE V64 sext64(V32 v) { SASSEMU_V64((int64_t)(int32_t)v.l[i]); }
SASSEMU_INLINE V64 load_pair(const uint32_t* lo, const uint32_t* hi) {
    SASSEMU_V64(scalar::join(lo[i], hi[i]));
}
SASSEMU_INLINE void store_pair(uint32_t* lo, uint32_t* hi, V64 v) {
    SASSEMU_FOR_LANES {
        lo[i] = (uint32_t)v.l[i];
        hi[i] = (uint32_t)(v.l[i] >> 32);
    }
}
SASSEMU_INLINE void store_pair(uint32_t* lo, uint32_t* hi, V64 v, Mask m) {
    store(lo, lo32(v), m);
    store(hi, hi32(v), m);
}
SASSEMU_INLINE V64 load64(const uint64_t* lanes) { SASSEMU_V64(lanes[i]); }
SASSEMU_INLINE void store64(uint64_t* lanes, V64 v) { SASSEMU_FOR_LANES lanes[i] = v.l[i]; }
SASSEMU_INLINE uint32_t lane(V32 v, unsigned i) { return v.l[i & 31]; }
SASSEMU_INLINE uint64_t lane64(V64 v, unsigned i) { return v.l[i & 31]; }
SASSEMU_INLINE V32 broadcast_lane(V32 v, unsigned i) { return splat(lane(v, i)); }
SASSEMU_INLINE V32 select(Mask m, V32 a, V32 b) { SASSEMU_V32(m >> i & 1 ? a.l[i] : b.l[i]); }
SASSEMU_INLINE V64 select64(Mask m, V64 a, V64 b) { SASSEMU_V64(m >> i & 1 ? a.l[i] : b.l[i]); }
SASSEMU_INLINE Mask nonzero(V32 v) { SASSEMU_MASK(v.l[i]); }
SASSEMU_INLINE Mask sign_mask(V32 v) { SASSEMU_MASK(v.l[i] >> 31); }
SASSEMU_INLINE V32 permute(V32 v, V32 index) { SASSEMU_V32(v.l[index.l[i] & 31]); }

SASSEMU_INLINE V32 add(V32 a, V32 b) { SASSEMU_V32(a.l[i] + b.l[i]); }
SASSEMU_INLINE V32 sub(V32 a, V32 b) { SASSEMU_V32(a.l[i] - b.l[i]); }
SASSEMU_INLINE V32 neg(V32 a) { SASSEMU_V32(0u - a.l[i]); }
SASSEMU_INLINE V32 mul_lo(V32 a, V32 b) { SASSEMU_V32(a.l[i] * b.l[i]); }
SASSEMU_INLINE V64 mul_wide_u(V32 a, V32 b) { SASSEMU_V64((uint64_t)a.l[i] * b.l[i]); }
SASSEMU_INLINE V64 mul_wide_s(V32 a, V32 b) {
    SASSEMU_V64((int64_t)(int32_t)a.l[i] * (int32_t)b.l[i]);
}
SASSEMU_INLINE V32 mul_hi_u(V32 a, V32 b) { return hi32(mul_wide_u(a, b)); }
SASSEMU_INLINE V32 mul_hi_s(V32 a, V32 b) { return hi32(mul_wide_s(a, b)); }
SASSEMU_INLINE V32 mad(V32 a, V32 b, V32 c) { SASSEMU_V32(a.l[i] * b.l[i] + c.l[i]); }
SASSEMU_INLINE V32 add3(V32 a, V32 b, V32 c) { SASSEMU_V32(a.l[i] + b.l[i] + c.l[i]); }
SASSEMU_INLINE V32 add3_carry(V32 a, V32 b, V32 c, Mask carry0, Mask carry1, Mask* p0, Mask* p1) {
    V32 r;
    *p0 = *p1 = 0;
    SASSEMU_FOR_LANES {
        const uint64_t sum =
            (uint64_t)a.l[i] + b.l[i] + c.l[i] + (carry0 >> i & 1) + (carry1 >> i & 1);
        r.l[i] = (uint32_t)sum;
        *p0 |= (Mask)(sum >> 32 >= 1) << i;
        *p1 |= (Mask)(sum >> 32 >= 2) << i;
    }
    return r;
}
SASSEMU_INLINE V32 add_carry(V32 a, V32 b, Mask carry_in, Mask* carry_out) {
    Mask none;
    return add3_carry(a, b, splat(0), carry_in, 0, carry_out, &none);
}
SASSEMU_INLINE V32 and_(V32 a, V32 b) { SASSEMU_V32(a.l[i] & b.l[i]); }
SASSEMU_INLINE V32 or_(V32 a, V32 b) { SASSEMU_V32(a.l[i] | b.l[i]); }
SASSEMU_INLINE V32 xor_(V32 a, V32 b) { SASSEMU_V32(a.l[i] ^ b.l[i]); }
SASSEMU_INLINE V32 not_(V32 a) { SASSEMU_V32(~a.l[i]); }
SASSEMU_INLINE V32 andn(V32 a, V32 b) { SASSEMU_V32(~a.l[i] & b.l[i]); }
SASSEMU_INLINE V32 lop3(V32 a, V32 b, V32 c, uint8_t lut) {
    SASSEMU_V32(scalar::lop3(a.l[i], b.l[i], c.l[i], lut));
}
template <uint8_t Lut>
SASSEMU_INLINE V32 lop3(V32 a, V32 b, V32 c) {
    return lop3(a, b, c, Lut);
}
SASSEMU_INLINE V32 shl(V32 a, V32 count) { SASSEMU_V32(scalar::shl(a.l[i], count.l[i])); }
SASSEMU_INLINE V32 shr(V32 a, V32 count) { SASSEMU_V32(scalar::shr(a.l[i], count.l[i])); }
SASSEMU_INLINE V32 sar(V32 a, V32 count) { SASSEMU_V32(scalar::sar(a.l[i], count.l[i])); }
SASSEMU_INLINE V32 rotl(V32 a, V32 count) { SASSEMU_V32(scalar::rotl(a.l[i], count.l[i])); }
SASSEMU_INLINE V32 funnel_l_wrap(V32 lo, V32 hi, V32 count) {
    SASSEMU_V32(scalar::join(lo.l[i], hi.l[i]) << (count.l[i] & 31) >> 32);
}
SASSEMU_INLINE V32 funnel_l_clamp(V32 lo, V32 hi, V32 count) {
    SASSEMU_V32(scalar::join(lo.l[i], hi.l[i]) << scalar::min32(count.l[i], 32) >> 32);
}
SASSEMU_INLINE V32 funnel_r_wrap(V32 lo, V32 hi, V32 count) {
    SASSEMU_V32(scalar::join(lo.l[i], hi.l[i]) >> (count.l[i] & 31));
}
SASSEMU_INLINE V32 funnel_r_clamp(V32 lo, V32 hi, V32 count) {
    SASSEMU_V32(scalar::join(lo.l[i], hi.l[i]) >> scalar::min32(count.l[i], 32));
}
SASSEMU_INLINE Mask cmp_eq(V32 a, V32 b) { SASSEMU_MASK(a.l[i] == b.l[i]); }
SASSEMU_INLINE Mask cmp_ne(V32 a, V32 b) { SASSEMU_MASK(a.l[i] != b.l[i]); }
SASSEMU_INLINE Mask cmp_lt_s(V32 a, V32 b) { SASSEMU_MASK((int32_t)a.l[i] < (int32_t)b.l[i]); }
SASSEMU_INLINE Mask cmp_le_s(V32 a, V32 b) { SASSEMU_MASK((int32_t)a.l[i] <= (int32_t)b.l[i]); }
SASSEMU_INLINE Mask cmp_gt_s(V32 a, V32 b) { SASSEMU_MASK((int32_t)a.l[i] > (int32_t)b.l[i]); }
SASSEMU_INLINE Mask cmp_ge_s(V32 a, V32 b) { SASSEMU_MASK((int32_t)a.l[i] >= (int32_t)b.l[i]); }
SASSEMU_INLINE Mask cmp_lt_u(V32 a, V32 b) { SASSEMU_MASK(a.l[i] < b.l[i]); }
SASSEMU_INLINE Mask cmp_le_u(V32 a, V32 b) { SASSEMU_MASK(a.l[i] <= b.l[i]); }
SASSEMU_INLINE Mask cmp_gt_u(V32 a, V32 b) { SASSEMU_MASK(a.l[i] > b.l[i]); }
SASSEMU_INLINE Mask cmp_ge_u(V32 a, V32 b) { SASSEMU_MASK(a.l[i] >= b.l[i]); }
SASSEMU_INLINE V32 min_s(V32 a, V32 b) { return select(cmp_lt_s(a, b), a, b); }
SASSEMU_INLINE V32 max_s(V32 a, V32 b) { return select(cmp_lt_s(a, b), b, a); }
SASSEMU_INLINE V32 min_u(V32 a, V32 b) { return select(cmp_lt_u(a, b), a, b); }
SASSEMU_INLINE V32 max_u(V32 a, V32 b) { return select(cmp_lt_u(a, b), b, a); }
SASSEMU_INLINE V32 abs(V32 a) { SASSEMU_V32(a.l[i] >> 31 ? 0u - a.l[i] : a.l[i]); }
SASSEMU_INLINE V32 absdiff_s(V32 a, V32 b) { return sub(max_s(a, b), min_s(a, b)); }
SASSEMU_INLINE V32 absdiff_u(V32 a, V32 b) { return sub(max_u(a, b), min_u(a, b)); }
SASSEMU_INLINE V32 sad_u8x4(V32 a, V32 b, V32 c) {
    SASSEMU_V32(scalar::sad_u8x4(a.l[i], b.l[i], c.l[i]));
}
SASSEMU_INLINE V32 popc(V32 a) { SASSEMU_V32(__builtin_popcount(a.l[i])); }
SASSEMU_INLINE V32 clz(V32 a) { SASSEMU_V32(scalar::clz(a.l[i])); }
SASSEMU_INLINE V32 brev(V32 a) { SASSEMU_V32(scalar::brev(a.l[i])); }
SASSEMU_INLINE V32 bswap(V32 a) { SASSEMU_V32(__builtin_bswap32(a.l[i])); }
SASSEMU_INLINE V32 prmt(V32 a, V32 b, V32 sel) {
    SASSEMU_V32(scalar::prmt(a.l[i], b.l[i], sel.l[i]));
}
SASSEMU_INLINE V32 bmsk_clamp(V32 p, V32 w) {
    SASSEMU_V32(scalar::shl(scalar::ones(w.l[i]), p.l[i]));
}
SASSEMU_INLINE V32 bmsk_wrap(V32 p, V32 w) {
    SASSEMU_V32(scalar::shl(scalar::ones(w.l[i] & 31), p.l[i] & 31));
}
SASSEMU_INLINE V32 sgxt_s(V32 a, V32 bits) { SASSEMU_V32(scalar::sgxt_s(a.l[i], bits.l[i])); }
SASSEMU_INLINE V32 sgxt_u(V32 a, V32 bits) { SASSEMU_V32(a.l[i] & scalar::ones(bits.l[i])); }
template <bool SignedA, bool SignedB>
SASSEMU_INLINE V32 dp4a(V32 a, V32 b, V32 c) {
    SASSEMU_V32(scalar::dp4a(a.l[i], b.l[i], c.l[i], SignedA, SignedB));
}
SASSEMU_INLINE V32 dp_16x2(V32 a, V32 b, V32 c) {
    SASSEMU_V32(scalar::dp_16x2(a.l[i], b.l[i], c.l[i]));
}
template <bool SignedA, bool SignedB, bool Hi>
SASSEMU_INLINE V32 dp2a(V32 a, V32 b, V32 c) {
    SASSEMU_V32(scalar::dp2a(a.l[i], b.l[i], c.l[i], SignedA, SignedB, Hi));
}
SASSEMU_INLINE V32 add_16x2(V32 a, V32 b) {
    SASSEMU_V32(scalar::halves(a.l[i] + b.l[i], (a.l[i] >> 16) + (b.l[i] >> 16)));
}
SASSEMU_INLINE V32 sub_16x2(V32 a, V32 b) {
    SASSEMU_V32(scalar::halves(a.l[i] - b.l[i], (a.l[i] >> 16) - (b.l[i] >> 16)));
}
#define SASSEMU_MINMAX16(name, is_max, is_signed)                              \
    SASSEMU_INLINE V32 name(V32 a, V32 b) {                                    \
        SASSEMU_V32((scalar::minmax_16x2<is_max, is_signed>(a.l[i], b.l[i]))); \
    }
SASSEMU_MINMAX16(min_s16x2, false, true)
SASSEMU_MINMAX16(max_s16x2, true, true)
SASSEMU_MINMAX16(min_u16x2, false, false)
SASSEMU_MINMAX16(max_u16x2, true, false)
#undef SASSEMU_MINMAX16
template <int Bits, bool SignedSource, bool SignedResult>
SASSEMU_INLINE V32 sat_narrow(V32 a) {
    SASSEMU_V32(scalar::sat_narrow(a.l[i], Bits, SignedSource, SignedResult));
}

SASSEMU_INLINE V64 add64(V64 a, V64 b) { SASSEMU_V64(a.l[i] + b.l[i]); }
SASSEMU_INLINE V64 sub64(V64 a, V64 b) { SASSEMU_V64(a.l[i] - b.l[i]); }
SASSEMU_INLINE V64 neg64(V64 a) { SASSEMU_V64(0 - a.l[i]); }
SASSEMU_INLINE V64 mul_lo64(V64 a, V64 b) { SASSEMU_V64(a.l[i] * b.l[i]); }
SASSEMU_INLINE V64 and64(V64 a, V64 b) { SASSEMU_V64(a.l[i] & b.l[i]); }
SASSEMU_INLINE V64 or64(V64 a, V64 b) { SASSEMU_V64(a.l[i] | b.l[i]); }
SASSEMU_INLINE V64 xor64(V64 a, V64 b) { SASSEMU_V64(a.l[i] ^ b.l[i]); }
SASSEMU_INLINE V64 not64(V64 a) { SASSEMU_V64(~a.l[i]); }
SASSEMU_INLINE V64 shl64(V64 a, V32 count) { SASSEMU_V64(scalar::shl64(a.l[i], count.l[i])); }
SASSEMU_INLINE V64 shr64(V64 a, V32 count) { SASSEMU_V64(scalar::shr64(a.l[i], count.l[i])); }
SASSEMU_INLINE V64 sar64(V64 a, V32 count) { SASSEMU_V64(scalar::sar64(a.l[i], count.l[i])); }
SASSEMU_INLINE Mask cmp_eq64(V64 a, V64 b) { SASSEMU_MASK(a.l[i] == b.l[i]); }
SASSEMU_INLINE Mask cmp_lt_s64(V64 a, V64 b) { SASSEMU_MASK((int64_t)a.l[i] < (int64_t)b.l[i]); }
SASSEMU_INLINE Mask cmp_lt_u64(V64 a, V64 b) { SASSEMU_MASK(a.l[i] < b.l[i]); }
SASSEMU_INLINE Mask cmp_le_s64(V64 a, V64 b) { SASSEMU_MASK((int64_t)a.l[i] <= (int64_t)b.l[i]); }
SASSEMU_INLINE Mask cmp_le_u64(V64 a, V64 b) { SASSEMU_MASK(a.l[i] <= b.l[i]); }
SASSEMU_INLINE V64 min_s64(V64 a, V64 b) { return select64(cmp_lt_s64(a, b), a, b); }
SASSEMU_INLINE V64 max_s64(V64 a, V64 b) { return select64(cmp_lt_s64(a, b), b, a); }
SASSEMU_INLINE V64 min_u64(V64 a, V64 b) { return select64(cmp_lt_u64(a, b), a, b); }
SASSEMU_INLINE V64 max_u64(V64 a, V64 b) { return select64(cmp_lt_u64(a, b), b, a); }

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
