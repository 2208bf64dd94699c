// A kernel to step through: an inlined function, shared memory, a barrier, a divergent branch, an atomic.
__device__ __forceinline__ int twice(int v) {
    return v * 2;
}

extern "C" __global__ void steps(const int* in, int* out, int* count, int n) {
    __shared__ int tile[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i];
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < n; ++k) {
        sum += twice(tile[(threadIdx.x + k) & 63]);
    }
    if (threadIdx.x & 1)
        sum += 1000;
    else
        atomicAdd(count, 1);
    out[i] = sum;
    atomicExch(out + i, sum);  // the same once more
}
