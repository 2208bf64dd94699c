// Benchmark: random reads. Each thread follows four chains of indices through a 64 MiB table: every second instruction is a load
// whose 32 addresses lie anywhere in it.
extern "C" __global__ void __launch_bounds__(256) gather(const unsigned* __restrict__ table, unsigned* out, int turns) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = i * 7u, b = i * 13u + 1u, c = i * 31u + 2u, d = i * 3u + 3u;
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            a = table[a];
            b = table[b];
            c = table[c];
            d = table[d];
        }
    }
    out[i] = a ^ b * 3u ^ c * 5u ^ d * 7u;
}
