// archs: sm_90 sm_100 sm_107a sm_120
// cp.async.bulk: a pipeline of loads with two mbarriers and stores in bulk groups; and a multicast to the CTAs
// of a cluster.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

namespace {

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void wait(uint32_t bar, uint32_t parity) {
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p,[%0],%1;\n@!p bra again;}" ::"r"(bar), "r"(parity)
                 : "memory");
}
__device__ void start(void* to, const void* from, uint32_t bytes, uint64_t* bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(address(bar)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::"r"(address(to)), "l"(from),
                 "r"(bytes), "r"(address(bar))
                 : "memory");
}

}  // namespace

// out[i] = in[i] * 3 + i, 512 words at a time.
extern "C" __global__ void pipeline(const uint32_t* in, uint32_t* out, uint32_t tiles) {
    __shared__ alignas(128) uint32_t stage[2][512], result[2][512];
    __shared__ alignas(8) uint64_t full[2];
    const uint32_t t = threadIdx.x;
    in += uint64_t{blockIdx.x} * tiles * 512;
    out += uint64_t{blockIdx.x} * tiles * 512;
    if (t == 0) {
        for (int s = 0; s < 2; ++s) asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(address(&full[s])) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        for (uint32_t i = 0; i < 2 && i < tiles; ++i) start(stage[i], in + i * 512, 2048, &full[i]);
    }
    __syncthreads();
    for (uint32_t i = 0; i < tiles; ++i) {
        const uint32_t s = i & 1;
        wait(address(&full[s]), i >> 1 & 1);
        if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");  // result[s] is free again
        __syncthreads();
        for (uint32_t k = t; k < 512; k += blockDim.x) result[s][k] = stage[s][k] * 3 + i * 512 + k;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],2048;" ::"l"(out + i * 512), "r"(address(result[s])) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            if (i + 2 < tiles) start(stage[s], in + (i + 2) * 512, 2048, &full[s]);
        }
    }
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Each CTA of the cluster loads a quarter of the tile for all of them.
extern "C" __global__ void __cluster_dims__(4, 1, 1) multicast(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[4 * 64];
    __shared__ alignas(8) uint64_t full;
    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t rank = cluster.block_rank(), t = threadIdx.x, bar = address(&full);
    const uint16_t all = 0xf, even = 0x5;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        // Rank 3 sends to the even ranks only.
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(bar), "r"(rank % 2 ? 768 : 1024) : "memory");
    }
    tile[t] = 0xcccccccc;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    cluster.sync();
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0],[%1],256,[%2],%3;" ::"r"(
                         address(tile + rank * 64)),
                     "l"(in + (blockIdx.x / 4) * 256 + rank * 64), "r"(bar), "h"(rank == 3 ? even : all)
                     : "memory");
    wait(bar, 0);
    out[blockIdx.x * 256 + t] = tile[t] + rank;
    cluster.sync();
}
