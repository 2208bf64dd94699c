// SPDX-License-Identifier: Apache-2.0
// Bulk and tensor reductions: each element is an atomic operation of the asynchronous proxy; and
// each kernel without the links that it may lack. Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_90 -lineinfo reductions.cu -o reductions.cubin
#include "../../../cubins/sync/warpgroup.h"
#undef LINK
#define LINK(x) if constexpr (without != x)

enum { nothing, fence, wait, commit, read };

#define KERNEL(name, x) \
    extern "C" __global__ void name##_##x(uint32_t* data, uint32_t* out) { name<x>(data, out); }

// All CTAs add to the same words; nobody reads them before all have ended.
template <int without>
__device__ void sums(uint32_t* data, uint32_t*) {
    __shared__ alignas(16) uint32_t tile[4];
    for (uint32_t i = 0; i < 4; ++i) tile[i] = i + 1 + 10 * blockIdx.x;
    LINK(fence) PROXY_FENCE;
    BULK_ADD(data, tile, 16);
    BULK_COMMIT;
    BULK_WAIT;
}
KERNEL(sums, nothing)
KERNEL(sums, fence)

// Who has added reads what comes out, and may write the source again. `read`: it has waited for the
// reading of the source alone.
template <int without>
__device__ void own(uint32_t* data, uint32_t* out) {
    __shared__ alignas(16) uint32_t tile[4];
    for (uint32_t i = 0; i < 4; ++i) tile[i] = i + 1;
    PROXY_FENCE;
    BULK_ADD(data, tile, 16);
    LINK(commit) BULK_COMMIT;
    if constexpr (without == read)
        BULK_WAIT_READ;
    else
        LINK(wait) BULK_WAIT;
    asm volatile("st.shared.u32 [%0], 70;" ::"r"(address(tile + 3)) : "memory");
    uint32_t sum;
    LD("global.u32", sum, data + 1);
    out[0] = sum;
}
KERNEL(own, nothing)
KERNEL(own, wait)
KERNEL(own, commit)
KERNEL(own, read)

// A thread beside it adds to the word at `place` by an instruction: of another proxy, which makes
// no order with those of the reduction, whatever its scope.
template <int place, bool wide>
__device__ void beside(uint32_t* data) {
    __shared__ alignas(16) uint32_t tile[4];
    if (threadIdx.x == 32) {
        if (wide)
            asm volatile("red.relaxed.gpu.global.add.u32 [%0], 100;" ::"l"(data + place)
                         : "memory");
        else
            asm volatile("red.relaxed.cta.global.add.u32 [%0], 100;" ::"l"(data + place)
                         : "memory");
    }
    if (threadIdx.x != 0) return;
    for (uint32_t i = 0; i < 4; ++i) tile[i] = i + 1;
    PROXY_FENCE;
    BULK_ADD(data, tile, 16);
    BULK_COMMIT;
    BULK_WAIT;
}
extern "C" __global__ void beside_cta(uint32_t* data, uint32_t*) { beside<2, false>(data); }
extern "C" __global__ void beside_gpu(uint32_t* data, uint32_t*) { beside<2, true>(data); }
extern "C" __global__ void beside_next(uint32_t* data, uint32_t*) { beside<4, false>(data); }

// Elements of each kind, 16 bytes of each.
// clang-format off
__device__ alignas(16) const uint32_t given[64] = {
    1, 2, 3, 0xffffffff,
    0xffffffff, 5, 7, 0x80000000,
    0xffffffff, 5, 7, 1,
    4, 4, 4, 0,
    4, 4, 4, 9,
    0xc, 0xff, 1, 0xffffffff,
    0xc, 0xff, 1, 0,
    0xc, 0xff, 1, 0xffffffff,
    0xc0003e00, 0x48003400, 0x40003c00, 0x44004200,
    0xc0003fc0, 0x41003e80, 0x40003f80, 0x40804040,
    0xc0003e00, 0x48003400, 0x40003c00, 0x44004200,
    0x3fc00000, 0xc0000000, 0x3dcccccd, 0x41000000,
    0x9999999a, 0x3fb99999, 0, 0xc0080000,
    0xffffffff, 0, 0, 0x100,
    0xfffffffb, 0xffffffff, 0, 0x100,
    0xff00ff, 0xff, 0, 0x100,
};
__device__ alignas(16) uint32_t kept[64] = {
    0xa, 0x14, 0x1e, 2,
    3, 2, 0xffffffff, 5,
    3, 2, 0xffffffff, 5,
    3, 4, 5, 0,
    3, 0, 5, 1,
    0xa, 0xf, 2, 0x4d,
    0xa, 0xf, 2, 0x4d,
    0xa, 0xf, 2, 0,
    0x40004080, 0x3c003800, 0x4d004900, 0x51004f80,
    0x40004010, 0x3f803f00, 0x41a04120, 0x422041f0,
    0xc2004080, 0x3c003800, 0x4d004900, 0x5100cf80,
    0x40100000, 0x40000000, 0x3e4ccccd, 0x3f800000,
    0x9999999a, 0x3fc99999, 0, 0x40210000,
    1, 0, 5, 0,
    3, 0, 5, 0,
    0x34567890, 0x12, 0xffffffff, 0xffffffff,
};
// clang-format on
#define REDUCE(op, k)                                            \
    ASM("cp.reduce.async.bulk.global.shared::cta.bulk_group." op \
        " [%0], [%1], 16;" ::"l"(kept + 4 * (k)),                \
        "r"(address(tile + 4 * (k))))
// `apart`: each element, and each half of one, is touched by an instruction too.
template <bool apart>
__device__ void kinds() {
    __shared__ alignas(16) uint32_t tile[64];
    for (uint32_t i = 0; i < 64; ++i) tile[i] = given[i];
    PROXY_FENCE;
    REDUCE("add.u32", 0);
    REDUCE("min.s32", 1);
    REDUCE("max.u32", 2);
    REDUCE("inc.u32", 3);
    REDUCE("dec.u32", 4);
    REDUCE("and.b32", 5);
    REDUCE("or.b32", 6);
    REDUCE("xor.b32", 7);
    REDUCE("add.noftz.f16", 8);
    REDUCE("add.noftz.bf16", 9);
    REDUCE("max.f16", 10);
    REDUCE("add.f32", 11);
    REDUCE("add.f64", 12);
    REDUCE("add.u64", 13);
    REDUCE("max.s64", 14);
    REDUCE("and.b64", 15);
    BULK_COMMIT;
    BULK_WAIT;
    for (int i = 0; i < (apart ? 64 : 0); ++i)
        if (i < 32 || i >= 44) {
            uint32_t word;
            LD("global.u32", word, kept + i);
        } else {
            uint16_t half;
            asm volatile("ld.global.u16 %0, [%1];" : "=h"(half) : "l"(kept + i) : "memory");
        }
}
extern "C" __global__ void kinds_whole() { kinds<false>(); }
extern "C" __global__ void kinds_apart() { kinds<true>(); }

// Of 2048 bytes others touch one word.
extern "C" __global__ void many(uint32_t* data, uint32_t* out) {
    __shared__ alignas(16) uint32_t tile[512];
    ST("global.u32", data + 100, 7);
    ASM("fence.proxy.async.global;" ::);
    BULK_ADD(data, tile, 2048);
    BULK_COMMIT;
    BULK_WAIT;
    uint32_t sum;
    LD("global.u32", sum, data + 100);
    out[0] = sum;
}

// Both CTAs of a cluster add to shared memory of the first, which is told.
template <int without>
__device__ void told(uint32_t*, uint32_t* out) {
    __shared__ alignas(16) uint32_t tile[4], to[4];
    __shared__ uint64_t full;
    if (blockIdx.x == 0) {
        for (uint32_t i = 0; i < 4; ++i) to[i] = 100;
        MBAR_INIT(full, 1);
        MBAR_EXPECT(full, 32);
    }
    for (uint32_t i = 0; i < 4; ++i) tile[i] = i + 1 + 10 * blockIdx.x;
    CLUSTER_SYNC;
    ASM("fence.proxy.async.shared::cluster;" ::);
    uint32_t there, object;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(address(to)));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(object) : "r"(address(&full)));
    ASM("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
        "[%0], [%1], 16, [%2];" ::"r"(there),
        "r"(address(tile)), "r"(object));
    if (blockIdx.x == 0) {
        LINK(wait) MBAR_WAIT(".acquire.cluster", full, 0);
        uint32_t sum;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(sum) : "r"(address(to + 1)) : "memory");
        if constexpr (without == wait) MBAR_WAIT(".acquire.cluster", full, 0);
        out[0] = sum;
    }
    CLUSTER_SYNC;
}
#undef KERNEL
#define KERNEL(name, x)                                  \
    extern "C" __global__ void __cluster_dims__(2, 1, 1) \
        name##_##x(uint32_t* data, uint32_t* out) {      \
        name<x>(data, out);                              \
    }
KERNEL(told, nothing)
KERNEL(told, wait)

// A tensor's elements: both CTAs add to the same rows.
template <int without>
__device__ void tensors(const TensorMap& map, uint32_t* data, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[8];
    for (uint32_t i = 0; i < 8; ++i) tile[i] = i + 1 + 10 * blockIdx.x;
    LINK(fence) PROXY_FENCE;
    TMA_ADD(map, 0, 0, tile);
    BULK_COMMIT;
    LINK(wait) BULK_WAIT;
    uint32_t sum;
    LD("global.u32", sum, data + 1);
    out[blockIdx.x] = sum;
}
#undef KERNEL
#define KERNEL(name, x)                                                                          \
    extern "C" __global__ void name##_##x(const __grid_constant__ TensorMap map, uint32_t* data, \
                                          uint32_t* out) {                                       \
        name<x>(map, data, out);                                                                 \
    }
KERNEL(tensors, nothing)
KERNEL(tensors, wait)
KERNEL(tensors, fence)
