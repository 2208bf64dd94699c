// A bulk copy into a tile that threads had written before: their writes must reach the async proxy first.
#include "../sync.h"
enum { none, fence, barrier };
extern "C" __global__ void bulk_load(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[2 * W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t == 0) MBAR_INIT(full, 1);
    __syncthreads();
    tile[t] = t;  // @write
    LINK(fence) ASM("fence.proxy.async.shared::cta;" ::);
    LINK(barrier) __syncthreads();
    if (t == 0) {
        MBAR_EXPECT(full, 4 * W);
        BULK_LOAD(tile + W, in, 4 * W, full);  // @copy
    }
    MBAR_WAIT("", full, 0);
    __syncthreads();
    out[t] = tile[t ^ (W - 1)];
}
