// SPDX-License-Identifier: Apache-2.0
// Reductions and guest memory of the vector levels. Scattered accesses go lane by lane: hardware
// gathers and scatters are slower on much hardware, and the order of lanes stays exact.
// Lane-contiguous accesses are whole vectors, except under SASSEMU_TSAN.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

#define SASSEMU_REDUCE(name, identity, op)              \
    namespace k {                                       \
    template <int N>                                    \
    SASSEMU_INLINE C32 name(C32 a) {                    \
        if constexpr (N == 0) {                         \
            return a;                                   \
        } else {                                        \
            const C32 b = rotate<N>(a);                 \
            return name<N / 2>((C32)(op));              \
        }                                               \
    }                                                   \
    }                                                   \
    SASSEMU_INLINE uint32_t name(V32 v, Mask m) {       \
        v = select(m, v, splat(identity));              \
        C32 a = v.c[0];                                 \
        for (int chunk = 1; chunk < kChunks; ++chunk) { \
            const C32 b = v.c[chunk];                   \
            a = (C32)(op);                              \
        }                                               \
        return k::lane0(k::name<kChunkLanes / 2>(a));   \
    }
SASSEMU_REDUCE(reduce_add, 0u, a + b)
SASSEMU_REDUCE(reduce_min_s, 0x7fffffffu, k::min_s(a, b))
SASSEMU_REDUCE(reduce_max_s, 0x80000000u, k::max_s(a, b))
SASSEMU_REDUCE(reduce_min_u, ~0u, k::min_u(a, b))
SASSEMU_REDUCE(reduce_max_u, 0u, k::max_u(a, b))
SASSEMU_REDUCE(reduce_and, ~0u, a& b)
SASSEMU_REDUCE(reduce_or, 0u, a | b)
SASSEMU_REDUCE(reduce_xor, 0u, a ^ b)
#undef SASSEMU_REDUCE

// ---- lane by lane. A load outside the mask is redirected to the address of an active lane, which
// is readable and read anyway; then no branch depends on the mask.
namespace guest {
struct Offsets {
    uintptr_t base;
    alignas(64) uint32_t at[kLanes];
    SASSEMU_INLINE const void* operator[](int l) const { return (const void*)(base + at[l]); }
};
struct Hosts {
    alignas(64) uint64_t at[kLanes];
    SASSEMU_INLINE const void* operator[](int l) const { return (const void*)at[l]; }
};
SASSEMU_INLINE void set(Offsets& a, const void* base, V32 offset) {
    a.base = (uintptr_t)base;
    sassemu::SASSEMU_LANES_NS::store(a.at, offset);
}
SASSEMU_INLINE void set(Hosts& a, V64 host) { store64(a.at, host); }
// m is not empty.
SASSEMU_INLINE void set_redirected(Offsets& a, const void* base, V32 offset, Mask m) {
    const unsigned first = (unsigned)__builtin_ctz(m);
    set(a, base, m == kAllLanes ? offset : select(m, offset, broadcast_lane(offset, first)));
}
SASSEMU_INLINE void set_redirected(Hosts& a, V64 host, Mask m) {
    set(a, host);
    if (m != kAllLanes) set(a, select64(m, host, splat64(a.at[__builtin_ctz(m)])));
}

template <size_t Size, bool Signed>
SASSEMU_INLINE int word(const void* p) {
#ifdef SASSEMU_TSAN
    const uint32_t x = (uint32_t)load<Size>(p);
#else
    const uint32_t x = (uint32_t) * (const typename Word<Size>::Type*)p;  // may fold into an insert
#endif
    if constexpr (!Signed || Size == 4) return (int)x;
    return (int)(x << (32 - 8 * Size)) >> (32 - 8 * Size);
}
// Four lanes of words, two of doublewords (lanes l and l + 2, as V64 has them), one of quads.
template <size_t Size, bool Signed, class Addresses>
SASSEMU_INLINE __m128i words(const Addresses& a, int l) {
    const int w0 = word<Size, Signed>(a[l]), w1 = word<Size, Signed>(a[l + 1]);
    const int w2 = word<Size, Signed>(a[l + 2]), w3 = word<Size, Signed>(a[l + 3]);
    __m128i v = _mm_cvtsi32_si128(w0);
    v = _mm_insert_epi32(v, w1, 1);
    v = _mm_insert_epi32(v, w2, 2);
    return _mm_insert_epi32(v, w3, 3);
}
SASSEMU_INLINE __m128i two_words(const void* p, const void* q) {
#ifdef SASSEMU_TSAN
    return _mm_set_epi64x((long long)load<8>(q), (long long)load<8>(p));
#else
    return _mm_castps_si128(
        _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i*)p)), (const __m64*)q));
#endif
}
SASSEMU_INLINE __m128i quad(const void* p) {
#ifdef SASSEMU_TSAN
    return two_words(p, at(p, 8));
#else
    return _mm_loadu_si128((const __m128i*)p);
#endif
}
SASSEMU_INLINE void store_quad(void* p, __m128i v) {
#ifdef SASSEMU_TSAN
    store<8>(p, (uint64_t)_mm_cvtsi128_si64(v));
    store<8>(at(p, 8), (uint64_t)_mm_extract_epi64(v, 1));
#else
    _mm_storeu_si128((__m128i*)p, v);
#endif
}

template <size_t Size, bool Signed, class Addresses>
SASSEMU_INLINE V32 gather(const Addresses& a, Mask m) {
    V32 r;
    SASSEMU_EACH(r.c[i] = SASSEMU_JOIN_PARTS(words<Size, Signed>(a, i * kChunkLanes + 4 * part)););
    return m == kAllLanes ? r : select(m, r, splat(0));
}
template <class Addresses>
SASSEMU_INLINE V64 gather_64(const Addresses& a, Mask m) {
    V64 r;
    SASSEMU_EACH(constexpr int l = i * kChunkLanes; r.c[2 * i] = (C64)SASSEMU_JOIN_PARTS(two_words(
                                                        a[l + 4 * part], a[l + 4 * part + 2]));
                 r.c[2 * i + 1] =
                     (C64)SASSEMU_JOIN_PARTS(two_words(a[l + 4 * part + 1], a[l + 4 * part + 3])););
    return m == kAllLanes ? r : select64(m, r, splat64(0));
}
template <class Addresses>
SASSEMU_INLINE Rows4 gather_128(const Addresses& a, Mask m) {
    Rows4 v;
    SASSEMU_EACH(constexpr int l = i * kChunkLanes;
                 C32 q[4] = {SASSEMU_JOIN_PARTS(quad(a[l + part])),
                             SASSEMU_JOIN_PARTS(quad(a[l + k::kParts + part])),
                             SASSEMU_JOIN_PARTS(quad(a[l + 2 * k::kParts + part])),
                             SASSEMU_JOIN_PARTS(quad(a[l + 3 * k::kParts + part]))};
                 k::from_quads(q); v.r[0].c[i] = q[0]; v.r[1].c[i] = q[1]; v.r[2].c[i] = q[2];
                 v.r[3].c[i] = q[3];);
    if (m != kAllLanes) {
        const V32 none = splat(0);
        v = Rows4{{select(m, v.r[0], none), select(m, v.r[1], none), select(m, v.r[2], none),
                   select(m, v.r[3], none)}};
    }
    return v;
}
// put(lane) for the lanes of the mask, in the order of kStoreBytes.
template <size_t Size, class Put>
SASSEMU_INLINE void in_order(Mask m, Put put) {
    constexpr int last = last_of_part<Size>;
    for (int part = 0; part < kLanes; part += last + 1)
        for (Mask rest = m & kAllLanes >> (kLanes - 1 - last) << part; rest != 0;) {
            const int l = kLanes - 1 - __builtin_clz(rest);
            rest ^= 1u << l;
            put(l);
        }
}
template <size_t Size, class Addresses, class T>
SASSEMU_INLINE void scatter(const Addresses& a, const T* from, Mask m) {
    if (m == kAllLanes) {
#pragma GCC unroll 8
        for (int i = 0; i < kLanes; ++i) {
            const int l = i ^ last_of_part<Size>;
            store<Size>((void*)a[l], from[l]);
        }
        return;
    }
    in_order<Size>(m, [&](int l) { store<Size>((void*)a[l], from[l]); });
}
template <class Addresses>
SASSEMU_INLINE void scatter_128(const Addresses& a, const Rows4& v, Mask m) {
    alignas(64) uint32_t from[4 * kLanes];
    SASSEMU_EACH(C32 q[4] = {v.r[0].c[i], v.r[1].c[i], v.r[2].c[i], v.r[3].c[i]}; k::to_quads(q);
                 uint32_t* p = from + 4 * i * kChunkLanes; k::store(p, q[0]);
                 k::store(p + kChunkLanes, q[1]); k::store(p + 2 * kChunkLanes, q[2]);
                 k::store(p + 3 * kChunkLanes, q[3]););
    in_order<16>(
        m, [&](int l) { store_quad((void*)a[l], _mm_load_si128((const __m128i*)(from + 4 * l))); });
}
}  // namespace guest

#define SASSEMU_GATHER(name, Value, Empty, ...)                       \
    SASSEMU_INLINE Value name(const void* base, V32 offset, Mask m) { \
        if (m == 0) return Empty;                                     \
        guest::Offsets a;                                             \
        guest::set_redirected(a, base, offset, m);                    \
        return guest::__VA_ARGS__(a, m);                              \
    }                                                                 \
    SASSEMU_INLINE Value name(V64 host, Mask m) {                     \
        if (m == 0) return Empty;                                     \
        guest::Hosts a;                                               \
        guest::set_redirected(a, host, m);                            \
        return guest::__VA_ARGS__(a, m);                              \
    }
#define SASSEMU_NO_ROWS (Rows4{{splat(0), splat(0), splat(0), splat(0)}})
SASSEMU_GATHER(gather_u8, V32, splat(0), gather<1, false>)
SASSEMU_GATHER(gather_s8, V32, splat(0), gather<1, true>)
SASSEMU_GATHER(gather_u16, V32, splat(0), gather<2, false>)
SASSEMU_GATHER(gather_s16, V32, splat(0), gather<2, true>)
SASSEMU_GATHER(gather_32, V32, splat(0), gather<4, false>)
SASSEMU_GATHER(gather_64, V64, splat64(0), gather_64)
SASSEMU_GATHER(gather_128, Rows4, SASSEMU_NO_ROWS, gather_128)
#undef SASSEMU_GATHER
#undef SASSEMU_NO_ROWS
#define SASSEMU_SCATTER(name, Value, Lane, store_value, Size)           \
    SASSEMU_INLINE void name(void* base, V32 offset, Value v, Mask m) { \
        guest::Offsets a;                                               \
        alignas(64) Lane from[kLanes];                                  \
        guest::set(a, base, offset);                                    \
        store_value(from, v);                                           \
        guest::scatter<Size>(a, from, m);                               \
    }                                                                   \
    SASSEMU_INLINE void name(V64 host, Value v, Mask m) {               \
        guest::Hosts a;                                                 \
        alignas(64) Lane from[kLanes];                                  \
        guest::set(a, host);                                            \
        store_value(from, v);                                           \
        guest::scatter<Size>(a, from, m);                               \
    }
SASSEMU_SCATTER(scatter_8, V32, uint32_t, store, 1)
SASSEMU_SCATTER(scatter_16, V32, uint32_t, store, 2)
SASSEMU_SCATTER(scatter_32, V32, uint32_t, store, 4)
SASSEMU_SCATTER(scatter_64, V64, uint64_t, store64, 8)
#undef SASSEMU_SCATTER
SASSEMU_INLINE void scatter_128(void* base, V32 offset, const Rows4& v, Mask m) {
    guest::Offsets a;
    guest::set(a, base, offset);
    guest::scatter_128(a, v, m);
}
SASSEMU_INLINE void scatter_128(V64 host, const Rows4& v, Mask m) {
    guest::Hosts a;
    guest::set(a, host);
    guest::scatter_128(a, v, m);
}

// ---- lane-contiguous
#ifdef SASSEMU_TSAN
#define SASSEMU_LOAD_LANES(name, gather, k_load, size)                \
    SASSEMU_INLINE V32 name(const void* p) {                          \
        return gather(p, mul_lo(lane_ids(), splat(size)), kAllLanes); \
    }
#define SASSEMU_STORE_LANES(name, scatter, k_store, size)          \
    SASSEMU_INLINE void name(void* p, V32 v) {                     \
        scatter(p, mul_lo(lane_ids(), splat(size)), v, kAllLanes); \
    }
#else
#define SASSEMU_LOAD_LANES(name, gather, k_load, size)                        \
    SASSEMU_INLINE V32 name(const void* p) {                                  \
        V32 r;                                                                \
        SASSEMU_EACH(r.c[i] = k_load(guest::at(p, i * kChunkLanes * size));); \
        return r;                                                             \
    }
#define SASSEMU_STORE_LANES(name, scatter, k_store, size)                   \
    SASSEMU_INLINE void name(void* p, V32 v) {                              \
        SASSEMU_EACH(k_store(guest::at(p, i* kChunkLanes* size), v.c[i]);); \
    }
#endif
SASSEMU_LOAD_LANES(load_lanes_u8, gather_u8, k::load_u8, 1)
SASSEMU_LOAD_LANES(load_lanes_s8, gather_s8, k::load_s8, 1)
SASSEMU_LOAD_LANES(load_lanes_u16, gather_u16, k::load_u16, 2)
SASSEMU_LOAD_LANES(load_lanes_s16, gather_s16, k::load_s16, 2)
SASSEMU_LOAD_LANES(load_lanes_32, gather_32, k::loadu, 4)
SASSEMU_STORE_LANES(store_lanes_8, scatter_8, k::store_8, 1)
SASSEMU_STORE_LANES(store_lanes_16, scatter_16, k::store_16, 2)
SASSEMU_STORE_LANES(store_lanes_32, scatter_32, k::storeu, 4)
#undef SASSEMU_LOAD_LANES
#undef SASSEMU_STORE_LANES

#ifdef SASSEMU_TSAN
SASSEMU_INLINE V32 load_lanes_32(const void* p, Mask m) {
    return gather_32(p, mul_lo(lane_ids(), splat(4)), m);
}
SASSEMU_INLINE void store_lanes_32(void* p, V32 v, Mask m) {
    scatter_32(p, mul_lo(lane_ids(), splat(4)), v, m);
}
SASSEMU_INLINE V64 load_lanes_64(const void* p) {
    return gather_64(p, mul_lo(lane_ids(), splat(8)), kAllLanes);
}
SASSEMU_INLINE V64 load_lanes_64(const void* p, Mask m) {
    return gather_64(p, mul_lo(lane_ids(), splat(8)), m);
}
SASSEMU_INLINE void store_lanes_64(void* p, V64 v) {
    scatter_64(p, mul_lo(lane_ids(), splat(8)), v, kAllLanes);
}
SASSEMU_INLINE void store_lanes_64(void* p, V64 v, Mask m) {
    scatter_64(p, mul_lo(lane_ids(), splat(8)), v, m);
}
SASSEMU_INLINE Rows4 load_lanes_128(const void* p) {
    return gather_128(p, mul_lo(lane_ids(), splat(16)), kAllLanes);
}
SASSEMU_INLINE void store_lanes_128(void* p, const Rows4& v) {
    scatter_128(p, mul_lo(lane_ids(), splat(16)), v, kAllLanes);
}
#else
SASSEMU_INLINE V32 load_lanes_32(const void* p, Mask m) {
    V32 r;
    SASSEMU_EACH(r.c[i] = k::load_masked(guest::at(p, i * kChunkLanes * 4), k::mask(m, i)););
    return r;
}
SASSEMU_INLINE void store_lanes_32(void* p, V32 v, Mask m) {
    SASSEMU_EACH(k::store_masked(guest::at(p, i * kChunkLanes * 4), k::mask(m, i), v.c[i]););
}
SASSEMU_INLINE V64 load_lanes_64(const void* p) { return load64((const uint64_t*)p); }
SASSEMU_INLINE void store_lanes_64(void* p, V64 v) { store64((uint64_t*)p, v); }
// In lane order the mask of half a chunk is half the bits of the chunk's mask.
SASSEMU_INLINE V64 load_lanes_64(const void* p, Mask m) {
    V64 r;
    SASSEMU_EACH(const C64 first =
                     k::load_masked64(guest::at(p, i * kChunkLanes * 8), k::mask64(m, 2 * i));
                 const C64 second = k::load_masked64(
                     guest::at(p, i * kChunkLanes * 8 + kChunkLanes * 4), k::mask64(m, 2 * i + 1));
                 r.c[2 * i] = k::evens(first, second); r.c[2 * i + 1] = k::odds(first, second););
    return r;
}
SASSEMU_INLINE void store_lanes_64(void* p, V64 v, Mask m) {
    SASSEMU_EACH(const C64 even = v.c[2 * i]; const C64 odd = v.c[2 * i + 1];
                 k::store_masked64(guest::at(p, i * kChunkLanes * 8), k::mask64(m, 2 * i),
                                   k::first_half(even, odd));
                 k::store_masked64(guest::at(p, i * kChunkLanes * 8 + kChunkLanes * 4),
                                   k::mask64(m, 2 * i + 1), k::second_half(even, odd)););
}
SASSEMU_INLINE Rows4 load_lanes_128(const void* p) {
    Rows4 v;
    SASSEMU_EACH(const uint32_t* from = (const uint32_t*)p + 4 * i * kChunkLanes;
                 C32 q[4] = {k::loadu(from), k::loadu(from + kChunkLanes),
                             k::loadu(from + 2 * kChunkLanes), k::loadu(from + 3 * kChunkLanes)};
                 k::from_quads(q); v.r[0].c[i] = q[0]; v.r[1].c[i] = q[1]; v.r[2].c[i] = q[2];
                 v.r[3].c[i] = q[3];);
    return v;
}
SASSEMU_INLINE void store_lanes_128(void* p, const Rows4& v) {
    SASSEMU_EACH(C32 q[4] = {v.r[0].c[i], v.r[1].c[i], v.r[2].c[i], v.r[3].c[i]}; k::to_quads(q);
                 uint32_t* to = (uint32_t*)p + 4 * i * kChunkLanes; k::storeu(to, q[0]);
                 k::storeu(to + kChunkLanes, q[1]); k::storeu(to + 2 * kChunkLanes, q[2]);
                 k::storeu(to + 3 * kChunkLanes, q[3]););
}
#endif

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
