// Seed pattern 2.2.2: threads store A to tensor memory, one has it multiplied.
#include "../tensor.h"
enum { none, wait, before, after, barrier };
extern "C" __global__ void tensor_store(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 b[32];
    __shared__ uint64_t done;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x;
    if (t < 32) TENSOR_ALLOC(base);
    if (t == 0) MBAR_INIT(done, 1);
    if (t < 32) b[half_row(t / 2, t % 2)] = in[t];
    ASM("fence.proxy.async.shared::cta;" ::);
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    const uint32_t d = base, a = d + 16, mine = lanes_of_warp();
    const uint4 row = in[2 * t];
    uint32_t v[4] = {row.x, row.y, row.z, row.w};
    TENSOR_STORE4(a + mine, v); TENSOR_STORE4(a + mine + 4, v);  // @store
    LINK(wait) TENSOR_WAIT_STORE;
    LINK(before) TENSOR_BEFORE;
    LINK(barrier) __syncthreads();
    if (t == 0) {
        LINK(after) TENSOR_AFTER;
        TENSOR_MMA_OF(d, a, descriptor(b));  // @mma
        TENSOR_COMMIT(done);
    }
    MBAR_WAIT("", done, 0);
    TENSOR_AFTER;
    TENSOR_LOAD4(v, d + mine);
    TENSOR_WAIT_LOAD;
    out[t] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3];
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    if (t < 32) TENSOR_FREE(d);
}
