// A lock by compare-and-swap; one thread of every CTA adds to a plain word under it.
#include "../sync.h"
enum { none, acquire, release, acquire_scope, lock };
extern "C" __global__ void spin_lock(uint32_t* mutex, uint32_t* sum) {
    if (threadIdx.x != 0) return;
    uint32_t old;
    LINK(lock) do {
        if constexpr (WITHOUT == acquire)
            asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(mutex) : "memory");
        else if constexpr (WITHOUT == acquire_scope)
            asm volatile("atom.acquire.cta.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(mutex) : "memory");  // @cas
        else
            asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(mutex) : "memory");
    } while (old);
    *sum += blockIdx.x + 1;  // @add
    if constexpr (WITHOUT == release) ST("relaxed.gpu.global.u32", mutex, 0);
    else ST("release.gpu.global.u32", mutex, 0);  // @unlock
}
