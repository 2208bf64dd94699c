// Stable least-significant-digit radix sort of (key, value) pairs, 8 bits a pass: count, scan, scatter.
// Ranks inside a warp come from match.any, so equal digits keep their order.
constexpr int threads = 256;

extern "C" __global__ void __launch_bounds__(threads) radix_count(const unsigned* keys, unsigned* counts, int shift) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[keys[blockIdx.x * threads + threadIdx.x] >> shift & 255u], 1u);
    __syncthreads();
    counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(threads) radix_scan(unsigned* counts, int n) {
    __shared__ unsigned warps[8];
    const int per = n / threads, first = threadIdx.x * per, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned sum = 0;
    for (int i = 0; i < per; ++i) sum += counts[first + i];
    unsigned upto = sum;
    for (int d = 1; d < 32; d <<= 1) {
        const unsigned q = __shfl_up_sync(0xffffffffu, upto, d);
        if (lane >= d) upto += q;
    }
    if (lane == 31) warps[warp] = upto;
    __syncthreads();
    unsigned before = upto - sum;
    for (int w = 0; w < warp; ++w) before += warps[w];
    for (int i = 0; i < per; ++i) {
        const unsigned c = counts[first + i];
        counts[first + i] = before;
        before += c;
    }
}

extern "C" __global__ void __launch_bounds__(threads)
radix_scatter(const unsigned* keys, const unsigned* values, unsigned* keys_out, unsigned* values_out, const unsigned* counts, int shift) {
    __shared__ unsigned rank[8][256];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    for (int w = 0; w < 8; ++w) rank[w][t] = 0;
    __syncthreads();
    const unsigned key = keys[blockIdx.x * threads + t], digit = key >> shift & 255u;
    const unsigned peers = __match_any_sync(0xffffffffu, digit);
    const unsigned mine = __popc(peers & ((1u << lane) - 1u));
    if (mine == 0) rank[warp][digit] = __popc(peers);
    __syncthreads();
    unsigned at = counts[digit * gridDim.x + blockIdx.x] + mine;
    for (int w = 0; w < warp; ++w) at += rank[w][digit];
    keys_out[at] = key;
    values_out[at] = values[blockIdx.x * threads + t];
}
