// Correct, and dearer than it need be: what is marked may go, or be weaker.
#include "../sync.h"
enum { none };
extern "C" __global__ void too_strong(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[2 * W], pairs[2 * W];
    const uint32_t t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();  // @needed
    const uint32_t v = tile[t ^ (W | 1)];
    __syncthreads();                                  // @idle
    ASM("fence.acq_rel.gpu;" ::);                     // @fence
    ASM("fence.proxy.async.shared::cta;" ::);         // @proxy
    pairs[t] = v;
    __syncthreads();  // @warp
    out[t] = pairs[t ^ 1] + v;
}
