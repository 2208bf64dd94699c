// C = A * B in double precision: 32x32 tiles, 256 threads, four results a thread, one DFMA per product.
extern "C" __global__ void __launch_bounds__(256) dgemm(int n, const double* __restrict__ a, const double* __restrict__ b, double* __restrict__ c) {
    __shared__ double as[32][33], bs[32][33];
    const int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
    const int row = blockIdx.y * 32, col = blockIdx.x * 32 + tx;
    double sum[4] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        for (int r = 0; r < 4; ++r) {
            as[ty + 8 * r][tx] = a[(row + ty + 8 * r) * n + k0 + tx];
            bs[ty + 8 * r][tx] = b[(k0 + ty + 8 * r) * n + col];
        }
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 32; ++k)
#pragma unroll
            for (int r = 0; r < 4; ++r) sum[r] = fma(as[ty + 8 * r][k], bs[k][tx], sum[r]);
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r) c[(row + ty + 8 * r) * n + col] = sum[r];
}
