// SPDX-License-Identifier: Apache-2.0
// Guest memory and reductions of the scalar level: one lane at a time, in lane order.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

#define SASSEMU_REDUCE(name, identity, expr)      \
    SASSEMU_INLINE uint32_t name(V32 v, Mask m) { \
        uint32_t r = (identity);                  \
        SASSEMU_FOR_LANES {                       \
            const uint32_t x = v.l[i];            \
            if (m >> i & 1) r = (expr);           \
        }                                         \
        return r;                                 \
    }
SASSEMU_REDUCE(reduce_add, 0u, r + x)
SASSEMU_REDUCE(reduce_min_s, 0x7fffffffu, (int32_t)x < (int32_t)r ? x : r)
SASSEMU_REDUCE(reduce_max_s, 0x80000000u, (int32_t)x > (int32_t)r ? x : r)
SASSEMU_REDUCE(reduce_min_u, ~0u, x < r ? x : r)
SASSEMU_REDUCE(reduce_max_u, 0u, x > r ? x : r)
SASSEMU_REDUCE(reduce_and, ~0u, r& x)
SASSEMU_REDUCE(reduce_or, 0u, r | x)
SASSEMU_REDUCE(reduce_xor, 0u, r ^ x)
#undef SASSEMU_REDUCE

#define SASSEMU_GATHER(name, V, T, U)                                                    \
    SASSEMU_INLINE V name(const void* base, V32 offset, Mask m) {                        \
        V r;                                                                             \
        SASSEMU_FOR_LANES r.l[i] =                                                       \
            m >> i & 1 ? (U)(T)guest::load<sizeof(T)>(guest::at(base, offset.l[i])) : 0; \
        return r;                                                                        \
    }                                                                                    \
    SASSEMU_INLINE V name(V64 host, Mask m) {                                            \
        V r;                                                                             \
        SASSEMU_FOR_LANES r.l[i] =                                                       \
            m >> i & 1 ? (U)(T)guest::load<sizeof(T)>((const void*)host.l[i]) : 0;       \
        return r;                                                                        \
    }
#define SASSEMU_LOAD_LANES(name, V, T, U)                                        \
    SASSEMU_INLINE V name(const void* p) {                                       \
        V r;                                                                     \
        SASSEMU_FOR_LANES r.l[i] =                                               \
            (U)(T)guest::load<sizeof(T)>(guest::at(p, (uint64_t)i * sizeof(T))); \
        return r;                                                                \
    }
SASSEMU_GATHER(gather_u8, V32, uint8_t, uint32_t)
SASSEMU_GATHER(gather_s8, V32, int8_t, uint32_t)
SASSEMU_GATHER(gather_u16, V32, uint16_t, uint32_t)
SASSEMU_GATHER(gather_s16, V32, int16_t, uint32_t)
SASSEMU_GATHER(gather_32, V32, uint32_t, uint32_t)
SASSEMU_GATHER(gather_64, V64, uint64_t, uint64_t)
SASSEMU_LOAD_LANES(load_lanes_u8, V32, uint8_t, uint32_t)
SASSEMU_LOAD_LANES(load_lanes_s8, V32, int8_t, uint32_t)
SASSEMU_LOAD_LANES(load_lanes_u16, V32, uint16_t, uint32_t)
SASSEMU_LOAD_LANES(load_lanes_s16, V32, int16_t, uint32_t)
SASSEMU_LOAD_LANES(load_lanes_32, V32, uint32_t, uint32_t)
SASSEMU_LOAD_LANES(load_lanes_64, V64, uint64_t, uint64_t)
#undef SASSEMU_GATHER
#undef SASSEMU_LOAD_LANES

#define SASSEMU_SCATTER(name, V, Size)                                                \
    SASSEMU_INLINE void name(void* base, V32 offset, V v, Mask m) {                   \
        SASSEMU_FOR_LANES {                                                           \
            const int l = i ^ guest::last_of_part<Size>;                              \
            if (m >> l & 1) guest::store<Size>(guest::at(base, offset.l[l]), v.l[l]); \
        }                                                                             \
    }                                                                                 \
    SASSEMU_INLINE void name(V64 host, V v, Mask m) {                                 \
        SASSEMU_FOR_LANES {                                                           \
            const int l = i ^ guest::last_of_part<Size>;                              \
            if (m >> l & 1) guest::store<Size>((void*)host.l[l], v.l[l]);             \
        }                                                                             \
    }
#define SASSEMU_STORE_LANES(name, V, Size)                                              \
    SASSEMU_INLINE void name(void* p, V v) {                                            \
        SASSEMU_FOR_LANES guest::store<Size>(guest::at(p, (uint64_t)i * Size), v.l[i]); \
    }
SASSEMU_SCATTER(scatter_8, V32, 1)
SASSEMU_SCATTER(scatter_16, V32, 2)
SASSEMU_SCATTER(scatter_32, V32, 4)
SASSEMU_SCATTER(scatter_64, V64, 8)
SASSEMU_STORE_LANES(store_lanes_8, V32, 1)
SASSEMU_STORE_LANES(store_lanes_16, V32, 2)
SASSEMU_STORE_LANES(store_lanes_32, V32, 4)
SASSEMU_STORE_LANES(store_lanes_64, V64, 8)
#undef SASSEMU_SCATTER
#undef SASSEMU_STORE_LANES

SASSEMU_INLINE V32 load_lanes_32(const void* p, Mask m) {
    return gather_32(p, mul_lo(lane_ids(), splat(4)), m);
}
SASSEMU_INLINE V64 load_lanes_64(const void* p, Mask m) {
    return gather_64(p, mul_lo(lane_ids(), splat(8)), m);
}
SASSEMU_INLINE void store_lanes_32(void* p, V32 v, Mask m) {
    scatter_32(p, mul_lo(lane_ids(), splat(4)), v, m);
}
SASSEMU_INLINE void store_lanes_64(void* p, V64 v, Mask m) {
    scatter_64(p, mul_lo(lane_ids(), splat(8)), v, m);
}

// 16 bytes of a lane are two accesses of 8.
SASSEMU_INLINE Rows4 rows_of(V64 first, V64 second) {
    return Rows4{{lo32(first), hi32(first), lo32(second), hi32(second)}};
}
SASSEMU_INLINE Rows4 gather_128(const void* base, V32 offset, Mask m) {
    return rows_of(gather_64(base, offset, m), gather_64(guest::at(base, 8), offset, m));
}
SASSEMU_INLINE Rows4 gather_128(V64 host, Mask m) {
    return rows_of(gather_64(host, m), gather_64(add64(host, splat64(8)), m));
}
// Lane by lane, so that of two colliding lanes one wins both halves.
SASSEMU_INLINE void scatter_128(V64 host, const Rows4& v, Mask m) {
    const V64 first = make64(v.r[0], v.r[1]), second = make64(v.r[2], v.r[3]);
    SASSEMU_FOR_LANES {
        const int l = i ^ guest::last_of_part<16>;
        if (!(m >> l & 1)) continue;
        guest::store<8>((void*)host.l[l], first.l[l]);
        guest::store<8>((void*)(host.l[l] + 8), second.l[l]);
    }
}
SASSEMU_INLINE void scatter_128(void* base, V32 offset, const Rows4& v, Mask m) {
    scatter_128(add64(splat64((uint64_t)base), zext64(offset)), v, m);
}
SASSEMU_INLINE Rows4 load_lanes_128(const void* p) {
    return gather_128(p, mul_lo(lane_ids(), splat(16)), kAllLanes);
}
SASSEMU_INLINE void store_lanes_128(void* p, const Rows4& v) {
    scatter_128(p, mul_lo(lane_ids(), splat(16)), v, kAllLanes);
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
