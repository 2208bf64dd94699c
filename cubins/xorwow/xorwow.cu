// Marsaglia's xorwow generator (JSS 2003): one stream per thread, integers and uniform floats.
extern "C" __global__ void xorwow(const unsigned* seeds, unsigned* words, float* uniform, int draws) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    unsigned x = 123456789u ^ seeds[t], y = 362436069u + seeds[t], z = 521288629u, w = 88675123u, v = 5783321u, d = 6615241u;
    float sum = 0;
    for (int i = 0; i < draws; ++i) {
        const unsigned s = x ^ x >> 2;
        x = y;
        y = z;
        z = w;
        w = v;
        v = (v ^ v << 4) ^ (s ^ s << 1);
        d += 362437u;
        const unsigned r = d + v;
        if (i < 4) words[i * n + t] = r;
        sum += static_cast<float>(r >> 8) * 5.9604644775390625e-8f;
    }
    uniform[t] = sum;
}
