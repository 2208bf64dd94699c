// Seed pattern 2.3.1: a tensor copy fills a tile and completes on the mbarrier; the waiters read it.
#include "../sync.h"
enum { none, wait, spread, expect };
extern "C" __global__ void tma_load(const __grid_constant__ TensorMap map, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[R][W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        MBAR_INIT(full, 1);
        ASM("fence.proxy.async.shared::cta;" ::);
    }
    __syncthreads();
    if (t == 0) {
        if constexpr (WITHOUT == expect) MBAR_EXPECT(full, 2 * W * R);  // @expect
        else MBAR_EXPECT(full, 4 * W * R);
        TMA_LOAD(tile, map, 0, 0, full);  // @copy
    }
    if constexpr (WITHOUT == spread) {
        if (t == 0) MBAR_WAIT("", full, 0);
    } else LINK(wait) MBAR_WAIT("", full, 0);
    for (uint32_t y = t / W; y < R; y += 2) out[y * W + t % W] = tile[R - 1 - y][t % W];  // @read
}
