// A ring with test_wait alone, as chips before sm_90 have it: there an object is two counters,
// ATOMS.ARRIVE counts and ordinary loads look at the phase.
#include "../sync.h"
enum { none, empty, full, init };
extern "C" __global__ void mbarrier_poll(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[2][W];
    __shared__ uint64_t ready[4], free_[2];
    const uint32_t t = threadIdx.x % W;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < 4; ++i) MBAR_INIT(ready[i], W);  // @init
        for (uint32_t s = 0; s < 2; ++s) MBAR_INIT(free_[s], W);
    }
    LINK(init) __syncthreads();
    if (threadIdx.x < W) {
        for (uint32_t i = 0; i < 4; ++i) {
            LINK(empty) if (i >= 2) MBAR_POLL(free_[i % 2], 0);
            tile[i % 2][t] = in[i * W + t];  // @write
            MBAR_ARRIVE("release.cta", ready[i]);
        }
    } else {
        for (uint32_t i = 0; i < 4; ++i) {
            LINK(full) MBAR_POLL(ready[i], 0);  // @await
            out[i * W + t] = tile[i % 2][W - 1 - t];  // @read
            if (i < 2) MBAR_ARRIVE("release.cta", free_[i]);
        }
    }
}
