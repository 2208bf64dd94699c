// Tiles leave shared memory by bulk copy; a tile is written again only when the copy has read it.
#include "../sync.h"
enum { none, fence, reuse, barrier, leave };
extern "C" __global__ void bulk_store(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[2 * W];
    const uint32_t t = threadIdx.x;
    for (uint32_t i = 0; i < 3; ++i) {
        LINK(reuse) if (t == 0) ASM("cp.async.bulk.wait_group.read 0;" ::);
        __syncthreads();
        tile[t] = in[i * 2 * W + t] * 7;  // @write
        LINK(fence) ASM("fence.proxy.async.shared::cta;" ::);
        LINK(barrier) __syncthreads();
        if (t == 0) {
            BULK_STORE(out + i * 2 * W, tile, 8 * W);  // @copy
            BULK_COMMIT;
        }
    }
    LINK(leave) if (t == 0) ASM("cp.async.bulk.wait_group 0;" ::);
}
