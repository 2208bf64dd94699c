// Half-precision product with packed arithmetic: two columns a thread, HFMA2 accumulating in half.
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(256) hgemm(int n, const __half* __restrict__ a, const __half2* __restrict__ b, __half2* __restrict__ c) {
    __shared__ __half as[16][32];
    __shared__ __half2 bs[32][16];
    const int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
    const int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    __half2 sum = __float2half2_rn(0.0f);
    for (int k0 = 0; k0 < n; k0 += 32) {
        as[ty][tx] = a[row * n + k0 + tx];
        as[ty][tx + 16] = a[row * n + k0 + tx + 16];
        bs[ty][tx] = b[(k0 + ty) * (n / 2) + col];
        bs[ty + 16][tx] = b[(k0 + ty + 16) * (n / 2) + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k) sum = __hfma2(__half2half2(as[ty][k]), bs[k][tx], sum);
        __syncthreads();
    }
    c[row * (n / 2) + col] = sum;
}
