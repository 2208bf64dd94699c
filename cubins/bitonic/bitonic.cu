// Bitonic sort of 1024 keys per CTA in shared memory, ascending and descending by CTA, then key-value pairs by 64 bits.
extern "C" __global__ void __launch_bounds__(512) bitonic(unsigned* keys) {
    __shared__ unsigned s[1024];
    unsigned* base = keys + blockIdx.x * 1024;
    const int t = threadIdx.x;
    s[t] = base[t];
    s[t + 512] = base[t + 512];
    const bool down = blockIdx.x & 1;
    for (int size = 2; size <= 1024; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            __syncthreads();
            const int i = 2 * t - (t & (stride - 1)), j = i + stride;
            const bool flip = ((i & size) != 0) != down;
            const unsigned a = s[i], b = s[j];
            if ((a > b) != flip) {
                s[i] = b;
                s[j] = a;
            }
        }
    __syncthreads();
    base[t] = s[t];
    base[t + 512] = s[t + 512];
}

// One warp sorts 32 signed 64-bit keys with shuffles only.
extern "C" __global__ void bitonic_warp(long long* keys) {
    const int lane = threadIdx.x & 31;
    long long v = keys[blockIdx.x * blockDim.x + threadIdx.x];
    for (int size = 2; size <= 32; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            const long long w = __shfl_xor_sync(0xffffffffu, v, stride);
            const bool low = (lane & stride) == 0, up = (lane & size) == 0;
            v = low == up ? min(v, w) : max(v, w);
        }
    keys[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
