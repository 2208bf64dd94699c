// Shared counters: set to zero, counted up by everybody, read.
#include "../sync.h"
enum { none, zeroed, counted };
extern "C" __global__ void histogram(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t bins[W / 2];
    const uint32_t t = threadIdx.x;
    if (t < W / 2) bins[t] = 0;  // @zero
    LINK(zeroed) __syncthreads();
    atomicAdd(&bins[in[t] % (W / 2)], 1u);  // @count
    LINK(counted) __syncthreads();
    if (t >= 2 * W - W / 2) out[t - (2 * W - W / 2)] = bins[t - (2 * W - W / 2)];  // @read
}
