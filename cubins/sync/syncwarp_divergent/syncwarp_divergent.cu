// The two halves of a warp take different ways; one reads what the other writes.
#include "../sync.h"
enum { none, warp };
extern "C" __global__ void syncwarp_divergent(const uint32_t* in, uint32_t rounds, uint32_t* out) {
    __shared__ uint32_t tile[W / 2];
    const uint32_t t = threadIdx.x;
    if (t < W / 2) {
        uint32_t v = in[t];
        for (uint32_t i = 0; i < rounds; ++i) v = v * 3 + i;
        tile[t] = v;  // @write
        LINK(warp) __syncwarp();
        out[t] = v;
    } else {
        LINK(warp) __syncwarp();
        out[t] = tile[t - W / 2];  // @read
    }
}
