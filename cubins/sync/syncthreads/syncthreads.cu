// Seed pattern 2.1.1.1: one half of a CTA reads what the other half wrote, over and over.
#include "../sync.h"
enum { none, full, empty };
extern "C" __global__ void syncthreads(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[2 * W];
    const uint32_t t = threadIdx.x;
    for (uint32_t i = 0; i < 3; ++i) {
        tile[t] = in[i * 2 * W + t];  // @write
        LINK(full) __syncthreads();
        out[i * 2 * W + t] = tile[t ^ (W | 1)];  // @read
        LINK(empty) __syncthreads();
    }
}
