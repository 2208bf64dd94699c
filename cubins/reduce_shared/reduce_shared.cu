// Sum, minimum and maximum of floats and ints with a shared-memory tree: one result per CTA.
// The order of the additions is fixed by the tree, so the float sum is exactly reproducible.
extern "C" __global__ void __launch_bounds__(256)
reduce_shared(const float* x, const int* y, float* fsum, int* imin, int* imax, int n) {
    __shared__ float s[256];
    __shared__ int lo[256], hi[256];
    const int t = threadIdx.x;
    float sum = 0;
    int least = 0x7fffffff, most = -0x7fffffff - 1;
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
        sum += x[i];
        least = min(least, y[i]);
        most = max(most, y[i]);
    }
    s[t] = sum;
    lo[t] = least;
    hi[t] = most;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d) {
            s[t] += s[t + d];
            lo[t] = min(lo[t], lo[t + d]);
            hi[t] = max(hi[t], hi[t + d]);
        }
        __syncthreads();
    }
    if (t == 0) {
        fsum[blockIdx.x] = s[0];
        imin[blockIdx.x] = lo[0];
        imax[blockIdx.x] = hi[0];
    }
}
