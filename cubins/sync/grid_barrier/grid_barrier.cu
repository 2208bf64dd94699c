// A barrier of all CTAs: all gather, one thread releases, counts and spins, then lets the others go.
#include "../sync.h"
enum { none, gathered, release, acquire, spread };
extern "C" __global__ void grid_barrier(const uint32_t* in, uint32_t* data, uint32_t* count, uint32_t* out) {
    const uint32_t t = threadIdx.x, cta = blockIdx.x;
    data[cta * 2 * W + t] = in[cta * 2 * W + t] + cta;  // @write
    LINK(gathered) __syncthreads();
    if (t == 0) {
        LINK(release) __threadfence();
        atomicAdd(count, 1u);
        uint32_t seen;
        do LD("relaxed.gpu.global.u32", seen, count);
        while (seen != gridDim.x);
        LINK(acquire) __threadfence();
    }
    LINK(spread) __syncthreads();
    out[cta * 2 * W + t] = data[(cta + 1) % gridDim.x * 2 * W + (2 * W - 1 - t)];  // @read
}
