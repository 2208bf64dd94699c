// Threads overwrite an operand when all warps of the warpgroup know that the wgmma has read it, for the next one.
#include "../warpgroup.h"
enum { none, wait, fence, barrier };
extern "C" __global__ void wgmma_reload(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[128], b[16];
    const uint32_t t = threadIdx.x;
    if (t < 16) b[half_of_row(t / 2, t % 2)] = in[t];
    a[half_of_row(t / 2, t % 2)] = in[t];
    PROXY_FENCE;
    __syncthreads();
    uint32_t d[4];
    WGMMA_FENCE; WGMMA_8(d, blocks_of_16(a), blocks_of_16(b), 0);  // @first
    WGMMA_COMMIT;
    LINK(wait) WGMMA_WAIT(0);
    a[half_of_row(t / 2, t % 2)] = in[128 + t];  // @write
    LINK(fence) PROXY_FENCE;
    LINK(barrier) __syncthreads();
    WGMMA_FENCE; WGMMA_8(d, blocks_of_16(a), blocks_of_16(b), 1);  // @again
    WGMMA_COMMIT;
    WGMMA_WAIT(0);
    out[t] = d[0] + 3 * d[1] + 5 * d[2] + 7 * d[3];
}
