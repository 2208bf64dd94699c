// NVIDIA/cutlass #3117 for exploration: as relaxed_spin, a thread a GPU, and a strong load of each part in place of
// multimem.ld_reduce; neither is answered by L1.
#include "sync.h"
enum { none, acquire };
extern "C" __global__ void relaxed_spin_peers(uint32_t* own, const uint32_t* other, uint32_t* signal, const uint32_t* flag, uint32_t* out) {
    *own = 7;
    ASM("red.release.sys.global.add.u32 [%0], 1;" ::"l"(signal));
    uint32_t seen, theirs;
    do {
        LINK(acquire) asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        if constexpr (WITHOUT == acquire) asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (!seen);
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(theirs) : "l"(other) : "memory");
    *out = theirs;
}
