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
// Host addresses of the lanes, those outside the mask redirected. m is not empty.
SASSEMU_INLINE void addresses(uint64_t* at_, V64 host, Mask m) {
    store64(at_, host);
    if (m != kAllLanes) store64(at_, select64(m, host, splat64(at_[__builtin_ctz(m)])));
}
SASSEMU_INLINE V64 host_address(const void* base, V32 offset) {
    return add64(splat64((uint64_t)base), zext64(offset));
}
template <size_t Size, bool Signed>
SASSEMU_INLINE uint64_t load_extended(const void* p) {
    const uint64_t x = load<Size>(p);
    if constexpr (!Signed || Size == 8) return x;
    return (uint64_t)(int64_t)((int64_t)(x << (64 - 8 * Size)) >> (64 - 8 * Size));
}
template <size_t Size, bool Signed>
SASSEMU_INLINE V32 gather(const void* base, V32 offset, Mask m) {
    if (m == 0) return splat(0);
    alignas(64) uint32_t at_[kLanes], out[kLanes];
    if (m != kAllLanes)
        offset = select(m, offset, broadcast_lane(offset, (unsigned)__builtin_ctz(m)));
    sassemu::SASSEMU_LANES_NS::store(at_, offset);
#pragma GCC unroll 8
    for (int l = 0; l < kLanes; ++l)
        out[l] = (uint32_t)load_extended<Size, Signed>(at(base, at_[l]));
    const V32 r = sassemu::SASSEMU_LANES_NS::load(out);
    return m == kAllLanes ? r : select(m, r, splat(0));
}
template <size_t Size, bool Signed>
SASSEMU_INLINE V32 gather(V64 host, Mask m) {
    if (m == 0) return splat(0);
    alignas(64) uint64_t at_[kLanes];
    alignas(64) uint32_t out[kLanes];
    addresses(at_, host, m);
#pragma GCC unroll 8
    for (int l = 0; l < kLanes; ++l)
        out[l] = (uint32_t)load_extended<Size, Signed>((const void*)at_[l]);
    const V32 r = sassemu::SASSEMU_LANES_NS::load(out);
    return m == kAllLanes ? r : select(m, r, splat(0));
}
template <size_t Size>
SASSEMU_INLINE void scatter(void* base, V32 offset, V32 v, Mask m) {
    alignas(64) uint32_t at_[kLanes], from[kLanes];
    sassemu::SASSEMU_LANES_NS::store(at_, offset);
    sassemu::SASSEMU_LANES_NS::store(from, v);
    if (m == kAllLanes) {
#pragma GCC unroll 8
        for (int l = 0; l < kLanes; ++l) store<Size>(at(base, at_[l]), from[l]);
        return;
    }
    for (; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        store<Size>(at(base, at_[l]), from[l]);
    }
}
template <size_t Size>
SASSEMU_INLINE void scatter(V64 host, V32 v, Mask m) {
    alignas(64) uint64_t at_[kLanes];
    alignas(64) uint32_t from[kLanes];
    store64(at_, host);
    sassemu::SASSEMU_LANES_NS::store(from, v);
    if (m == kAllLanes) {
#pragma GCC unroll 8
        for (int l = 0; l < kLanes; ++l) store<Size>((void*)at_[l], from[l]);
        return;
    }
    for (; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        store<Size>((void*)at_[l], from[l]);
    }
}
}  // namespace guest

#define SASSEMU_GATHER(name, Size, Signed)                          \
    SASSEMU_INLINE V32 name(const void* base, V32 offset, Mask m) { \
        return guest::gather<Size, Signed>(base, offset, m);        \
    }                                                               \
    SASSEMU_INLINE V32 name(V64 host, Mask m) { return guest::gather<Size, Signed>(host, m); }
SASSEMU_GATHER(gather_u8, 1, false)
SASSEMU_GATHER(gather_s8, 1, true)
SASSEMU_GATHER(gather_u16, 2, false)
SASSEMU_GATHER(gather_s16, 2, true)
SASSEMU_GATHER(gather_32, 4, false)
#undef SASSEMU_GATHER
#define SASSEMU_SCATTER(name, Size)                                   \
    SASSEMU_INLINE void name(void* base, V32 offset, V32 v, Mask m) { \
        guest::scatter<Size>(base, offset, v, m);                     \
    }                                                                 \
    SASSEMU_INLINE void name(V64 host, V32 v, Mask m) { guest::scatter<Size>(host, v, m); }
SASSEMU_SCATTER(scatter_8, 1)
SASSEMU_SCATTER(scatter_16, 2)
SASSEMU_SCATTER(scatter_32, 4)
#undef SASSEMU_SCATTER

SASSEMU_INLINE V64 gather_64(V64 host, Mask m) {
    if (m == 0) return splat64(0);
    alignas(64) uint64_t at[kLanes], out[kLanes];
    guest::addresses(at, host, m);
#pragma GCC unroll 8
    for (int l = 0; l < kLanes; ++l) out[l] = guest::load<8>((const void*)at[l]);
    const V64 r = load64(out);
    return m == kAllLanes ? r : select64(m, r, splat64(0));
}
SASSEMU_INLINE V64 gather_64(const void* base, V32 offset, Mask m) {
    return gather_64(guest::host_address(base, offset), m);
}
SASSEMU_INLINE void scatter_64(V64 host, V64 v, Mask m) {
    alignas(64) uint64_t at[kLanes], from[kLanes];
    store64(at, host);
    store64(from, v);
    if (m == kAllLanes) {
#pragma GCC unroll 8
        for (int l = 0; l < kLanes; ++l) guest::store<8>((void*)at[l], from[l]);
        return;
    }
    for (; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        guest::store<8>((void*)at[l], from[l]);
    }
}
SASSEMU_INLINE void scatter_64(void* base, V32 offset, V64 v, Mask m) {
    scatter_64(guest::host_address(base, offset), v, m);
}

// Four rows from 32 quads of words and back; p is not guest memory.
namespace k {
SASSEMU_INLINE Rows4 load_quad_rows(const void* p) {
    const uint32_t* words = (const uint32_t*)p;
    Rows4 v;
    SASSEMU_EACH(load_quads(words + i * kChunkLanes * 4, v.r[0].c[i], v.r[1].c[i], v.r[2].c[i],
                            v.r[3].c[i]););
    return v;
}
SASSEMU_INLINE void store_quad_rows(void* p, const Rows4& v) {
    uint32_t* words = (uint32_t*)p;
    SASSEMU_EACH(store_quads(words + i * kChunkLanes * 4, v.r[0].c[i], v.r[1].c[i], v.r[2].c[i],
                             v.r[3].c[i]););
}
}  // namespace k
SASSEMU_INLINE Rows4 gather_128(V64 host, Mask m) {
    if (m == 0) return Rows4{{splat(0), splat(0), splat(0), splat(0)}};
    alignas(64) uint64_t at[kLanes], out[2 * kLanes];
    guest::addresses(at, host, m);
#pragma GCC unroll 4
    for (int l = 0; l < kLanes; ++l) {
        out[2 * l] = guest::load<8>((const void*)at[l]);
        out[2 * l + 1] = guest::load<8>((const void*)(at[l] + 8));
    }
    Rows4 v = k::load_quad_rows(out);
    if (m != kAllLanes) {
        for (int w = 0; w < 4; ++w) v.r[w] = select(m, v.r[w], splat(0));
    }
    return v;
}
SASSEMU_INLINE Rows4 gather_128(const void* base, V32 offset, Mask m) {
    return gather_128(guest::host_address(base, offset), m);
}
SASSEMU_INLINE void scatter_128(V64 host, const Rows4& v, Mask m) {
    alignas(64) uint64_t at[kLanes], from[2 * kLanes];
    store64(at, host);
    k::store_quad_rows(from, v);
    for (; m != 0; m &= m - 1) {
        const int l = __builtin_ctz(m);
        guest::store<8>((void*)at[l], from[2 * l]);
        guest::store<8>((void*)(at[l] + 8), from[2 * l + 1]);
    }
}
SASSEMU_INLINE void scatter_128(void* base, V32 offset, const Rows4& v, Mask m) {
    scatter_128(guest::host_address(base, offset), v, m);
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
SASSEMU_INLINE Rows4 load_lanes_128(const void* p) { return k::load_quad_rows(p); }
SASSEMU_INLINE void store_lanes_128(void* p, const Rows4& v) { k::store_quad_rows(p, v); }
#endif

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
