// Benchmark: HMMA.16816.F32, 2,048 multiply-adds each. Eight independent accumulators, 64 products per turn of the loop.
#include <cstdint>
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(256) hmma(float* out, float factor, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t a[4], b[2];
    for (int k = 0; k < 6; ++k) {
        const __half2 v = __floats2half2_rn(factor * static_cast<float>((i * 7 + k * 3) % 61 - 30), factor * static_cast<float>((i * 5 + k) % 53 - 26));
        (k < 4 ? a[k] : b[k - 4]) = *reinterpret_cast<const uint32_t*>(&v);
    }
    float d[8][4] = {};
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
#pragma unroll
        for (int r = 0; r < 64; ++r) {
            float(&x)[4] = d[r % 8];
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        }
    }
    float sum = 0;
    for (int k = 0; k < 8; ++k)
        for (int j = 0; j < 4; ++j) sum += d[k][j];
    out[i] = sum;
}
