// archs: sm_90 sm_100 sm_120
// A chain of launches, each of which may begin before the one before it has ended: it waits for that before it
// reads (griddepcontrol).
#include <cstdint>

extern "C" __global__ void stage(const uint32_t* in, uint32_t* out, uint32_t n, uint32_t round) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t factor = round * 2 + 3;  // what needs nothing of the launch before
    asm volatile("griddepcontrol.wait;" ::: "memory");
    const uint32_t v = in[(i * 5 + round) % n];
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    out[i] = v * factor + i;
}
