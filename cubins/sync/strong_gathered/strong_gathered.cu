// Seed pattern 2.1.3 as it is written there: the data is strong too. That makes no order.
#include "../sync.h"
enum { none, gathered, release, acquire, spread };
extern "C" __global__ void strong_gathered(const uint32_t* in, uint32_t* data, uint32_t* flag, uint32_t* out) {
    const uint32_t t = threadIdx.x;
    if (blockIdx.x == 0) {
        ST("relaxed.gpu.global.u32", data + t, in[t]);  // @write
        LINK(gathered) __syncthreads();
        if (t == 0) {
            uint32_t old;
            if constexpr (WITHOUT == release)
                asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(flag) : "memory");
            else
                asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(flag) : "memory");
            out[2 * W] = old;
        }
    } else {
        if (t == 0) {
            uint32_t seen;
            do LD("relaxed.gpu.global.u32", seen, flag);
            while (!seen);
            LINK(acquire) ASM("fence.acquire.gpu;" ::);
        }
        LINK(spread) __syncthreads();
        uint32_t v;
        LD("relaxed.gpu.global.u32", v, data + 2 * W - 1 - t);  // @read
        out[t] = v;
    }
}
