// What a bulk copy wrote to global memory is read by the threads: the group has to be waited for.
#include "../sync.h"
enum { none, wait, spread };
extern "C" __global__ void bulk_result(const uint32_t* in, uint32_t* data, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[2 * W];
    const uint32_t t = threadIdx.x;
    tile[t] = in[t] * 3;
    ASM("fence.proxy.async;" ::);
    __syncthreads();
    if (t == 0) {
        BULK_STORE(data, tile, 8 * W);  // @copy
        BULK_COMMIT;
        LINK(wait) ASM("cp.async.bulk.wait_group 0;" ::);
    }
    LINK(spread) __syncthreads();
    out[t] = data[2 * W - 1 - t];  // @read
}
