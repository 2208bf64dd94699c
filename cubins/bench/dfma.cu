// Benchmark: double-precision fused multiply-add. Eight independent chains, 128 DFMA per turn of the loop.
extern "C" __global__ void __launch_bounds__(256) dfma(double* out, double factor, double offset, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double own = 0.5 + static_cast<double>(threadIdx.x) * 0.001;
    double v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = static_cast<double>(i + k) * 0.01;
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
#pragma unroll
        for (int r = 0; r < 8; ++r) {
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = fma(v[k], own, v[(k + 3) & 7]);
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = fma(v[k], factor * 0.5, offset);
        }
    }
    out[i] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}
