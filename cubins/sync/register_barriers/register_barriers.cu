// Barriers whose number and count are in registers, which the compiler packs into one: bits that do
// not fit are lost there, and what is left names another barrier, or another count.
#include "../sync.h"
enum { none, full, number, count, beyond, most };
extern "C" __global__ void register_barriers(const uint32_t* in, uint32_t n, uint32_t threads, uint32_t bad_n,
                                             uint32_t too_many, uint32_t* out) {
    __shared__ uint32_t tile[W];
    const uint32_t t = threadIdx.x % 32; if (t >= W) return;
    if (WITHOUT == number || WITHOUT == beyond) n = bad_n;
    if (WITHOUT == count || WITHOUT == most) threads = too_many;
    if (threadIdx.x < 32) {
        tile[t] = in[t];  // @write
        LINK(full) ASM("bar.arrive %0, %1;" ::"r"(n), "r"(threads));  // @arrive
    } else {
        LINK(full) ASM("bar.sync %0, %1;" ::"r"(n), "r"(threads));  // @sync
        out[t] = tile[W - 1 - t];  // @read
    }
}
