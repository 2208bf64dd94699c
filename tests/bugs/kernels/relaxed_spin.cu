// NVIDIA/cutlass #3117: all GPUs signal that their part is there, and a relaxed spin waits for it before multimem.ld_reduce
// adds all parts up.
#include "sync.h"
enum { none, acquire };
extern "C" __global__ void relaxed_spin(const uint32_t* in, uint32_t* own, const uint32_t* all, uint32_t* signal, const uint32_t* flag,
                                        uint32_t gpus, uint32_t* out) {
    const uint32_t t = threadIdx.x;
    own[t] = in[t];
    __syncthreads();
    if (t == 0) {
        ASM("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(signal));
        uint32_t seen;
        do {
            LINK(acquire) asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
            if constexpr (WITHOUT == acquire) asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen < gpus);
    }
    __syncthreads();
    uint32_t sum;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(sum) : "l"(all + t) : "memory");
    out[t] = sum;
}
