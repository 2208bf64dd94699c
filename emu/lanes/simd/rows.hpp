// SPDX-License-Identifier: Apache-2.0
// Rows, lanes, masks and reductions for the vector levels, over the chunk operations of v3/ or v4/.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

namespace k {
// Lanes of the even (odd) 64-bit chunks, packed to 16 bits.
SASSEMU_INLINE uint32_t even_bits(Mask m) { return _pext_u32(m, 0x55555555u); }
SASSEMU_INLINE uint32_t odd_bits(Mask m) { return _pext_u32(m, 0xaaaaaaaau); }
SASSEMU_INLINE Mask join_bits(uint32_t even, uint32_t odd) {
    return _pdep_u32(even, 0x55555555u) | _pdep_u32(odd, 0xaaaaaaaau);
}
}  // namespace k

// r.c[i] and r[2i], r[2i+1] from expressions over the chunks of the arguments.
#define SASSEMU_MASK_OF(expr)                    \
    Mask result = 0;                             \
    SASSEMU_EACH(result |= k::bits((expr), i);); \
    return result
#define SASSEMU_MASK64_OF(expr)        \
    uint32_t even_ = 0, odd_ = 0;      \
    SASSEMU_EACH({                     \
        constexpr int j = 2 * i;       \
        even_ |= k::bits64((expr), i); \
    } {                                \
        constexpr int j = 2 * i + 1;   \
        odd_ |= k::bits64((expr), i);  \
    });                                \
    return k::join_bits(even_, odd_)
#define SASSEMU_EACH64(...)          \
    SASSEMU_EACH({                   \
        constexpr int j = 2 * i;     \
        __VA_ARGS__                  \
    } {                              \
        constexpr int j = 2 * i + 1; \
        __VA_ARGS__                  \
    })

SASSEMU_INLINE V32 load(const uint32_t* row) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::load(row + i * kChunkLanes););
    return r;
}
SASSEMU_INLINE void store(uint32_t* row, V32 v) {
    SASSEMU_EACH(k::store(row + i * kChunkLanes, v.c[i]););
}
SASSEMU_INLINE void store(uint32_t* row, V32 v, Mask m) {
    SASSEMU_EACH(k::store_masked(row + i * kChunkLanes, k::mask(m, i), v.c[i]););
}
SASSEMU_INLINE V32 splat(uint32_t x) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::splat(x););
    return r;
}
SASSEMU_INLINE V32 load_quad(const uint32_t* words) {
    const C32 quad = k::load_quad(words);
    V32 r;
    SASSEMU_EACH(r.c[i] = quad;);
    return r;
}
SASSEMU_INLINE V64 splat64(uint64_t x) {
    V64 r;
    SASSEMU_EACH64(r.c[j] = k::splat64(x););
    return r;
}
SASSEMU_INLINE V32 lane_ids() {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::lane_ids(i););
    return r;
}
SASSEMU_INLINE V64 make64(V32 lo, V32 hi) {
    V64 r;
    SASSEMU_EACH(r.c[2 * i] = k::even64(lo.c[i], hi.c[i]);
                 r.c[2 * i + 1] = k::odd64(lo.c[i], hi.c[i]););
    return r;
}
SASSEMU_INLINE V32 lo32(V64 v) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::low_words(v.c[2 * i], v.c[2 * i + 1]););
    return r;
}
SASSEMU_INLINE V32 hi32(V64 v) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::high_words(v.c[2 * i], v.c[2 * i + 1]););
    return r;
}
SASSEMU_INLINE V64 zext64(V32 v) {
    V64 r;
    SASSEMU_EACH(r.c[2 * i] = (C64)v.c[i] & 0xffffffffu; r.c[2 * i + 1] = (C64)v.c[i] >> 32;);
    return r;
}
SASSEMU_INLINE V64 sext64(V32 v) {
    V32 sign;
    SASSEMU_EACH(sign.c[i] = (C32)((S32)v.c[i] >> 31););
    return make64(v, sign);
}
SASSEMU_INLINE V64 load_pair(const uint32_t* lo, const uint32_t* hi) {
    return make64(load(lo), load(hi));
}
SASSEMU_INLINE void store_pair(uint32_t* lo, uint32_t* hi, V64 v) {
    store(lo, lo32(v));
    store(hi, hi32(v));
}
SASSEMU_INLINE void store_pair(uint32_t* lo, uint32_t* hi, V64 v, Mask m) {
    store(lo, lo32(v), m);
    store(hi, hi32(v), m);
}
SASSEMU_INLINE V64 load64(const uint64_t* lanes) {
    V64 r;
    SASSEMU_EACH(const C64 first = (C64)k::loadu(lanes + i * kChunkLanes);
                 const C64 second = (C64)k::loadu(lanes + i * kChunkLanes + kChunkLanes / 2);
                 r.c[2 * i] = k::evens(first, second); r.c[2 * i + 1] = k::odds(first, second););
    return r;
}
SASSEMU_INLINE void store64(uint64_t* lanes, V64 v) {
    SASSEMU_EACH(const C64 even = v.c[2 * i]; const C64 odd = v.c[2 * i + 1];
                 k::storeu(lanes + i * kChunkLanes, (C32)k::first_half(even, odd)); k::storeu(
                     lanes + i * kChunkLanes + kChunkLanes / 2, (C32)k::second_half(even, odd)););
}
SASSEMU_INLINE uint32_t lane(V32 v, unsigned i) {
    alignas(64) uint32_t a[kLanes];
    store(a, v);
    return a[i & 31];
}
SASSEMU_INLINE uint64_t lane64(V64 v, unsigned i) {
    alignas(64) uint64_t a[kLanes];
    store64(a, v);
    return a[i & 31];
}
SASSEMU_INLINE V32 permute(V32 v, V32 index) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::pick(v, index.c[i]););
    return r;
}
SASSEMU_INLINE V32 broadcast_lane(V32 v, unsigned i) { return permute(v, splat(i)); }
SASSEMU_INLINE V32 select(Mask m, V32 a, V32 b) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::blend(k::mask(m, i), a.c[i], b.c[i]););
    return r;
}
SASSEMU_INLINE V64 select64(Mask m, V64 a, V64 b) {
    V64 r;
    const uint32_t even = k::even_bits(m), odd = k::odd_bits(m);
    SASSEMU_EACH(r.c[2 * i] = k::blend64(k::mask64(even, i), a.c[2 * i], b.c[2 * i]);
                 r.c[2 * i + 1] = k::blend64(k::mask64(odd, i), a.c[2 * i + 1], b.c[2 * i + 1]););
    return r;
}
SASSEMU_INLINE Mask nonzero(V32 v) { SASSEMU_MASK_OF(k::test(v.c[i], v.c[i])); }
SASSEMU_INLINE Mask sign_mask(V32 v) { SASSEMU_MASK_OF(k::sign(v.c[i])); }

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
