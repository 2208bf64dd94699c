// SPDX-License-Identifier: Apache-2.0
// tcgen05.ld.red (sm_103): four words of every lane go into tensor memory, and come out with their
// minimum or maximum by each operation.
#include <cstdint>

__device__ static uint32_t word(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

#define STAT(NAME, OP, C)                                                                                                            \
    {                                                                                                                                \
        uint32_t v[4], s;                                                                                                            \
        asm volatile("tcgen05.ld.red.sync.aligned.32x32b.x4." OP " {%0, %1, %2, %3}, %4, [%5];"                                        \
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(s) : "r"(at));                                            \
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");                                                                  \
        out[(C) * 128 + threadIdx.x] = s + 0 * v[0];                                                                                  \
        for (int i = 0; i < 4; ++i) good &= v[i] == in[threadIdx.x * 4 + i];                                                          \
    }
extern "C" __global__ void stat(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t memory;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(word(&memory)) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    __syncthreads();
    const uint32_t at = memory + (threadIdx.x / 32 << 21);
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(in[threadIdx.x * 4]),
                 "r"(in[threadIdx.x * 4 + 1]), "r"(in[threadIdx.x * 4 + 2]), "r"(in[threadIdx.x * 4 + 3]) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    bool good = true;
    STAT(0, "min.u32", 0) STAT(1, "max.u32", 1) STAT(2, "min.s32", 2) STAT(3, "max.s32", 3)
    STAT(4, "min.f32", 4) STAT(5, "max.f32", 5) STAT(6, "min.abs.f32", 6) STAT(7, "max.abs.f32", 7)
    STAT(8, "min.NaN.f32", 8) STAT(9, "max.NaN.f32", 9) STAT(10, "min.abs.NaN.f32", 10) STAT(11, "max.abs.NaN.f32", 11)
    // 16 lanes by two halves of the warp, columns 0 and 1, and 2 and 3.
    uint32_t v[2], s;
    asm volatile("tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.u32 {%0, %1}, %2, [%3], 2;" : "=r"(v[0]), "=r"(v[1]), "=r"(s) : "r"(at));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    out[12 * 128 + threadIdx.x] = s;
    const uint32_t column = threadIdx.x % 32 < 16 ? 0 : 2, row = threadIdx.x / 32 * 32 + threadIdx.x % 16;
    for (int i = 0; i < 2; ++i) good &= v[i] == in[row * 4 + column + i];
    out[13 * 128 + threadIdx.x] = good;
    __syncthreads();
    if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(memory));
}
