// flashinfer-ai/flashinfer #2708: the launches say that kernels may overlap, and a macro that was not set has removed
// griddepcontrol from those in the middle.
#include "sync.h"
enum { none, enabled };
__device__ inline void wait_on_dependent_grids() { LINK(enabled) ASM("griddepcontrol.wait;" ::); }
__device__ inline void launch_dependent_grids() { LINK(enabled) ASM("griddepcontrol.launch_dependents;" ::); }
extern "C" __global__ void quantize(const uint32_t* in, uint32_t* scaled) {
    const uint32_t i = blockIdx.x * 64 + threadIdx.x;
    ASM("griddepcontrol.launch_dependents;" ::);
    scaled[i] = in[i] * 3;
}
extern "C" __global__ void multiply(const uint32_t* scaled, uint32_t* product) {
    const uint32_t i = blockIdx.x * 64 + threadIdx.x;
    wait_on_dependent_grids();
    product[i] = scaled[i ^ 64] * 5;
    launch_dependent_grids();
}
extern "C" __global__ void normalize(const uint32_t* product, uint32_t* out) {
    const uint32_t i = blockIdx.x * 64 + threadIdx.x;
    ASM("griddepcontrol.wait;" ::);
    out[i] = product[i ^ 1] + 1;
}
