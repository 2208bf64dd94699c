// SPDX-License-Identifier: Apache-2.0
// The contract of the lane algebra: every primitive, declared once for all levels, with one line
// on what it does. Definitions live in v2/ (scalar, the reference), simd/ (written once over the
// chunk operations of v3/ and v4/) and derived.hpp (written over the primitives themselves).
//
// V32 holds 32 lanes of 32 bits (integers, f32 or f16x2 by operation), V64 32 lanes of 64 bits.
// Both are opaque: their internal order differs by level. A register row is uint32_t[32], aligned
// to 64 bytes. Masked stores leave the other lanes of the row alone.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

// ---- rows, lanes and masks ----------------------------------------------------------------
SASSEMU_INLINE V32 load(const uint32_t* row);
SASSEMU_INLINE void store(uint32_t* row, V32 v);
SASSEMU_INLINE void store(uint32_t* row, V32 v, Mask m);
SASSEMU_INLINE V64 load_pair(const uint32_t* lo, const uint32_t* hi);
SASSEMU_INLINE void store_pair(uint32_t* lo, uint32_t* hi, V64 v);
SASSEMU_INLINE void store_pair(uint32_t* lo, uint32_t* hi, V64 v, Mask m);
SASSEMU_INLINE V32 splat(uint32_t x);                 // x in every lane
SASSEMU_INLINE V32 load_quad(const uint32_t* words);  // lane i gets words[i mod 4]; aligned to 16
SASSEMU_INLINE V64 splat64(uint64_t x);
SASSEMU_INLINE V32 lane_ids();              // 0, 1, ... 31
SASSEMU_INLINE V64 make64(V32 lo, V32 hi);  // {hi:lo} per lane
SASSEMU_INLINE V32 lo32(V64 v);
SASSEMU_INLINE V32 hi32(V64 v);
SASSEMU_INLINE V64 zext64(V32 v);
SASSEMU_INLINE V64 sext64(V32 v);
SASSEMU_INLINE V64 load64(const uint64_t* lanes);  // 32 values in lane order; unaligned
SASSEMU_INLINE void store64(uint64_t* lanes, V64 v);
SASSEMU_INLINE uint32_t lane(V32 v, unsigned i);  // i < 32
SASSEMU_INLINE uint64_t lane64(V64 v, unsigned i);
SASSEMU_INLINE V32 broadcast_lane(V32 v, unsigned i);  // lane i (mod 32) in every lane
SASSEMU_INLINE V32 select(Mask m, V32 a, V32 b);       // lane in m ? a : b
SASSEMU_INLINE V64 select64(Mask m, V64 a, V64 b);
SASSEMU_INLINE Mask nonzero(V32 v);            // lanes that are not 0
SASSEMU_INLINE Mask sign_mask(V32 v);          // bit 31 of each lane
SASSEMU_INLINE V32 permute(V32 v, V32 index);  // lane i gets lane index[i] mod 32 of v
SASSEMU_INLINE V32 match_any(V32 v, Mask m);   // lanes of m with the same value; 0 outside m
SASSEMU_INLINE bool all_equal(V32 v, Mask m);  // all lanes of m alike (true if m is empty)
SASSEMU_INLINE bool all_equal64(V64 v, Mask m);
SASSEMU_INLINE int first_lane(Mask m);  // lowest lane of m; 32 if empty
// Lanes of m lie on v[i] = v[0] + i * stride (mod 2^32), v[0] maybe outside m. True if m is empty.
SASSEMU_INLINE bool is_stride(V32 v, Mask m, uint32_t stride);
// The same for 64 bits; *lane0 gets the value that lane 0 has on that line.
SASSEMU_INLINE bool is_stride64(V64 v, Mask m, uint64_t stride, uint64_t* lane0);
// Reductions over the lanes of m; an empty m gives the identity (0, extreme value, all ones).
SASSEMU_INLINE uint32_t reduce_add(V32 v, Mask m);
SASSEMU_INLINE uint32_t reduce_min_s(V32 v, Mask m);
SASSEMU_INLINE uint32_t reduce_max_s(V32 v, Mask m);
SASSEMU_INLINE uint32_t reduce_min_u(V32 v, Mask m);
SASSEMU_INLINE uint32_t reduce_max_u(V32 v, Mask m);
SASSEMU_INLINE uint32_t reduce_and(V32 v, Mask m);
SASSEMU_INLINE uint32_t reduce_or(V32 v, Mask m);
SASSEMU_INLINE uint32_t reduce_xor(V32 v, Mask m);

// ---- 32-bit integers (all modulo 2^32) ------------------------------------------------------
SASSEMU_INLINE V32 add(V32 a, V32 b);
SASSEMU_INLINE V32 sub(V32 a, V32 b);
SASSEMU_INLINE V32 neg(V32 a);
SASSEMU_INLINE V32 mul_lo(V32 a, V32 b);
SASSEMU_INLINE V32 mul_hi_u(V32 a, V32 b);
SASSEMU_INLINE V32 mul_hi_s(V32 a, V32 b);
SASSEMU_INLINE V64 mul_wide_u(V32 a, V32 b);  // full 64-bit product
SASSEMU_INLINE V64 mul_wide_s(V32 a, V32 b);
SASSEMU_INLINE V32 mad(V32 a, V32 b, V32 c);  // a * b + c
SASSEMU_INLINE V32 add3(V32 a, V32 b, V32 c);
// a + b + c + (carry bits), exact: *p0 = lanes whose sum is >= 2^32, *p1 = >= 2 * 2^32. A negated
// operand is not_(x) with one carry mask all ones. Sums never reach 3 * 2^32.
SASSEMU_INLINE V32 add3_carry(V32 a, V32 b, V32 c, Mask carry0, Mask carry1, Mask* p0, Mask* p1);
SASSEMU_INLINE V32 add_carry(V32 a, V32 b, Mask carry_in, Mask* carry_out);
SASSEMU_INLINE V32 and_(V32 a, V32 b);
SASSEMU_INLINE V32 or_(V32 a, V32 b);
SASSEMU_INLINE V32 xor_(V32 a, V32 b);
SASSEMU_INLINE V32 not_(V32 a);
SASSEMU_INLINE V32 andn(V32 a, V32 b);  // ~a & b
// Bitwise function of three: bit (a << 2 | b << 1 | c) of lut, as the LOP3 immediate.
template <uint8_t Lut>
SASSEMU_INLINE V32 lop3(V32 a, V32 b, V32 c);
SASSEMU_INLINE V32 lop3(V32 a, V32 b, V32 c, uint8_t lut);
SASSEMU_INLINE V32 shl(V32 a, V32 count);   // counts >= 32 give 0
SASSEMU_INLINE V32 shr(V32 a, V32 count);   // counts >= 32 give 0
SASSEMU_INLINE V32 sar(V32 a, V32 count);   // counts >= 32 give the sign
SASSEMU_INLINE V32 rotl(V32 a, V32 count);  // count mod 32
// High word of {hi:lo} << n, low word of {hi:lo} >> n; n = count mod 32, or min(count, 32).
SASSEMU_INLINE V32 funnel_l_wrap(V32 lo, V32 hi, V32 count);
SASSEMU_INLINE V32 funnel_l_clamp(V32 lo, V32 hi, V32 count);
SASSEMU_INLINE V32 funnel_r_wrap(V32 lo, V32 hi, V32 count);
SASSEMU_INLINE V32 funnel_r_clamp(V32 lo, V32 hi, V32 count);
SASSEMU_INLINE Mask cmp_eq(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_ne(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_lt_s(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_le_s(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_gt_s(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_ge_s(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_lt_u(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_le_u(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_gt_u(V32 a, V32 b);
SASSEMU_INLINE Mask cmp_ge_u(V32 a, V32 b);
SASSEMU_INLINE V32 min_s(V32 a, V32 b);
SASSEMU_INLINE V32 max_s(V32 a, V32 b);
SASSEMU_INLINE V32 min_u(V32 a, V32 b);
SASSEMU_INLINE V32 max_u(V32 a, V32 b);
SASSEMU_INLINE V32 abs(V32 a);               // |0x80000000| = 0x80000000
SASSEMU_INLINE V32 absdiff_s(V32 a, V32 b);  // |a - b| modulo 2^32
SASSEMU_INLINE V32 absdiff_u(V32 a, V32 b);
SASSEMU_INLINE V32 sad_u8x4(V32 a, V32 b, V32 c);  // c + sum of |a - b| over 4 unsigned bytes
SASSEMU_INLINE V32 popc(V32 a);
SASSEMU_INLINE V32 clz(V32 a);  // clz(0) = 32
SASSEMU_INLINE V32 brev(V32 a);
SASSEMU_INLINE V32 bswap(V32 a);
// PTX prmt, generic mode: nibble i of sel picks a byte of {b:a}; bit 3 replicates its sign bit.
SASSEMU_INLINE V32 prmt(V32 a, V32 b, V32 sel);
// w ones from bit p. Clamp: p and w as they are, cut at 32; wrap: both mod 32.
SASSEMU_INLINE V32 bmsk_clamp(V32 p, V32 w);
SASSEMU_INLINE V32 bmsk_wrap(V32 p, V32 w);
SASSEMU_INLINE V32 sgxt_s(V32 a, V32 bits);  // sign-extend the low bits; >= 32: unchanged, 0: 0
SASSEMU_INLINE V32 sgxt_u(V32 a, V32 bits);
template <bool SignedA, bool SignedB>
SASSEMU_INLINE V32 dp4a(V32 a, V32 b, V32 c);     // c + sum of 4 byte products
SASSEMU_INLINE V32 dp_16x2(V32 a, V32 b, V32 c);  // c + sum of 2 products of signed halves
// c + a.h0 * b.byte[0] + a.h1 * b.byte[1], or bytes 2 and 3 if Hi.
template <bool SignedA, bool SignedB, bool Hi>
SASSEMU_INLINE V32 dp2a(V32 a, V32 b, V32 c);
SASSEMU_INLINE V32 add_16x2(V32 a, V32 b);  // two 16-bit halves, each modulo 2^16
SASSEMU_INLINE V32 sub_16x2(V32 a, V32 b);
SASSEMU_INLINE V32 min_s16x2(V32 a, V32 b);
SASSEMU_INLINE V32 max_s16x2(V32 a, V32 b);
SASSEMU_INLINE V32 min_u16x2(V32 a, V32 b);
SASSEMU_INLINE V32 max_u16x2(V32 a, V32 b);
// Saturating narrowing of an s32/u32 lane to an 8- or 16-bit range, result extended to 32 bits.
template <int Bits, bool SignedSource, bool SignedResult>
SASSEMU_INLINE V32 sat_narrow(V32 a);

// ---- 64-bit integers ------------------------------------------------------------------------
SASSEMU_INLINE V64 add64(V64 a, V64 b);
SASSEMU_INLINE V64 sub64(V64 a, V64 b);
SASSEMU_INLINE V64 neg64(V64 a);
SASSEMU_INLINE V64 mul_lo64(V64 a, V64 b);
SASSEMU_INLINE V64 and64(V64 a, V64 b);
SASSEMU_INLINE V64 or64(V64 a, V64 b);
SASSEMU_INLINE V64 xor64(V64 a, V64 b);
SASSEMU_INLINE V64 not64(V64 a);
SASSEMU_INLINE V64 shl64(V64 a, V32 count);  // counts >= 64 give 0
SASSEMU_INLINE V64 shr64(V64 a, V32 count);
SASSEMU_INLINE V64 sar64(V64 a, V32 count);  // counts >= 64 give the sign
SASSEMU_INLINE Mask cmp_eq64(V64 a, V64 b);
SASSEMU_INLINE Mask cmp_lt_s64(V64 a, V64 b);
SASSEMU_INLINE Mask cmp_lt_u64(V64 a, V64 b);
SASSEMU_INLINE Mask cmp_le_s64(V64 a, V64 b);
SASSEMU_INLINE Mask cmp_le_u64(V64 a, V64 b);
SASSEMU_INLINE V64 min_s64(V64 a, V64 b);
SASSEMU_INLINE V64 max_s64(V64 a, V64 b);
SASSEMU_INLINE V64 min_u64(V64 a, V64 b);
SASSEMU_INLINE V64 max_u64(V64 a, V64 b);

// ---- f32 ----------------------------------------------------------------------------------
// NaN results are kF32Nan. Ftz flushes subnormal inputs and results to zeros of the same sign.
template <Rounding R = Rounding::rn, bool Ftz = false>
SASSEMU_INLINE V32 fadd(V32 a, V32 b);
template <Rounding R = Rounding::rn, bool Ftz = false>
SASSEMU_INLINE V32 fmul(V32 a, V32 b);
template <Rounding R = Rounding::rn, bool Ftz = false>
SASSEMU_INLINE V32 ffma(V32 a, V32 b, V32 c);
SASSEMU_INLINE V32 ftz(V32 a);          // subnormal -> zero of the same sign
SASSEMU_INLINE V32 fsat(V32 a);         // clamp to [+0, 1]; NaN and -0 -> +0
SASSEMU_INLINE V32 fneg(V32 a);         // flips the sign bit, of NaNs too
SASSEMU_INLINE V32 fabs(V32 a);         // clears the sign bit
SASSEMU_INLINE V32 fmin(V32 a, V32 b);  // one NaN: the other; -0 < +0
SASSEMU_INLINE V32 fmax(V32 a, V32 b);
SASSEMU_INLINE V32 fmin_nan(V32 a, V32 b);  // any NaN: kF32Nan
SASSEMU_INLINE V32 fmax_nan(V32 a, V32 b);
template <Compare C>
SASSEMU_INLINE Mask fcmp(V32 a, V32 b);
SASSEMU_INLINE Mask fcmp(V32 a, V32 b, Compare c);
SASSEMU_INLINE Mask fisnan(V32 a);
template <Rounding R>
SASSEMU_INLINE V32 frnd(V32 a);  // to an integral f32; keeps the sign of 0

// ---- f64 ----------------------------------------------------------------------------------
// NaN results follow kF64NanPolicy.
template <Rounding R = Rounding::rn>
SASSEMU_INLINE V64 dadd(V64 a, V64 b);
template <Rounding R = Rounding::rn>
SASSEMU_INLINE V64 dmul(V64 a, V64 b);
template <Rounding R = Rounding::rn>
SASSEMU_INLINE V64 dfma(V64 a, V64 b, V64 c);
// The same to nearest for results that are numbers; false when one is a NaN: then *r does not
// count. An operand is a register pair in memory (64 words, low row first) or one value for all
// lanes; chunk by chunk they need no more registers than the host has.
template <class B>
SASSEMU_INLINE bool dadd_numbers(V64* r, const uint32_t* a, B b);
template <class B>
SASSEMU_INLINE bool dmul_numbers(V64* r, const uint32_t* a, B b);
template <class B, class C>
SASSEMU_INLINE bool dfma_numbers(V64* r, const uint32_t* a, B b, C c);
SASSEMU_INLINE V64 dneg(V64 a);
SASSEMU_INLINE V64 dabs(V64 a);
SASSEMU_INLINE V64 dmin(V64 a, V64 b);  // as fmin; both NaN: kF64DefaultNan
SASSEMU_INLINE V64 dmax(V64 a, V64 b);
template <Compare C>
SASSEMU_INLINE Mask dcmp(V64 a, V64 b);
SASSEMU_INLINE Mask dcmp(V64 a, V64 b, Compare c);
template <Rounding R>
SASSEMU_INLINE V64 drnd(V64 a);

// ---- conversions ----------------------------------------------------------------------------
// Float to integer rounds by R, then saturates; NaN see kNanToWideIntIsHighBit.
template <Rounding R>
SASSEMU_INLINE V32 f32_to_s32(V32 a);
template <Rounding R>
SASSEMU_INLINE V32 f32_to_u32(V32 a);
template <Rounding R>
SASSEMU_INLINE V64 f32_to_s64(V32 a);
template <Rounding R>
SASSEMU_INLINE V64 f32_to_u64(V32 a);
template <Rounding R>
SASSEMU_INLINE V32 f64_to_s32(V64 a);
template <Rounding R>
SASSEMU_INLINE V32 f64_to_u32(V64 a);
template <Rounding R>
SASSEMU_INLINE V64 f64_to_s64(V64 a);
template <Rounding R>
SASSEMU_INLINE V64 f64_to_u64(V64 a);
// f32 to an integer of Bits = 8 or 16, saturated, extended to 32 bits; NaN -> 0.
template <Rounding R, int Bits, bool Signed>
SASSEMU_INLINE V32 f32_to_small(V32 a);
template <Rounding R>
SASSEMU_INLINE V32 s32_to_f32(V32 a);
template <Rounding R>
SASSEMU_INLINE V32 u32_to_f32(V32 a);
template <Rounding R>
SASSEMU_INLINE V32 s64_to_f32(V64 a);
template <Rounding R>
SASSEMU_INLINE V32 u64_to_f32(V64 a);
SASSEMU_INLINE V64 s32_to_f64(V32 a);
SASSEMU_INLINE V64 u32_to_f64(V32 a);
template <Rounding R>
SASSEMU_INLINE V64 s64_to_f64(V64 a);
template <Rounding R>
SASSEMU_INLINE V64 u64_to_f64(V64 a);
SASSEMU_INLINE V64 f32_to_f64(V32 a);  // a NaN keeps sign and payload, quieted
template <Rounding R>
SASSEMU_INLINE V32 f64_to_f32(V64 a);
// f16 and bf16 values sit in the low half of a lane; results have a zero high half.
template <Rounding R = Rounding::rn>
SASSEMU_INLINE V32 f32_to_f16(V32 a);
template <Rounding R = Rounding::rn>
SASSEMU_INLINE V32 f32_to_bf16(V32 a);
template <Rounding R = Rounding::rn>
SASSEMU_INLINE V32 f64_to_f16(V64 a);
SASSEMU_INLINE V32 f16_to_f32(V32 a);  // reads the low half
SASSEMU_INLINE V32 bf16_to_f32(V32 a);
SASSEMU_INLINE V32 pack16(V32 lo, V32 hi);  // lo.h0 | hi.h0 << 16
SASSEMU_INLINE V32 hi16(V32 a);             // the high half, zero-extended
// Two f32 into f16x2 / bf16x2, first argument low.
template <Rounding R = Rounding::rn>
SASSEMU_INLINE V32 f32x2_to_f16x2(V32 lo, V32 hi);
template <Rounding R = Rounding::rn>
SASSEMU_INLINE V32 f32x2_to_bf16x2(V32 lo, V32 hi);

// ---- f16x2 and bf16x2 (round to nearest, one rounding, NaN results kF16Nan) -------------------
template <bool Ftz = false, Post P = Post::none>
SASSEMU_INLINE V32 hadd2(V32 a, V32 b);
template <bool Ftz = false, Post P = Post::none>
SASSEMU_INLINE V32 hmul2(V32 a, V32 b);
template <bool Ftz = false, Post P = Post::none>
SASSEMU_INLINE V32 hfma2(V32 a, V32 b, V32 c);
// hfma2<>() of three rows in memory (32 aligned words each), whose halves `pick` chooses.
enum class HalfPick : uint8_t { both, low, high };  // h1:h0, h0:h0, h1:h1
struct HalfPicks {
    HalfPick a, b, c;
};
SASSEMU_INLINE V32 hfma2_rows(const uint32_t* a, const uint32_t* b, const uint32_t* c,
                              HalfPicks pick);
template <Post P = Post::none>
SASSEMU_INLINE V32 badd2(V32 a, V32 b);
template <Post P = Post::none>
SASSEMU_INLINE V32 bmul2(V32 a, V32 b);
template <Post P = Post::none>
SASSEMU_INLINE V32 bfma2(V32 a, V32 b, V32 c);
SASSEMU_INLINE V32 ftz_f16x2(V32 a);  // subnormal halves -> signed zero
// NanWins: any NaN gives kF16Nan; else one NaN gives the other operand. -0 < +0.
template <bool NanWins = false>
SASSEMU_INLINE V32 hmin2(V32 a, V32 b);
template <bool NanWins = false>
SASSEMU_INLINE V32 hmax2(V32 a, V32 b);
template <bool NanWins = false>
SASSEMU_INLINE V32 bmin2(V32 a, V32 b);
template <bool NanWins = false>
SASSEMU_INLINE V32 bmax2(V32 a, V32 b);
SASSEMU_INLINE MaskPair hcmp2(V32 a, V32 b, Compare c);
SASSEMU_INLINE MaskPair bcmp2(V32 a, V32 b, Compare c);

// ---- guest memory ---------------------------------------------------------------------------
// Lanes outside the mask touch nothing and read as 0. Accesses are naturally aligned per lane and
// do not tear up to 8 bytes per lane. Which lane of a scatter wins when some collide: kStoreBytes.
// Under SASSEMU_TSAN every access is a relaxed atomic of the lane's width (at most 8 bytes).
SASSEMU_INLINE V32 gather_u8(const void* base, V32 offset, Mask m);
SASSEMU_INLINE V32 gather_s8(const void* base, V32 offset, Mask m);
SASSEMU_INLINE V32 gather_u16(const void* base, V32 offset, Mask m);
SASSEMU_INLINE V32 gather_s16(const void* base, V32 offset, Mask m);
SASSEMU_INLINE V32 gather_32(const void* base, V32 offset, Mask m);
SASSEMU_INLINE V64 gather_64(const void* base, V32 offset, Mask m);
// 16 bytes per lane, as the rows of words 0 .. 3.
struct Rows4 {
    V32 r[4];
};
SASSEMU_INLINE Rows4 gather_128(const void* base, V32 offset, Mask m);
SASSEMU_INLINE void scatter_8(void* base, V32 offset, V32 v, Mask m);
SASSEMU_INLINE void scatter_16(void* base, V32 offset, V32 v, Mask m);
SASSEMU_INLINE void scatter_32(void* base, V32 offset, V32 v, Mask m);
SASSEMU_INLINE void scatter_64(void* base, V32 offset, V64 v, Mask m);
SASSEMU_INLINE void scatter_128(void* base, V32 offset, const Rows4& v, Mask m);
// The same with a host address per lane.
SASSEMU_INLINE V32 gather_u8(V64 host, Mask m);
SASSEMU_INLINE V32 gather_s8(V64 host, Mask m);
SASSEMU_INLINE V32 gather_u16(V64 host, Mask m);
SASSEMU_INLINE V32 gather_s16(V64 host, Mask m);
SASSEMU_INLINE V32 gather_32(V64 host, Mask m);
SASSEMU_INLINE V64 gather_64(V64 host, Mask m);
SASSEMU_INLINE Rows4 gather_128(V64 host, Mask m);
SASSEMU_INLINE void scatter_8(V64 host, V32 v, Mask m);
SASSEMU_INLINE void scatter_16(V64 host, V32 v, Mask m);
SASSEMU_INLINE void scatter_32(V64 host, V32 v, Mask m);
SASSEMU_INLINE void scatter_64(V64 host, V64 v, Mask m);
SASSEMU_INLINE void scatter_128(V64 host, const Rows4& v, Mask m);
// Lane-contiguous memory: lane i has its value at p + i * size. Whole warps, and masked ones.
SASSEMU_INLINE V32 load_lanes_u8(const void* p);
SASSEMU_INLINE V32 load_lanes_s8(const void* p);
SASSEMU_INLINE V32 load_lanes_u16(const void* p);
SASSEMU_INLINE V32 load_lanes_s16(const void* p);
SASSEMU_INLINE V32 load_lanes_32(const void* p);
SASSEMU_INLINE V64 load_lanes_64(const void* p);
SASSEMU_INLINE Rows4 load_lanes_128(const void* p);
SASSEMU_INLINE void store_lanes_8(void* p, V32 v);
SASSEMU_INLINE void store_lanes_16(void* p, V32 v);
SASSEMU_INLINE void store_lanes_32(void* p, V32 v);
SASSEMU_INLINE void store_lanes_64(void* p, V64 v);
SASSEMU_INLINE void store_lanes_128(void* p, const Rows4& v);
SASSEMU_INLINE V32 load_lanes_32(const void* p, Mask m);
SASSEMU_INLINE V64 load_lanes_64(const void* p, Mask m);
SASSEMU_INLINE void store_lanes_32(void* p, V32 v, Mask m);
SASSEMU_INLINE void store_lanes_64(void* p, V64 v, Mask m);

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
