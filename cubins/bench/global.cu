// Benchmark: coalesced global memory. Each CTA copies its part of one buffer to another and back, 128 bytes per warp access,
// so that nearly all instructions are LDG and STG.
constexpr int rows = 32;

extern "C" __global__ void __launch_bounds__(256) global(unsigned* a, unsigned* b, int words, int turns) {
    const long long part = static_cast<long long>(blockIdx.x) * words + threadIdx.x;
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
        const unsigned* from = (t & 1 ? b : a) + part;
        unsigned* to = (t & 1 ? a : b) + part;
#pragma unroll 1
        for (int i = 0; i < words; i += 256 * rows) {
            unsigned v[rows];
#pragma unroll
            for (int k = 0; k < rows; ++k) v[k] = from[i + 256 * k];
#pragma unroll
            for (int k = 0; k < rows; ++k) to[i + 256 * ((k + 1) % rows)] = v[k];
        }
        __syncthreads();
    }
}
