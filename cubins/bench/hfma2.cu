// Benchmark: packed half-precision fused multiply-add. Eight independent chains, 256 HFMA2 per turn of the loop.
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(256) hfma2(__half2* out, float factor, float offset, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const __half2 own = __floats2half2_rn(0.25f + static_cast<float>(threadIdx.x) * 0.001f, 0.375f);
    const __half2 scale = __float2half2_rn(factor), shift = __float2half2_rn(offset);
    __half2 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = __floats2half2_rn(static_cast<float>((i + k) & 255) * 0.01f, static_cast<float>(k));
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
#pragma unroll
        for (int r = 0; r < 16; ++r) {
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = __hfma2(v[k], own, v[(k + 3) & 7]);
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = __hfma2(v[k], scale, shift);
        }
    }
    out[i] = __hfma2(v[0], v[1], __hfma2(v[2], v[3], __hfma2(v[4], v[5], __hmul2(v[6], v[7]))));
}
