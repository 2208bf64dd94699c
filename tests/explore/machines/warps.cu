// SPDX-License-Identifier: Apache-2.0
// Many threads side by side, as real kernels have them: they write shared memory and read it, or
// load a product of the tensor core, a row each; and each without the links that it may lack.
// Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_100a -lineinfo warps.cu -o warps.cubin
#include "../../../cubins/sync/tensor.h"
#undef LINK
#define LINK(x) if constexpr (without != x)

enum { nothing, barrier, fence, commit, after };

// A thread looks at its neighbour's word behind the barrier; `barrier`: the first one in front of
// it.
template <int without>
__device__ void neighbours(uint32_t* out) {
    __shared__ uint32_t s[128];
    const uint32_t t = threadIdx.x;
    s[t] = t + 1;
    uint32_t wrong = 0;
    if (without == barrier && t == 0) {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(wrong) : "r"(address(s + 1)) : "memory");
        wrong = wrong != 2;
    }
    __syncthreads();
    wrong |= s[t ^ 1] != (t ^ 1) + 1;
    const uint32_t any = __syncthreads_or(wrong);
    if (t == 0) out[0] = any;
}

// Each thread makes a row of A and looks at its row of D.
template <int without>
__device__ void rows(uint32_t* out) {
    __shared__ alignas(128) uint4 a[256];
    __shared__ alignas(128) uint4 b[32];
    __shared__ uint64_t done;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x;
    if (t < 32) TENSOR_ALLOC(base);
    if (t == 0) MBAR_INIT(done, 1);
    a[half_row(t, 0)] = make_uint4(t + 1, 0, 0, 0);
    a[half_row(t, 1)] = make_uint4(0, 0, 0, 0);
    if (t < 32) b[half_row(t / 2, t % 2)] = make_uint4(t % 2 ? 0 : 2, 0, 0, 0);
    if (without != fence || t != 39) ASM("fence.proxy.async.shared::cta;" ::);
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    const uint32_t d = base;
    if (t == 0) {
        TENSOR_MMA(d, descriptor(a), descriptor(b));
        TENSOR_COMMIT(done);
    }
    LINK(commit) MBAR_WAIT("", done, 0);
    LINK(after) TENSOR_AFTER;
    uint32_t v[4];
    TENSOR_LOAD4(v, d + lanes_of_warp());
    TENSOR_WAIT_LOAD;
    TENSOR_BEFORE;
    const uint32_t any = __syncthreads_or(v[0] != 2 * (t + 1) || v[3] != 2 * (t + 1));
    TENSOR_AFTER;
    if (t == 0) out[0] = any;
    if constexpr (without == commit) MBAR_WAIT("", done, 0);
    if (t < 32) TENSOR_FREE(d);
}

#define KERNEL(name, x) \
    extern "C" __global__ void name##_##x(uint32_t* out) { name<x>(out); }
KERNEL(neighbours, nothing)
KERNEL(neighbours, barrier)
KERNEL(rows, nothing)
KERNEL(rows, fence)
KERNEL(rows, commit)
KERNEL(rows, after)

// A word of global memory each.
extern "C" __global__ void words(uint32_t* out) { out[threadIdx.x] = threadIdx.x + 1; }
