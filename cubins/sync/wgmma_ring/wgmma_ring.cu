// A fifth warp fills the operands of a warpgroup by bulk copies, and again when wgmma.wait_group has said that they were read.
#include "../warpgroup.h"
enum { none, full, warp, wait };
extern "C" __global__ void wgmma_ring(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[128], b[16];
    __shared__ uint64_t filled, used;
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        MBAR_INIT(filled, 1);
        MBAR_INIT(used, 1);
    }
    PROXY_FENCE;
    __syncthreads();
    if (t == 128)
        for (uint32_t i = 0; i < 2; ++i) {
            if (i) MBAR_WAIT("", used, 0);
            MBAR_EXPECT(filled, 2048 + 256);
            BULK_LOAD(a, in + 128 * i, 2048, filled); BULK_LOAD(b, in, 256, filled);  // @copy
        }
    if (t >= 128) return;
    uint32_t d[4];
    for (uint32_t i = 0; i < 2; ++i) {
        LINK(full) if (WITHOUT != warp || t < 32) MBAR_WAIT("", filled, i);
        __syncwarp();
        WGMMA_FENCE; WGMMA_8(d, blocks_of_16(a), blocks_of_16(b), i);  // @mma
        WGMMA_COMMIT;
        LINK(wait) WGMMA_WAIT(0);
        if constexpr (WITHOUT == full || WITHOUT == warp) MBAR_WAIT("", filled, i);
        if (t == 0 && i == 0) MBAR_ARRIVE("release.cta", used);
    }
    WGMMA_WAIT(0);
    out[t] = d[0] + 3 * d[1] + 5 * d[2] + 7 * d[3];
}
