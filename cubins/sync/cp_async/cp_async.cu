// LDGSTS: a delayed copy by the thread itself. Wait for the group, then a barrier for the other threads.
#include "../sync.h"
enum { none, wait, barrier };
extern "C" __global__ void cp_async(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(16) uint32_t tile[2][8 * W];
    const uint32_t t = threadIdx.x;
    for (uint32_t i = 0; i < 4; ++i) {
        ASM("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address(&tile[i % 2][t * 4])), "l"(in + i * 8 * W + t * 4));  // @copy
        ASM("cp.async.commit_group;" ::);
        LINK(wait) ASM("cp.async.wait_group 0;" ::);
        LINK(barrier) __syncthreads();
        for (uint32_t k = 0; k < 4; ++k) out[i * 8 * W + k * 2 * W + t] = tile[i % 2][8 * W - 1 - k * 2 * W - t];  // @read
        __syncthreads();
    }
}
