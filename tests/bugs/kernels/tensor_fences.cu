// NVIDIA/cutlass #2974 asks: is tcgen05.fence::before_thread_sync missing where threads have waited for their loads
// (tcgen05.wait::ld) and then tell the thread that has the tensor core overwrite those columns?
#include "tensor.h"
enum { none, before };
extern "C" __global__ void tensor_fences(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[256], b[32];
    __shared__ uint64_t full, empty;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x;
    if (t < 32) TENSOR_ALLOC(base);
    if (t == 0) {
        MBAR_INIT(full, 1);
        MBAR_INIT(empty, 128);
    }
    for (uint32_t i = t; i < 288; i += 128) (i < 256 ? a[half_row(i / 2, i % 2)] : b[half_row((i - 256) / 2, i % 2)]) = in[i];
    ASM("fence.proxy.async.shared::cta;" ::);
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    const uint32_t d = base;
    uint32_t sum = 0;
    for (uint32_t turn = 0; turn < 2; ++turn) {
        if (t == 0) {
            if (turn) {
                MBAR_WAIT("", empty, 0);
                TENSOR_AFTER;
            }
            TENSOR_MMA(d, descriptor(a), descriptor(b));
            TENSOR_COMMIT(full);
        }
        __syncwarp();
        MBAR_WAIT("", full, turn);
        TENSOR_AFTER;
        uint32_t v[4];
        TENSOR_LOAD4(v, d + lanes_of_warp());
        TENSOR_WAIT_LOAD;
        sum += (turn + 1) * (v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3]);
        LINK(before) TENSOR_BEFORE;
        MBAR_ARRIVE("release.cta", empty);
    }
    out[t] = sum;
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    if (t < 32) TENSOR_FREE(d);
}
