// Hashes of MUFU over all operands, for special.py, which puts the other functions in the place of MUFU.RCP.
#include <cstdint>

__device__ __forceinline__ uint32_t function(uint32_t x) {
    uint32_t y;
    asm volatile("{.reg .f32 a, b; mov.b32 a, %1; rcp.approx.ftz.f32 b, a; mov.b32 %0, b;}" : "=r"(y) : "r"(x));
    return y;
}
__device__ __forceinline__ uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
// One block of 256 threads per `size` operands.
extern "C" __global__ void hashes(uint64_t* out, uint32_t size) {
    __shared__ uint64_t part[8];
    uint64_t h = 0;
    for (uint32_t i = threadIdx.x; i < size; i += 256) {
        const uint32_t x = blockIdx.x * size + i;
        h += mix(uint64_t{x} << 32 | function(x));
    }
    for (int step = 16; step; step /= 2) h += __shfl_xor_sync(~0u, h, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = h;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int i = 1; i < 8; ++i) h += part[i];
    out[blockIdx.x] = h;
}
