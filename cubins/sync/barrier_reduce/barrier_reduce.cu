// bar.red orders memory as bar.sync does.
#include "../sync.h"
enum { none, reduce, mixed };
extern "C" __global__ void barrier_reduce(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t tile[2 * W];
    const uint32_t t = threadIdx.x;
    tile[t] = in[t];  // @write
    uint32_t odd = W;
    if constexpr (WITHOUT == mixed) odd = t < W ? __syncthreads_count(in[t] & 1) : (__syncthreads(), W);  // @mixed
    else LINK(reduce) odd = __syncthreads_count(in[t] & 1);
    out[t] = tile[t ^ (W | W / 4)] + odd;  // @read
}
