// SPDX-License-Identifier: Apache-2.0
// nvcc -O3 -std=c++17 -cubin -arch=sm_100a -o random.sm_100a.cubin random.cu    (CUDA 13.0)
// cvt.rs: rounding by random bits, to pairs of halves and to four values of 8, 6 and 4 bits. A thread has five words of `in`, four
// values and the random bits, and `outputs` words of `out`.
#include <cstdint>

constexpr uint32_t outputs = 14;

extern "C" __global__ void random_bits(const uint32_t* in, uint32_t* out) {
    const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[4];
    for (int k = 0; k < 4; ++k) v[k] = __uint_as_float(in[5 * t + k]);
    const uint32_t random = in[5 * t + 4];
    uint32_t* to = out + t * outputs;
#define TWO(i, how) asm("cvt.rs" how ".f32 %0, %1, %2, %3;" : "=r"(to[i]) : "f"(v[0]), "f"(v[1]), "r"(random))
#define FOUR(i, how) asm("cvt.rs" how ".f32 %0, {%1, %2, %3, %4}, %5;" : "=r"(to[i]) : "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(random))
    TWO(0, ".f16x2");
    TWO(1, ".satfinite.f16x2");
    TWO(2, ".relu.f16x2");
    TWO(3, ".bf16x2");
    TWO(4, ".satfinite.bf16x2");
    TWO(5, ".relu.bf16x2");
    FOUR(6, ".satfinite.e4m3x4");
    FOUR(7, ".relu.satfinite.e4m3x4");
    FOUR(8, ".satfinite.e5m2x4");
    FOUR(9, ".satfinite.e2m3x4");
    FOUR(10, ".relu.satfinite.e2m3x4");
    FOUR(11, ".satfinite.e3m2x4");
    uint16_t r;
    asm("cvt.rs.satfinite.e2m1x4.f32 %0, {%1, %2, %3, %4}, %5;" : "=h"(r) : "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(random));
    to[12] = r;
    asm("cvt.rs.relu.satfinite.e2m1x4.f32 %0, {%1, %2, %3, %4}, %5;" : "=h"(r) : "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(random));
    to[13] = r;
}
