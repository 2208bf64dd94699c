// The last CTA to finish adds what all have stored.
#include "../sync.h"
enum { none, gathered, release, release_scope, acquire };
extern "C" __global__ void last_block(const uint32_t* in, uint32_t* part, uint32_t* count, uint32_t* out) {
    __shared__ bool last;
    const uint32_t t = threadIdx.x;
    part[blockIdx.x * 2 * W + t] = in[blockIdx.x * 2 * W + t] * 5;  // @write
    LINK(gathered) __syncthreads();
    if (t == 0) {
        if constexpr (WITHOUT == release_scope) __threadfence_block();
        else LINK(release) __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
        LINK(acquire) __threadfence();
    }
    __syncthreads();
    if (!last) return;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < gridDim.x; ++i) sum = sum * 3 + part[i * 2 * W + (t + 7) % (2 * W)];  // @read
    out[t] = sum;
}
