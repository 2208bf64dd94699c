// A sum by halves in shared memory.
#include "../sync.h"
enum { none, loaded, level };
extern "C" __global__ void tree(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t part[4 * W];
    const uint32_t t = threadIdx.x;
    part[t] = in[t];  // @load
    LINK(loaded) __syncthreads();
    for (uint32_t half = 2 * W; half; half /= 2) {
        if (t < half) part[t] += part[t + half];  // @add
        LINK(level) __syncthreads();
    }
    if (t == 0) out[0] = part[0];
}
