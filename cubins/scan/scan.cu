// Inclusive prefix sum in three launches: per-CTA Hillis-Steele scan in shared memory, scan of the CTA totals, add.
extern "C" __global__ void __launch_bounds__(256) scan_blocks(const unsigned* in, unsigned* out, unsigned* totals) {
    __shared__ unsigned buf[2][256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    int from = 0;
    buf[0][t] = in[i];
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) {
        buf[1 - from][t] = t >= d ? buf[from][t] + buf[from][t - d] : buf[from][t];
        from = 1 - from;
        __syncthreads();
    }
    out[i] = buf[from][t];
    if (t == 255) totals[blockIdx.x] = buf[from][t];
}

// Work-efficient (up-sweep, down-sweep) exclusive scan of the totals, in dynamic shared memory.
extern "C" __global__ void scan_totals(unsigned* totals, int n) {
    extern __shared__ unsigned tree[];
    const int t = threadIdx.x;
    tree[2 * t] = totals[2 * t];
    tree[2 * t + 1] = totals[2 * t + 1];
    int offset = 1;
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
        offset <<= 1;
    }
    if (t == 0) tree[n - 1] = 0;
    for (int d = 1; d < n; d <<= 1) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int l = offset * (2 * t + 1) - 1, r = offset * (2 * t + 2) - 1;
            const unsigned old = tree[l];
            tree[l] = tree[r];
            tree[r] += old;
        }
    }
    __syncthreads();
    totals[2 * t] = tree[2 * t];
    totals[2 * t + 1] = tree[2 * t + 1];
}

extern "C" __global__ void __launch_bounds__(256) scan_add(unsigned* out, const unsigned* totals) {
    out[blockIdx.x * 256 + threadIdx.x] += totals[blockIdx.x];
}
