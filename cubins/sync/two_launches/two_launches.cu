// The end of a launch orders all of it before the next one.
#include "../sync.h"
enum { none, apart };
extern "C" __global__ void write(const uint32_t* in, uint32_t* data, uint32_t* out) {
    const uint32_t i = blockIdx.x * 32 + threadIdx.x;
    data[i] = in[i] + 1;  // @write
    if constexpr (WITHOUT == apart) out[i] = data[i ^ 32];  // @read
}
extern "C" __global__ void read(const uint32_t* data, uint32_t* out) {
    const uint32_t i = blockIdx.x * 32 + threadIdx.x;
    out[i] = data[i ^ 32];
}
