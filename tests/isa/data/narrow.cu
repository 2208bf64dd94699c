// SPDX-License-Identifier: Apache-2.0
// for a in 100a 120a; do nvcc -O3 -std=c++17 -cubin -arch=sm_$a -o narrow.sm_$a.cubin narrow.cu; done; the same for 103a, -DPAIRS    (CUDA 13.0)
// cvt between f32, f16, bf16 and formats of 4, 6 and 8 bits, add and fma of mixed precision (sm_100a, sm_120a), and ex2 of
// pairs (sm_103a). A thread has two words of `in` and `outputs` words of `out`.
#include <cstdint>

constexpr uint32_t outputs = 20;

extern "C" __global__ void narrow(const uint32_t* in, uint32_t* out) {
    const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    const float a = __uint_as_float(in[2 * t]), b = __uint_as_float(in[2 * t + 1]);
    const uint32_t bits = in[2 * t];
    uint32_t* to = out + t * outputs;
#define FP4(i, how)                                                                                                                       \
    {                                                                                                                                     \
        uint32_t r;                                                                                                                       \
        asm("{.reg .b8 x, z;\nmov.b32 {z, _, _, _}, 0;\ncvt.rn.satfinite" how ".e2m1x2.f32 x, %1, %2;\nmov.b32 %0, {x, z, z, z};}" : "=r"(r) : "f"(a), "f"(b)); \
        to[i] = r;                                                                                                                        \
    }
#define PAIR(i, how)                                                                   \
    {                                                                                  \
        uint16_t r;                                                                    \
        asm("cvt." how " %0, %1, %2;" : "=h"(r) : "f"(a), "f"(b));                      \
        to[i] = r;                                                                     \
    }
    FP4(0, "") FP4(1, ".relu")
    PAIR(2, "rn.satfinite.e2m3x2.f32") PAIR(3, "rn.satfinite.relu.e2m3x2.f32")
    PAIR(4, "rn.satfinite.e3m2x2.f32") PAIR(5, "rp.satfinite.ue8m0x2.f32") PAIR(6, "rz.satfinite.ue8m0x2.f32")
    // Of the bits of a, as codes.
    const uint16_t half = static_cast<uint16_t>(bits);
    asm("{.reg .b8 x;\nmov.b32 {x, _, _, _}, %1;\ncvt.rn.f16x2.e2m1x2 %0, x;}" : "=r"(to[7]) : "r"(bits));
    asm("cvt.rn.f16x2.e2m3x2 %0, %1;" : "=r"(to[8]) : "h"(half));
    asm("cvt.rn.f16x2.e3m2x2 %0, %1;" : "=r"(to[9]) : "h"(half));
    asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(to[10]) : "h"(half));
    {
        uint16_t r;
        asm("cvt.rz.ue8m0x2.bf16x2 %0, %1;" : "=h"(r) : "r"(bits));
        to[11] = r;
    }
    // Four and eight of them packed into a word.
    asm("{.reg .b8 x, y, z;\ncvt.rn.satfinite.e2m1x2.f32 x, %1, %2;\ncvt.rn.satfinite.e2m1x2.f32 y, %2, %1;\nmov.b32 %0, {x, y, y, x};}"
        : "=r"(to[12]) : "f"(a), "f"(b));
    // Mixed precision: the lower half of b's bits is an f16 and a bf16.
    const uint16_t x = static_cast<uint16_t>(in[2 * t + 1]), y = static_cast<uint16_t>(in[2 * t + 1] >> 16);
    float r;
    asm("add.rn.f32.f16 %0, %1, %2;" : "=f"(r) : "h"(x), "f"(a));
    to[13] = __float_as_uint(r);
    asm("sub.rz.f32.bf16 %0, %1, %2;" : "=f"(r) : "h"(y), "f"(a));
    to[14] = __float_as_uint(r);
    asm("fma.rn.f32.f16 %0, %1, %2, %3;" : "=f"(r) : "h"(x), "h"(y), "f"(a));
    to[15] = __float_as_uint(r);
    asm("fma.rp.sat.f32.bf16 %0, %1, %2, %3;" : "=f"(r) : "h"(x), "h"(y), "f"(a));
    to[16] = __float_as_uint(r);
#ifdef PAIRS
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(to[17]) : "r"(bits));
    asm("ex2.approx.ftz.bf16x2 %0, %1;" : "=r"(to[18]) : "r"(bits));
    // Each half by itself, which has been measured (sm_90).
    uint16_t low, high;
    asm("ex2.approx.f16 %0, %1;" : "=h"(low) : "h"(static_cast<uint16_t>(bits)));
    asm("ex2.approx.f16 %0, %1;" : "=h"(high) : "h"(static_cast<uint16_t>(bits >> 16)));
    to[19] = low | high << 16;
#endif
}
