// SPDX-License-Identifier: Apache-2.0
// cta_group::2: what the two CTAs of a pair allocate, copy, shift and wait for together.
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
__device__ void wait(uint64_t& bar) {
    asm volatile("{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra wait;\n}" ::"r"(word(&bar)) : "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
// Rows of 16 bytes, groups of 8 rows 128 bytes apart, the second chunk of a row 2048 bytes on.
__device__ uint64_t descriptor(const void* p) {
    return (word(p) & 0x3ffff) >> 4 | uint64_t{2048 >> 4} << 16 | uint64_t{128 >> 4} << 32 | uint64_t{1} << 46;
}
__device__ void load8(uint32_t at, uint32_t* v) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]) : "r"(at));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

}  // namespace

// Each CTA of a pair has 128 rows of 32 bytes in shared memory; a thread of the even one has both
// copied into columns 0 to 7, and columns 0 to 7 of the second quarter of the lanes shifted by one.
// `rounds` times the pair allocates 64, then 32 columns, and gives them back.
extern "C" __global__ void pair(const uint4* in, uint32_t* out, uint32_t rounds) {
    __shared__ alignas(128) uint4 rows[256];
    __shared__ alignas(8) uint64_t done;
    __shared__ uint32_t memory[2];
    const uint32_t t = threadIdx.x, rank = cta_rank(), cta = blockIdx.x;
    for (uint32_t i = t; i < 256; i += 128) rows[i % 2 * 128 + i / 2] = in[cta * 256 + i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (t == 0) init(done);
    cluster_sync();
    uint32_t sum = 0;
    for (uint32_t r = 0; r < rounds; ++r) {
        if (t < 32) {
            asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(word(&memory[0])) : "memory");
            asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(word(&memory[1])) : "memory");
        }
        cluster_sync();
        sum = sum * 5 + (memory[0] / 32) * 3 + memory[1] / 32;
        if (r + 1 < rounds) {
            cluster_sync();
            if (t < 32) {
                asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;" ::"r"(memory[1]));
                asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 64;" ::"r"(memory[0]));
            }
            cluster_sync();  // the next allocation writes the words that the other CTA reads for that
        }
    }
    if (t < 32) asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
    const uint32_t at = memory[0], lanes = t / 32 << 21;
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    if (t == 0 && rank % 2 == 0) {
        asm volatile("tcgen05.cp.cta_group::2.128x256b [%0], %1;" ::"r"(at), "l"(descriptor(rows)) : "memory");
        asm volatile("tcgen05.shift.cta_group::2.down [%0];" ::"r"(at + (32 << 16)) : "memory");
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                     ::"r"(word(&done)), "h"(static_cast<uint16_t>(3 << (rank & ~1u))) : "memory");
    }
    wait(done);
    uint32_t v[8];
    load8(at + lanes, v);
    for (int i = 0; i < 8; ++i) out[(cta * 128 + t) * 9 + i] = v[i];
    out[(cta * 128 + t) * 9 + 8] = sum;
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    cluster_sync();
    if (t < 32) {
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;" ::"r"(memory[1]));
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 64;" ::"r"(memory[0]));
    }
}

// What ends the launch: a copy where the cluster has no pair (how 0), or one whose other CTA has
// exited (how 1).
extern "C" __global__ void alone(uint32_t how) {
    __shared__ alignas(128) uint4 rows[256];
    __shared__ alignas(8) uint64_t done;
    if (threadIdx.x == 0) init(done);
    cluster_sync();
    if (how == 1 && cta_rank() % 2) return;
    if (how == 1)
        for (volatile uint32_t i = 0; i < 1000; ++i) {
        }
    if (threadIdx.x == 0) {
        asm volatile("tcgen05.cp.cta_group::2.128x128b [%0], %1;" ::"r"(0), "l"(descriptor(rows)) : "memory");
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(word(&done)) : "memory");
    }
    wait(done);
}
