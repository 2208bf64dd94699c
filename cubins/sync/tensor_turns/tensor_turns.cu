// Two threads have the tensor core multiply, one after the other: it keeps to the order of issue (PTX ISA 9.7.16.6, pipelines),
// so the first need not be waited for, but the threads synchronise.
#include "../tensor.h"
enum { none, barrier, before, after };
extern "C" __global__ void tensor_turns(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[256], b[32];
    __shared__ uint64_t done, over;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x;
    if (t < 32) TENSOR_ALLOC(base);
    if (t == 0) {
        MBAR_INIT(done, 1);
        MBAR_INIT(over, 1);
    }
    for (uint32_t i = t; i < 288; i += 128) (i < 256 ? a[half_row(i / 2, i % 2)] : b[half_row((i - 256) / 2, i % 2)]) = in[i % 256];
    ASM("fence.proxy.async.shared::cta;" ::);
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    const uint32_t d = base;
    if (t == 64) {
        TENSOR_MMA(d, descriptor(a), descriptor(b));  // @mma
        LINK(before) TENSOR_BEFORE;
    }
    LINK(barrier) __syncthreads();
    if (t == 0) {
        LINK(after) TENSOR_AFTER;
        TENSOR_MMA_ADD(d, descriptor(a), descriptor(b));  // @again
        TENSOR_COMMIT(done);
    }
    if (t == 64) TENSOR_COMMIT(over);
    MBAR_WAIT("", done, 0);
    TENSOR_AFTER;
    uint32_t v[4];
    TENSOR_LOAD4(v, d + lanes_of_warp());
    TENSOR_WAIT_LOAD;
    out[t] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3];
    MBAR_WAIT("", over, 0);  // before the memory is given back
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    if (t < 32) TENSOR_FREE(d);
}
