// Lanes of one warp hand words to each other.
#include "../sync.h"
enum { none, warp };
extern "C" __global__ void syncwarp(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[W];
    const uint32_t t = threadIdx.x;
    tile[t] = in[t];  // @write
    LINK(warp) __syncwarp();
    out[t] = tile[t ^ (W / 4 + 1)];  // @read
}
