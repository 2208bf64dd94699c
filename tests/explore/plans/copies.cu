// Asynchronous copies in the forms that cubins/sync has not: `sassemu litmus PLAN.json`. Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_90 [-lineinfo] copies.cu -o copies[.line].cubin
#include <cstdint>

#define ASM(...) asm volatile(__VA_ARGS__ : "memory")

__device__ uint32_t near(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ uint32_t at_rank(const void* p, uint32_t rank) {
    uint32_t r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(near(p)), "r"(rank));
    return r;
}
__device__ void await(const uint64_t* object) {
    ASM("{.reg .pred p;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n@!p bra again;}" ::"r"(near(object)));
}
#define INIT(object) ASM("mbarrier.init.shared.b64 [%0], 1;\nfence.proxy.async.shared::cta;" ::"r"(near(&object)))
#define EXPECT(object, n) ASM("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(near(&object)), "r"(n))
#define CLUSTER_SYNC ASM("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::)

// Of 16 bytes 8 are copied, the others become zeros.
extern "C" __global__ void partial(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(16) uint32_t tile[4];
    tile[3] = 9;
    ASM("cp.async.cg.shared.global [%0], [%1], 16, 8;" ::"r"(near(tile)), "l"(in));
    ASM("cp.async.wait_all;" ::);
    for (int i = 0; i < 4; ++i) out[i] = tile[i];
}
// An arrival that counts: pending rises when it is issued, and falls when the copies are done.
extern "C" __global__ void counted(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[2];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t == 0) ASM("mbarrier.init.shared.b64 [%0], 2;" ::"r"(near(&full)));
    __syncthreads();
    ASM("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(near(tile + t)), "l"(in + t));
    ASM("cp.async.mbarrier.arrive.shared.b64 [%0];\nmbarrier.arrive.shared.b64 _, [%0];" ::"r"(near(&full)));
    await(&full);
    out[t] = tile[1 - t];
}
// red.async from both CTAs of a cluster to the first.
extern "C" __global__ void __cluster_dims__(2, 1, 1) reduce(uint32_t* out) {
    __shared__ uint32_t sum;
    __shared__ uint64_t full;
    if (blockIdx.x == 0) {
        sum = 5;
        INIT(full);
        EXPECT(full, 8);
    }
    CLUSTER_SYNC;
    ASM("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%0], %1, [%2];" ::"r"(at_rank(&sum, 0)),
        "r"(blockIdx.x ? -3 : 7), "r"(at_rank(&full, 0)));
    if (blockIdx.x == 0) {
        await(&full);
        *out = sum;
    }
    CLUSTER_SYNC;
}
// Shared memory to that of the other CTA.
extern "C" __global__ void __cluster_dims__(2, 1, 1) across(uint32_t* out) {
    __shared__ alignas(16) uint32_t from[4], to[4];
    __shared__ uint64_t full;
    INIT(full);
    EXPECT(full, 16);
    for (int i = 0; i < 4; ++i) from[i] = blockIdx.x * 4 + i;
    ASM("fence.proxy.async.shared::cta;" ::);
    CLUSTER_SYNC;
    ASM("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" ::"r"(at_rank(to, blockIdx.x ^ 1)),
        "r"(near(from)), "r"(at_rank(&full, blockIdx.x ^ 1)));
    await(&full);
    out[blockIdx.x] = to[3];
    CLUSTER_SYNC;
}
// One copy for both CTAs, each with a report of its own.
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(16) uint32_t tile[4];
    __shared__ uint64_t full;
    INIT(full);
    EXPECT(full, 16);
    CLUSTER_SYNC;
    if (blockIdx.x == 0)
        ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 16, [%2], %3;" ::"r"(near(tile)),
            "l"(in), "r"(near(&full)), "h"(static_cast<uint16_t>(3)));
    await(&full);
    out[blockIdx.x] = tile[blockIdx.x];
    CLUSTER_SYNC;
}
struct alignas(64) Map {
    uint8_t bytes[128];
};
// A box that hangs over the end of the tensor, with a swizzle: what is outside becomes zeros.
extern "C" __global__ void beyond(const __grid_constant__ Map map, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[16][8];
    __shared__ uint64_t full;
    INIT(full);
    EXPECT(full, 512);
    ASM("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(near(tile)),
        "l"(&map), "r"(4), "r"(0), "r"(near(&full)));
    await(&full);
    out[0] = tile[0][0];  // (4, 0)
    out[1] = tile[0][4];  // outside
    out[2] = tile[4][4];  // (4, 4): swizzled
    out[3] = tile[4][0];  // outside
}
// What a copy has read may be changed, what it has written may not be read.
template <bool Whole>
__device__ void leave(uint32_t* data, uint32_t* out) {
    __shared__ alignas(16) uint32_t tile[4];
    for (int i = 0; i < 4; ++i) tile[i] = i + 1;
    ASM("fence.proxy.async;" ::);
    ASM("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;\ncp.async.bulk.commit_group;" ::"l"(data), "r"(near(tile)));
    if (Whole) ASM("cp.async.bulk.wait_group 0;" ::);
    else ASM("cp.async.bulk.wait_group.read 0;" ::);
    *reinterpret_cast<volatile uint32_t*>(tile) = 77;
    out[0] = *reinterpret_cast<volatile uint32_t*>(data + 1);
}
extern "C" __global__ void whole(uint32_t* data, uint32_t* out) { leave<true>(data, out); }
extern "C" __global__ void reads(uint32_t* data, uint32_t* out) { leave<false>(data, out); }
