// Benchmark: single-precision fused multiply-add. Eight independent chains, 256 FFMA per turn of the loop.
// Register, constant-bank and immediate operands all occur. The values stay bounded: every factor is below one.
extern "C" __global__ void __launch_bounds__(256) ffma_chains(float* out, float factor, float offset, int turns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float own = 0.5f + static_cast<float>(threadIdx.x) * 0.001f;
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = static_cast<float>(i + k) * 0.01f;
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
#pragma unroll
        for (int r = 0; r < 8; ++r) {
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], own, v[(k + 3) & 7]);
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], factor, own);
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], 0.25f, v[(k + 1) & 7]);
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], -own, offset);
        }
    }
    out[i] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}
