// Loader test data: one kernel with a constant table, initialised and plain global variables.
__constant__ float table[16] = {1, 2, 3, 4};
__device__ int counter = 7;
__device__ float scratch[64];
__device__ int* pointer = &counter;

extern "C" __global__ void plain(float* out, const float* in, int n, char tail) {
    __shared__ float tile[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    tile[threadIdx.x] = in[i] * table[i & 15];
    __syncthreads();
    out[i] = tile[threadIdx.x ^ 1] + scratch[i & 63] + *pointer + tail;
}
