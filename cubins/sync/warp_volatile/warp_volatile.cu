// The lanes of a warp add up words of shared memory. That they are volatile keeps the compiler from
// them, and orders no lane before another.
#include "../sync.h"
enum { none, warp };
extern "C" __global__ void warp_volatile(const uint32_t* in, uint32_t* out) {
    __shared__ volatile uint32_t part[2 * W];
    const uint32_t t = threadIdx.x;
    part[t] = in[t];
    part[t + W] = 0;
    __syncwarp();
    for (uint32_t step = W / 2; step; step /= 2) {
        const uint32_t v = part[t] + part[t + step];  // @load
        LINK(warp) __syncwarp();
        part[t] = v;  // @store
        LINK(warp) __syncwarp();
    }
    if (t == 0) out[0] = part[0];
}
