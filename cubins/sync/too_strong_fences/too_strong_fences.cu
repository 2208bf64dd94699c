// Correct, and with fences that are dearer than they need be: a message needs no fence.sc, and none
// that reaches other GPUs. The stores and loads of two threads that must not miss each other do.
#include "../sync.h"
enum { none };
extern "C" __global__ void too_strong_fences(const uint32_t* in, uint32_t* data, uint32_t* flags, uint32_t* out) {
    uint32_t seen;
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        data[0] = in[0];
        __threadfence_system();  // @system
        ST("relaxed.gpu.global.u32", flags, 1);
    } else {
        do LD("relaxed.gpu.global.u32", seen, flags);
        while (!seen);
        __threadfence();  // @receive
        out[0] = data[0];
    }
    ST("relaxed.gpu.global.u32", flags + 1 + blockIdx.x, 1);
    __threadfence();  // @dekker
    LD("relaxed.gpu.global.u32", seen, flags + 2 - blockIdx.x);
    if (seen > 1) out[0] = seen;
}
