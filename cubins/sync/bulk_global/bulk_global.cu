// A thread writes global memory that a bulk copy then reads.
#include "../sync.h"
enum { none, fence };
extern "C" __global__ void bulk_global(const uint32_t* in, uint32_t* data, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        MBAR_INIT(full, 1);
        ASM("fence.proxy.async.shared::cta;" ::);
    }
    data[t] = in[t] + 9;  // @write
    LINK(fence) ASM("fence.proxy.async.global;" ::);
    __syncthreads();
    if (t == 0) {
        MBAR_EXPECT(full, 4 * W);
        BULK_LOAD(tile, data, 4 * W, full);  // @copy
    }
    MBAR_WAIT("", full, 0);
    out[t] = tile[W - 1 - t];
}
