// A pipeline of one stage: readers say that they are done, then the next copy overwrites the tile.
// The order of generic reads before an asynchronous write: the mbarrier alone is what is commonly relied on;
// to the letter it takes a proxy fence by the readers as well (-DWITHOUT=fence).
#include "../sync.h"
enum { none, empty, fence };
extern "C" __global__ void bulk_reuse(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[2 * W];
    __shared__ uint64_t full[4], free_;
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        for (uint32_t i = 0; i < 4; ++i) MBAR_INIT(full[i], 1);
        MBAR_INIT(free_, 2 * W);
        ASM("fence.proxy.async.shared::cta;" ::);
    }
    __syncthreads();
    for (uint32_t i = 0; i < 4; ++i) {
        if (t == 0) {
            LINK(empty) if (i) MBAR_WAIT("", free_, (i - 1) & 1);
            MBAR_EXPECT(full[i], 8 * W);
            BULK_LOAD(tile, in + i * 2 * W, 8 * W, full[i]);  // @copy
        }
        MBAR_WAIT("", full[i], 0);
        out[i * 2 * W + t] = tile[2 * W - 1 - t];  // @read
        LINK(fence) ASM("fence.proxy.async.shared::cta;" ::);
        MBAR_ARRIVE("release.cta", free_);
    }
}
