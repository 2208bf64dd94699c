// Shared counters: set to zero, counted up by everybody, read.
#include "../sync.h"
enum { none, zeroed, counted };
extern "C" __global__ void histogram(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t bins[16];
    const uint32_t t = threadIdx.x;
    if (t < 16) bins[t] = 0;  // @zero
    LINK(zeroed) __syncthreads();
    atomicAdd(&bins[in[t] % 16], 1u);  // @count
    LINK(counted) __syncthreads();
    if (t >= 48) out[t - 48] = bins[t - 48];  // @read
}
