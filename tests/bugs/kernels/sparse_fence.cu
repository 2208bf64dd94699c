// tile-ai/tilelang #2634: operands that threads have stored are multiplied by a sparse wgmma with no proxy fence between.
#include "warpgroup.h"
enum { none, fence };
// Rows of 64 bytes in blocks of 8 rows x 16 bytes, four of them side by side.
__device__ inline uint64_t four_blocks(const void* p) {
    return (address(p) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{512 >> 4} << 32;
}
extern "C" __global__ void sparse_fence(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[128], b[256];
    const uint32_t t = threadIdx.x;
    a[half_of_row(t / 2, t % 2)] = in[t];
    for (uint32_t i = t; i < 256; i += 128) b[i / 32 * 32 + i % 4 * 8 + i / 4 % 8] = in[128 + i];
    LINK(fence) PROXY_FENCE;
    __syncthreads();
    uint32_t d[32] = {};
    WGMMA_FENCE;
    WGMMA_SPARSE_64("m64n64k64.s32.u8.u8", "+r", "", d, blocks_of_16(a), four_blocks(b), 0x44444444u, 0);  // places 0 and 1
    WGMMA_COMMIT;
    WGMMA_WAIT(0);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 32; ++i) sum += (i + 1) * d[i];
    out[t] = sum;
}
