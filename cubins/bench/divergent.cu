// Benchmark: branches that depend on data. Every lane draws its own path: loops of different length inside nested conditions,
// which diverge and meet again (BSSY, BSYNC) all the time.
extern "C" __global__ void __launch_bounds__(256) divergent(unsigned* out, int turns) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned r = i * 2654435761u + 12345u, v = i;
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
        r = r * 1664525u + 1013904223u;
        if (r >> 31) {
            int left = r >> 20 & 7;
#pragma unroll 1
            while (left-- >= 0) v = v * 31u + r;
        } else if (r >> 30 & 1u) {
#pragma unroll 1
            for (unsigned w = r >> 16 & 255u; w != 0; w &= w - 1) v ^= w << (v & 15u);
        } else {
            unsigned x = r >> 18 | 1u;
#pragma unroll 1
            while (x < 100000u) {
                x += x >> 1 | 1u;
                if (x & 4u) {
#pragma unroll 1
                    for (unsigned k = x & 3u; k != 0; --k) v += x ^ k;
                }
            }
            v ^= x;
        }
    }
    out[i] = v;
}
