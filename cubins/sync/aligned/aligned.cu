// Threads of a warp that come apart, and meet at a barrier on each side of the branch: barrier.sync allows it. bar.sync, which
// is barrier.sync.aligned, demands that all threads of a warp execute the same one.
#include "../sync.h"
enum { none, apart };
extern "C" __global__ void aligned(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[64];
    const uint32_t t = threadIdx.x; if (t % 32 >= W) return;
    tile[t] = in[t];
    if (t % 2) {
        tile[t] += 5;
        if constexpr (WITHOUT == apart) ASM("bar.sync 1, 64;" ::); else ASM("barrier.sync 1, 64;" ::);  // @odd
        out[t] = tile[t ^ 33] * 3;
    } else {
        tile[t] -= 7;
        if constexpr (WITHOUT == apart) ASM("bar.sync 1, 64;" ::); else ASM("barrier.sync 1, 64;" ::);  // @even
        out[t] = tile[t ^ 33] + 9;
    }
}
