// SPDX-License-Identifier: Apache-2.0
// clusterlaunchcontrol: a cluster does its own work, then that of clusters that have not begun, until
// it is told that there are none; and st.bulk.
#include <cstdint>

namespace {

__device__ uint32_t word(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ uint32_t cta_rank() {
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ void init(uint64_t& bar) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(word(&bar)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(uint64_t& bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(word(&bar)) : "memory");
}
__device__ void wait(uint64_t& bar, uint32_t parity) {
    asm volatile("{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra wait;\n}"
                 ::"r"(word(&bar)), "r"(parity) : "memory");
}
struct Work {
    bool is;
    uint3 cta;
};
__device__ Work query(const uint4& answer) {
    Work w;
    uint32_t is;
    asm volatile("{\n.reg .b128 r;\n.reg .pred p;\nld.shared.b128 r, [%4];\n"
                 "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\nselp.u32 %0, 1, 0, p;\n"
                 "mov.u32 %1, 0;\nmov.u32 %2, 0;\nmov.u32 %3, 0;\n"
                 "@p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%1, %2, %3, _}, r;\n}"
                 : "=r"(is), "=r"(w.cta.x), "=r"(w.cta.y), "=r"(w.cta.z) : "r"(word(&answer)) : "memory");
    asm volatile("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;" ::: "memory");
    w.is = is;
    return w;
}

}  // namespace

// Word n of `done` counts how often the work of CTA n was done; word n of `by`: which CTA did it.
extern "C" __global__ void steal(uint32_t* done, uint32_t* by) {
    __shared__ uint4 answer;
    __shared__ alignas(8) uint64_t bar;
    const uint32_t own = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (threadIdx.x == 0) init(bar);
    __syncthreads();
    uint3 cta = {blockIdx.x, blockIdx.y, blockIdx.z};
    for (uint32_t parity = 0;; parity ^= 1) {
        if (threadIdx.x == 0) {
            expect(bar);
            asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];"
                         ::"r"(word(&answer)), "r"(word(&bar)) : "memory");
            const uint32_t n = cta.x + gridDim.x * (cta.y + gridDim.y * cta.z);
            atomicAdd(done + n, 1);
            by[n] = own;
        }
        wait(bar, parity);
        const Work w = query(answer);
        __syncthreads();
        if (!w.is) break;
        cta = w.cta;
    }
}

// The same for clusters: its first CTA asks, each gets the answer.
extern "C" __global__ void steal_together(uint32_t* done, uint32_t* by) {
    __shared__ uint4 answer;
    __shared__ alignas(8) uint64_t bar;
    const uint32_t rank = cta_rank();
    if (threadIdx.x == 0) init(bar);
    cluster_sync();
    uint32_t cta = blockIdx.x;
    for (uint32_t parity = 0;; parity ^= 1) {
        if (threadIdx.x == 0) expect(bar);
        cluster_sync();
        if (threadIdx.x == 0) {
            if (rank == 0)
                asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];"
                             ::"r"(word(&answer)), "r"(word(&bar)) : "memory");
            atomicAdd(done + cta, 1);
            by[cta] = blockIdx.x;
        }
        wait(bar, parity);
        const Work w = query(answer);
        cluster_sync();
        if (!w.is) break;
        cta = w.cta.x + rank;
    }
}

// What the threads have written is zero in `count` bytes from `first` on.
extern "C" __global__ void clear(uint32_t* out, uint64_t count, uint32_t first) {
    __shared__ alignas(16) uint32_t memory[256];
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) memory[i] = i + 1;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("st.bulk.weak.shared::cta [%0], %1, 0;" ::"r"(word(memory) + first), "l"(count) : "memory");
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) out[i] = memory[i];
}
