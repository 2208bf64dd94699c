// SPDX-License-Identifier: Apache-2.0
// Loads of tensor memory that reduce what a lane loads (tcgen05.ld.red), and one that does not wait
// for what was stored there. Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_103a -lineinfo statistic.cu -o statistic.cubin
#include "../../../cubins/sync/tensor.h"
#undef LINK
#define LINK(x) if constexpr (without != x)

enum { nothing, stored };

#define STORE2(a, b) \
    ASM("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1, %2};" ::"r"(0), "r"(a), "r"(b))
#define REDUCE(to, how)                                                                  \
    {                                                                                    \
        uint32_t v, w;                                                                   \
        asm volatile("tcgen05.ld.red.sync.aligned.32x32b.x2." how " {%0, %1}, %2, [%3];" \
                     : "=r"(v), "=r"(w), "=r"(to)                                        \
                     : "r"(0)                                                            \
                     : "memory");                                                        \
        TENSOR_WAIT_LOAD;                                                                \
        to += 0 * (v + w);                                                               \
    }

template <int without>
__device__ void least(uint32_t* out) {
    __shared__ uint32_t base;
    TENSOR_ALLOC(base);
    STORE2(7, 4);
    LINK(stored) TENSOR_WAIT_STORE;
    uint32_t least;
    REDUCE(least, "min.u32");
    out[0] = least;
    if constexpr (without == stored) TENSOR_WAIT_STORE;
    TENSOR_FREE(base);
}
extern "C" __global__ void least_nothing(uint32_t* out) { least<nothing>(out); }
extern "C" __global__ void least_stored(uint32_t* out) { least<stored>(out); }

// Of floats: -8 and 2, a NaN and 2.
extern "C" __global__ void floats(uint32_t* out) {
    __shared__ uint32_t base;
    TENSOR_ALLOC(base);
    STORE2(0xc1000000, 0x40000000);
    TENSOR_WAIT_STORE;
    REDUCE(out[0], "max.f32");
    REDUCE(out[1], "max.abs.f32");
    TENSOR_WAIT_LOAD;
    STORE2(0x7fc01234, 0x40000000);
    TENSOR_WAIT_STORE;
    REDUCE(out[2], "max.f32");
    REDUCE(out[3], "max.NaN.f32");
    TENSOR_FREE(base);
}
