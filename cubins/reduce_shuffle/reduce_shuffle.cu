// Reductions by warp shuffles in all four modes (down, up, xor, indexed), float, double and 64-bit integer,
// with a sub-warp width too. Lanes whose source lies outside the segment keep their own value.
extern "C" __global__ void __launch_bounds__(128)
reduce_shuffle(const float* x, float* down, double* butterfly, unsigned long long* prefix, float* segments, int* rotated) {
    __shared__ float part[4];
    const int t = threadIdx.x, lane = t & 31, i = blockIdx.x * 128 + t;
    const float v = x[i];

    float s = v;
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
    if (lane == 0) part[t >> 5] = s;
    __syncthreads();
    if (t == 0) down[blockIdx.x] = (part[0] + part[1]) + (part[2] + part[3]);

    double w = static_cast<double>(v) * v;
    for (int d = 1; d < 32; d <<= 1) w += __shfl_xor_sync(0xffffffffu, w, d);
    butterfly[i] = w;

    unsigned long long p = static_cast<unsigned long long>(__float_as_uint(v)) * 0x9e3779b9ull;
    for (int d = 1; d < 32; d <<= 1) {
        const unsigned long long q = __shfl_up_sync(0xffffffffu, p, d);
        if (lane >= d) p += q;
    }
    prefix[i] = p;

    float g = v;
    for (int d = 4; d > 0; d >>= 1) g = fmaxf(g, __shfl_down_sync(0xffffffffu, g, d, 8));
    segments[i] = g;

    rotated[i] = __shfl_sync(0xffffffffu, __float_as_int(v), lane * 7 + 3, 16);
}
