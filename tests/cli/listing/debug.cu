// Compiled with -G and with -rdc=true -G: labels that only debug information refers to.
__device__ int twice(int a) {
    int b = a + a;
    return b;
}
extern "C" __global__ void debug(int* p, int n) {
    __shared__ int sum[32];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int x = p[i];
        if (x == 3) continue;
        sum[x & 31] = twice(x);
    }
    __syncthreads();
    p[threadIdx.x] = sum[threadIdx.x];
}
