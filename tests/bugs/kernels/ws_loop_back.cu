// tile-ai/tilelang #2613: all threads stage an operand that two warpgroups multiply with; nothing makes the next turn of the
// loop wait for both before it is staged again.
#include "warpgroup.h"
enum { none, back };
extern "C" __global__ void ws_loop_back(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[128], b[2][16];
    const uint32_t t = threadIdx.x, group = t / 128;
    if (t % 128 < 16) b[group][half_of_row(t % 128 / 2, t % 2)] = in[t % 128 + group * 16];
    uint32_t d[4] = {};
    for (uint32_t k = 0; k < 2; ++k) {
        if (t < 128) a[half_of_row(t / 2, t % 2)] = in[32 + k * 128 + t];
        PROXY_FENCE;
        __syncthreads();
        WGMMA_FENCE;
        WGMMA_8(d, blocks_of_16(a), blocks_of_16(b[group]), k);
        WGMMA_COMMIT;
        WGMMA_WAIT(0);
        LINK(back) __syncthreads();
    }
    out[t] = d[0] + 3 * d[1] + 5 * d[2] + 7 * d[3];
}
