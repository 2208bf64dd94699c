// Seed 004, "When do I need tcgen05.wait::ld?": a thread loads from tensor memory and stores to the same place.
#include "../tensor.h"
enum { none, load, store };
extern "C" __global__ void tensor_reload(const uint4* in, uint32_t* out) {
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x;
    if (t < 32) TENSOR_ALLOC(base);
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    const uint32_t at = base + lanes_of_warp();
    const uint4 row = in[t];
    uint32_t v[4] = {row.x, row.y, row.z, row.w}, w[4];
    TENSOR_STORE4(at, v);  // @first
    LINK(store) TENSOR_WAIT_STORE;
    TENSOR_LOAD4(w, at);  // @load
    LINK(load) TENSOR_WAIT_LOAD;
    TENSOR_STORE4(at, v);  // @again
    TENSOR_WAIT_STORE;
    TENSOR_WAIT_LOAD;
    out[t] = w[0] + 3 * w[1] + 5 * w[2] + 7 * w[3];
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    if (t < 32) TENSOR_FREE(base);
}
