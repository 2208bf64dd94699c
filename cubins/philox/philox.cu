// Philox4x32-10 (Salmon et al., SC 2011): four words per counter, and points inside the unit circle.
__device__ uint4 philox4(uint4 c, uint2 key) {
#pragma unroll
    for (int r = 0; r < 10; ++r) {
        const unsigned h0 = __umulhi(0xd2511f53u, c.x), l0 = 0xd2511f53u * c.x;
        const unsigned h1 = __umulhi(0xcd9e8d57u, c.z), l1 = 0xcd9e8d57u * c.z;
        c = make_uint4(h1 ^ c.y ^ key.x, l1, h0 ^ c.w ^ key.y, l0);
        key.x += 0x9e3779b9u;
        key.y += 0xbb67ae85u;
    }
    return c;
}

extern "C" __global__ void philox(uint4* out, unsigned* inside, unsigned long long seed, int rounds) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const uint2 key = make_uint2(static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32));
    out[t] = philox4(make_uint4(t, 0, 0, 0), key);
    unsigned hits = 0;
    for (int i = 1; i <= rounds; ++i) {
        const uint4 r = philox4(make_uint4(t, i, 0, 0), key);
        const float x = static_cast<float>(r.x) * 2.3283064e-10f, y = static_cast<float>(r.y) * 2.3283064e-10f;
        hits += fmaf(x, x, y * y) <= 1.0f;
    }
    atomicAdd(inside, hits);
}
