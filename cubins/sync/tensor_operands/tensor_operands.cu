// Seed patterns 2.2.2 (operands in shared memory) and 2.3.2: threads write the operands, one has them multiplied, all read.
#include "../tensor.h"
enum { none, fence, barrier, wait, after };
extern "C" __global__ void tensor_operands(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[256], b[32];
    __shared__ uint64_t done;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x;
    if (t < 32) TENSOR_ALLOC(base);
    if (t == 0) MBAR_INIT(done, 1);
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    const uint32_t d = base;
    for (uint32_t i = t; i < 288; i += 128) (i < 256 ? a[half_row(i / 2, i % 2)] : b[half_row((i - 256) / 2, i % 2)]) = in[i % 256];  // @write
    LINK(fence) ASM("fence.proxy.async.shared::cta;" ::);
    LINK(barrier) __syncthreads();
    if (t == 0) {
        TENSOR_MMA(d, descriptor(a), descriptor(b));  // @mma
        TENSOR_COMMIT(done);
    }
    LINK(wait) MBAR_WAIT("", done, 0);
    LINK(after) TENSOR_AFTER;
    uint32_t v[4];
    TENSOR_LOAD4(v, d + lanes_of_warp());  // @read
    TENSOR_WAIT_LOAD;
    out[t] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3];
    if constexpr (WITHOUT == wait) MBAR_WAIT("", done, 0);
    __syncthreads();
    if (t < 32) TENSOR_FREE(d);
}
