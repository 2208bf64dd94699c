// Seed pattern 2.1.1.2: mbarrier arrive (release) and try_wait (acquire) in one CTA.
#include "../sync.h"
enum { none, wait, parity, release, acquire, init };
extern "C" __global__ void mbarrier_cta(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x % W;
    if (threadIdx.x == 0) MBAR_INIT(full, W);  // @init
    LINK(init) __syncthreads();
    if (threadIdx.x < W) {
        tile[t] = in[t];  // @write
        if constexpr (WITHOUT == release) MBAR_ARRIVE("relaxed.cta", full);
        else MBAR_ARRIVE("release.cta", full);
    } else {
        if constexpr (WITHOUT == parity) MBAR_WAIT(".acquire.cta", full, 1);
        else if constexpr (WITHOUT == acquire) MBAR_WAIT(".relaxed.cta", full, 0);
        else LINK(wait) MBAR_WAIT(".acquire.cta", full, 0);  // @await
        out[t] = tile[W - 1 - t];  // @read
    }
}
