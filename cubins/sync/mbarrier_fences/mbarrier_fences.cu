// Seed pattern 2.1.1.3: a relaxed mbarrier orders execution, fences order memory.
#include "../sync.h"
enum { none, release, acquire, both };
extern "C" __global__ void mbarrier_fences(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x % W;
    if (threadIdx.x == 0) MBAR_INIT(full, W);
    __syncthreads();
    if (threadIdx.x < W) {
        tile[t] = in[t];  // @write
        if constexpr (WITHOUT != release && WITHOUT != both) ASM("fence.release.cta;" ::);
        MBAR_ARRIVE("relaxed.cta", full);
    } else {
        MBAR_WAIT(".relaxed.cta", full, 0);
        if constexpr (WITHOUT != acquire && WITHOUT != both) ASM("fence.acquire.cta;" ::);
        out[t] = tile[W - 1 - t];  // @read
    }
}
