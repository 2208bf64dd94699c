// Launches that may begin before the one before them has ended: griddepcontrol.wait orders them, for the CTA by way of a
// barrier. The last one waits for the second, which has waited for the first.
#include "../sync.h"
enum { none, wait, barrier };
extern "C" __global__ void write(const uint32_t* in, uint32_t* data) {
    const uint32_t i = blockIdx.x * 64 + threadIdx.x;
    ASM("griddepcontrol.launch_dependents;" ::);
    data[i] = in[i] + 1;  // @write
}
extern "C" __global__ void read(const uint32_t* data, uint32_t* out) {
    const uint32_t i = blockIdx.x * 64 + threadIdx.x;
    ASM("griddepcontrol.launch_dependents;" ::);
    if (threadIdx.x == 0) {
        LINK(wait) ASM("griddepcontrol.wait;" ::);
    }
    LINK(barrier) __syncthreads();
    out[i] = data[i ^ 64];  // @read
}
extern "C" __global__ void again(uint32_t* data) {
    const uint32_t i = blockIdx.x * 64 + threadIdx.x;
    ASM("griddepcontrol.wait;" ::);
    data[i ^ 32] = 0;  // @again
}
