// SPDX-License-Identifier: Apache-2.0
// nvcc -O3 -std=c++17 -cubin -arch=sm_100 -o published_fp8.sm_100.cubin published_fp8.cu    (CUDA 13.0)
// mma.sync of e4m3 and e5m2, for which sm_100 has no instruction: ptxas makes others of it. A warp multiplies row 0 by column 0:
// eight words of a, eight of b and the accumulator are its 17 words of `in`.
#include <cstdint>

#define PRODUCT(name, type)                                                                                                             \
    extern "C" __global__ void name##_fp32(const uint32_t* in, uint32_t* out) {                                                         \
        const uint32_t lane = threadIdx.x % 32, vector = (blockIdx.x * blockDim.x + threadIdx.x) / 32;                                  \
        const uint32_t *a = in + 17 * vector, *b = a + 8;                                                                               \
        const uint32_t c = lane ? 0 : a[16];                                                                                            \
        uint32_t d[4];                                                                                                                  \
        asm("mma.sync.aligned.m16n8k32.row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%5}, {%7,%8}, {%9,%5,%5,%5};"         \
            : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                                            \
            : "r"(lane < 4 ? a[lane] : 0), "r"(0), "r"(lane < 4 ? a[lane + 4] : 0), "r"(lane < 4 ? b[lane] : 0),                        \
              "r"(lane < 4 ? b[lane + 4] : 0), "r"(c));                                                                                 \
        if (!lane) out[vector] = d[0];                                                                                                  \
    }                                                                                                                                   \
    extern "C" __global__ void name##_fp16(const uint32_t* in, uint32_t* out) {                                                         \
        const uint32_t lane = threadIdx.x % 32, vector = (blockIdx.x * blockDim.x + threadIdx.x) / 32;                                  \
        const uint32_t *a = in + 17 * vector, *b = a + 8;                                                                               \
        const uint32_t c = lane ? 0 : a[16];                                                                                            \
        uint32_t d[2];                                                                                                                  \
        asm("mma.sync.aligned.m16n8k32.row.col.f16." type "." type ".f16 {%0,%1}, {%2,%3,%4,%3}, {%5,%6}, {%7,%3};"                     \
            : "=r"(d[0]), "=r"(d[1])                                                                                                    \
            : "r"(lane < 4 ? a[lane] : 0), "r"(0), "r"(lane < 4 ? a[lane + 4] : 0), "r"(lane < 4 ? b[lane] : 0),                        \
              "r"(lane < 4 ? b[lane + 4] : 0), "r"(c));                                                                                 \
        if (!lane) out[vector] = d[0] & 0xffff;                                                                                         \
    }
PRODUCT(E4M3, "e4m3")
PRODUCT(E5M2, "e5m2")
