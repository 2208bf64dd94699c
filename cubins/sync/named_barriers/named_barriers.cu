// The two-barrier handshake of the PTX manual: warp 0 produces, warp 1 consumes; neither waits without need.
#include "../sync.h"
enum { none, full, empty };
extern "C" __global__ void named_barriers(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[W];
    const uint32_t t = threadIdx.x % 32; if (t >= W) return;
    if (threadIdx.x < 32) {
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t v = in[i * W + t];
            LINK(empty) if (i) ASM("bar.sync %0, 64;" ::"r"(i));
            tile[t] = v;  // @write
            LINK(full) ASM("bar.arrive %0, 64;" ::"r"(i + 8));
        }
    } else {
        for (uint32_t i = 0; i < 4; ++i) {
            LINK(full) ASM("bar.sync %0, 64;" ::"r"(i + 8));
            out[i * W + t] = tile[W - 1 - t];  // @read
            LINK(empty) if (i < 3) ASM("bar.arrive %0, 64;" ::"r"(i + 1));
        }
    }
}
