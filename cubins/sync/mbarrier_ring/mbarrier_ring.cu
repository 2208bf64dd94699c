// Two slots for three tiles: mbarriers say that a tile is there, and that its slot is free again.
#include "../sync.h"
enum { none, empty, full };
extern "C" __global__ void mbarrier_ring(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[2][W];
    __shared__ uint64_t ready[3], free_[2];
    const uint32_t t = threadIdx.x % W;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < 3; ++i) MBAR_INIT(ready[i], W);
        for (uint32_t s = 0; s < 2; ++s) MBAR_INIT(free_[s], W);
    }
    __syncthreads();
    if (threadIdx.x < W) {
        for (uint32_t i = 0; i < 3; ++i) {
            LINK(empty) if (i == 2) MBAR_WAIT("", free_[0], 0);
            tile[i % 2][t] = in[i * W + t];  // @write
            MBAR_ARRIVE("release.cta", ready[i]);
        }
    } else {
        for (uint32_t i = 0; i < 3; ++i) {
            LINK(full) MBAR_WAIT("", ready[i], 0);
            out[i * W + t] = tile[i % 2][W - 1 - t];  // @read
            if (i == 0) MBAR_ARRIVE("release.cta", free_[0]);
        }
    }
}
