// Built with -G: parameters, locals in registers and in memory, a structure, a call.
struct Pair {
    float x, y;
    int tag;
};

__device__ __noinline__ int total(int count, const int* of) {
    int sum = 0;
    for (int k = 0; k < count; ++k) {
        sum += of[k] * 2;
    }
    return sum;
}

extern "C" __global__ void locals(const int* in, int* out, int n, Pair pair) {
    __shared__ int tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int table[4] = {1, 2, 3, 4};
    float scaled = pair.x * 2.0f;
    tile[threadIdx.x % 64] = in[i % n];
    __syncthreads();
    int r = total(threadIdx.x % 5, tile) + table[i & 3];
    double half = r * 0.5;
    if (i < n) out[i] = r + (int)scaled + (int)half + pair.tag;
}
