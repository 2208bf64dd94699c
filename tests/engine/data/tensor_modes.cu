// Tensor copies that sm_100 adds, one per launch: four named rows, pixels along W, copies for two CTAs, masked bytes.
#include <cstdint>

namespace {
__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void begin(uint64_t* bar, uint32_t bytes) {
    asm volatile("mbarrier.init.shared.b64 [%0],1;\nfence.mbarrier_init.release.cluster;" ::"r"(address(bar)) : "memory");
    if (bytes) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}
__device__ void wait(uint64_t* bar) {
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p,[%0],0;\n@!p bra again;}" ::"r"(address(bar)) : "memory");
}
__device__ void finish() { asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory"); }
constexpr uint32_t words = 2048;
}  // namespace

// at: a column and four rows; from global memory to out, or from `out` to global memory.
extern "C" __global__ void rows4(const void* map, const int32_t* at, uint32_t* out, uint32_t bytes, uint32_t store) {
    __shared__ alignas(1024) uint32_t s[words];
    __shared__ alignas(8) uint64_t bar;
    for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) s[i] = store ? out[i] : 0x11111111;
    if (threadIdx.x == 0) begin(&bar, store ? 0 : bytes);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0 && store) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%0,{%1,%2,%3,%4,%5}],[%6];" ::"l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "r"(address(s)) : "memory");
        finish();
    } else if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4,%5,%6}],[%7];" ::"r"(address(s)), "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "r"(address(&bar)) : "memory");
    }
    if (!store) wait(&bar);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < words && !store; i += blockDim.x) out[i] = s[i];
}

// at: C, W, H, N.
extern "C" __global__ void wide(const void* map, const int32_t* at, uint32_t* out, uint32_t bytes, uint32_t halo, uint32_t offset, uint32_t of128) {
    __shared__ alignas(1024) uint32_t s[4 * words];
    __shared__ alignas(8) uint64_t bar;
    for (uint32_t i = threadIdx.x; i < 4 * words; i += blockDim.x) s[i] = 0x11111111;
    if (threadIdx.x == 0) begin(&bar, bytes);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        if (of128)
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4,%5}],[%6],{%7,%8};" ::"r"(address(s)), "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(address(&bar)), "h"((uint16_t)halo), "h"((uint16_t)offset) : "memory");
        else
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3,%4,%5}],[%6],{%7,%8};" ::"r"(address(s)), "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(address(&bar)), "h"((uint16_t)halo), "h"((uint16_t)offset) : "memory");
    }
    wait(&bar);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 4 * words; i += blockDim.x) out[i] = s[i];
}

// Four CTAs; number 1 copies a box to those of the mask, and reports to the object of the even or the odd one of each pair. out: for each CTA
// the box, and behind it whether that CTA's object has got all of it.
extern "C" __global__ void __cluster_dims__(4, 1, 1) pairs(const void* map, uint32_t* out, uint32_t bytes, uint32_t mask, uint32_t odd) {
    __shared__ alignas(1024) uint32_t s[256];
    __shared__ alignas(8) uint64_t bar;
    uint32_t rank;
    asm("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0x11111111;
    const bool told = (rank & 1) == odd;
    const uint32_t reports = !told ? 0 : (mask >> (rank & 2) & 1) + (mask >> (rank & 2) >> 1 & 1);
    if (threadIdx.x == 0) begin(&bar, reports * bytes);
    asm volatile("fence.proxy.async;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 0 && rank == 1) {
        uint32_t object;
        asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(object) : "r"(address(&bar)), "r"(odd));
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 [%0],[%1,{%2}],[%3],%4;" ::"r"(address(s)), "l"(map), "r"(0), "r"(object), "h"((uint16_t)mask) : "memory");
    }
    if (reports) wait(&bar);
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) out[rank * 257 + i] = s[i];
    if (threadIdx.x == 0) out[rank * 257 + 256] = reports;
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// 256 bytes, of each 16 those of the mask.
extern "C" __global__ void masked(uint32_t* out, uint32_t mask) {
    __shared__ alignas(16) uint32_t s[64];
    s[threadIdx.x] = 0x01020304 * (threadIdx.x + 1);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%0],[%1],256,%2;" ::"l"(out), "r"(address(s)), "h"((uint16_t)mask) : "memory");
        finish();
    }
}

#define REPLACE(field, ...) asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." __VA_ARGS__ : "memory")
#define DIMENSION(k)                                                                          \
    REPLACE("box_dim", "b32 [%0]," #k ",%1;" ::"r"(m), "r"(box[k]));                        \
    REPLACE("global_dim", "b32 [%0]," #k ",%1;" ::"r"(m), "r"(size[k]));                        \
    REPLACE("element_stride", "b32 [%0]," #k ",%1;" ::"r"(m), "r"(step[k]));
#define STRIDE(k) REPLACE("global_stride", "b64 [%0]," #k ",%1;" ::"r"(m), "l"(stride[k]));

// Every field of a map of five dimensions, from nothing.
extern "C" __global__ void replaced(uint32_t* out, uint64_t at, const uint32_t* box, const uint32_t* size, const uint32_t* step, const uint64_t* stride) {
    __shared__ alignas(128) uint32_t map[32];
    if (threadIdx.x < 32) map[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t m = address(map);
        REPLACE("global_address", "b64 [%0],%1;" ::"r"(m), "l"(at));
        REPLACE("rank", "b32 [%0],%1;" ::"r"(m), "r"(4));
        DIMENSION(0) DIMENSION(1) DIMENSION(2) DIMENSION(3) DIMENSION(4)
        STRIDE(0) STRIDE(1) STRIDE(2) STRIDE(3)
        REPLACE("elemtype", "b32 [%0],11;" ::"r"(m));
        REPLACE("interleave_layout", "b32 [%0],0;" ::"r"(m));
        REPLACE("swizzle_mode", "b32 [%0],3;" ::"r"(m));
        REPLACE("swizzle_atomicity", "b32 [%0],1;" ::"r"(m));
        REPLACE("fill_mode", "b32 [%0],1;" ::"r"(m));
    }
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = map[threadIdx.x];
}
