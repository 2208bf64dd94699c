// 256-bin byte histogram: one private histogram per CTA in shared memory, merged by global atomics.
extern "C" __global__ void __launch_bounds__(256) histogram(const unsigned* data, unsigned* bins, int words) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < words; i += gridDim.x * 256) {
        const unsigned w = data[i];
        atomicAdd(&local[w & 255u], 1u);
        atomicAdd(&local[w >> 8 & 255u], 1u);
        atomicAdd(&local[w >> 16 & 255u], 1u);
        atomicAdd(&local[w >> 24], 1u);
    }
    __syncthreads();
    if (local[threadIdx.x]) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
