// cp.async.mbarrier.arrive without .noinc: the object counts one arrival more, which the copies
// make, so a thread still arrives itself.
#include "../sync.h"
enum { none, copies, wait };
extern "C" __global__ void cp_async_arrive(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(16) uint32_t tile[8 * W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x;
    if (t == 0) MBAR_INIT(full, 2 * W);
    __syncthreads();
    ASM("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(&tile[t * 4])), "l"(in + t * 4));  // @copy
    LINK(copies) ASM("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(address(&full)));
    MBAR_ARRIVE("release.cta", full);
    LINK(wait) MBAR_POLL(full, 0);
    for (uint32_t k = 0; k < 4; ++k) out[k * 2 * W + t] = tile[8 * W - 1 - k * 2 * W - t];  // @read
}
