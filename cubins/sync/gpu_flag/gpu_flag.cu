// Seed pattern 2.1.3: a CTA produces in global memory, another consumes; one thread each handles the flag.
#include "../sync.h"
enum { none, gathered, release, release_scope, acquire, acquire_scope, spread };
extern "C" __global__ void gpu_flag(const uint32_t* in, uint32_t* data, uint32_t* flag, uint32_t* out) {
    const uint32_t t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t];  // @write
        LINK(gathered) __syncthreads();
        if (t == 0) {
            uint32_t old;
            if constexpr (WITHOUT == release)
                asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(flag) : "memory");
            else if constexpr (WITHOUT == release_scope)
                asm volatile("atom.release.cta.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(flag) : "memory");  // @set
            else
                asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(flag) : "memory");
            out[2 * W] = old;
        }
    } else {
        if (t == 0) {
            uint32_t seen;
            do LD("relaxed.gpu.global.u32", seen, flag);  // @poll
            while (!seen);
            if constexpr (WITHOUT == acquire_scope) ASM("fence.acquire.cta;" ::);
            else LINK(acquire) ASM("fence.acquire.gpu;" ::);
        }
        LINK(spread) __syncthreads();
        out[t] = data[2 * W - 1 - t];  // @read
    }
}
