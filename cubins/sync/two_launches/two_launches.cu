// The end of a launch orders all of it before the next one.
#include "../sync.h"
enum { none, apart };
extern "C" __global__ void write(const uint32_t* in, uint32_t* data, uint32_t* out) {
    const uint32_t i = blockIdx.x * W + threadIdx.x;
    data[i] = in[i] + 1;  // @write
    if constexpr (WITHOUT == apart) out[i] = data[i ^ W];  // @read
}
extern "C" __global__ void read(const uint32_t* data, uint32_t* out) {
    const uint32_t i = blockIdx.x * W + threadIdx.x;
    if constexpr (WITHOUT != apart) out[i] = data[i ^ W];
}
