// ld.global.nc and textures read memory that nobody writes while the kernel runs: caches need not keep them coherent.
#include "../sync.h"
enum { none, coherent };
extern "C" __global__ void read_only(const uint32_t* in, uint32_t* data, uint32_t* out) {
    const uint32_t t = threadIdx.x;
    data[t] = in[t] + 1;  // @write
    __syncthreads();
    uint32_t v;
    if constexpr (WITHOUT == coherent) LD("global.nc.u32", v, data + (t ^ (W | 1))); else LD("global.u32", v, data + (t ^ (W | 1)));  // @read
    out[t] = v;
}
