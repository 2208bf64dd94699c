// Seed pattern 2.2.1: threads write a tile, each fences for the async proxy, all gather, one stores it by tensor.
#include "../sync.h"
enum { none, fence, barrier, issuer };
extern "C" __global__ void tma_store(const uint32_t* in, const __grid_constant__ TensorMap map) {
    __shared__ alignas(128) uint32_t tile[R][W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t == 0) MBAR_INIT(full, 2 * W);
    __syncthreads();
    for (uint32_t y = t / W; y < R; y += 2) tile[y][t % W] = in[y * W + t % W] + 1;  // @write
    if constexpr (WITHOUT != issuer) LINK(fence) ASM("fence.proxy.async.shared::cta;" ::);
    LINK(barrier) MBAR_ARRIVE("release.cta", full);
    if (t == 0) {
        LINK(barrier) MBAR_WAIT(".acquire.cta", full, 0);
        if constexpr (WITHOUT == issuer) ASM("fence.proxy.async.shared::cta;" ::);
        TMA_STORE(map, 0, 0, tile);  // @copy
        BULK_COMMIT;
        ASM("cp.async.bulk.wait_group 0;" ::);
    }
}
