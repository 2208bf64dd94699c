// Benchmark: many small CTAs. Each has two warps that exchange a few words through shared memory and leave.
extern "C" __global__ void __launch_bounds__(64) small_ctas(const unsigned* in, unsigned* out, unsigned mask) {
    __shared__ unsigned s[64];
    const unsigned t = threadIdx.x;
    s[t] = in[(blockIdx.x * 64u + t) & mask] ^ blockIdx.x;
    __syncthreads();
    const unsigned v = s[63u - t] * 33u + s[t ^ 32u];
    const unsigned sum = v + __shfl_xor_sync(0xffffffffu, v, 1);
    if (t == 0) out[blockIdx.x] = sum;
}
