// Threads bring the operands of a wgmma by cp.async: waited for, shown to the async proxy (by the letter), gathered.
#include "../warpgroup.h"
enum { none, wait, fence, barrier };
extern "C" __global__ void wgmma_cp_async(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[128], b[16];
    const uint32_t t = threadIdx.x;
    for (uint32_t i = t; i < 144; i += 128) ASM("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(i < 128 ? &a[half_of_row(i / 2, i % 2)] : &b[half_of_row((i - 128) / 2, i % 2)])), "l"(in + i % 128));  // @copy
    LINK(wait) ASM("cp.async.wait_all;" ::);
    LINK(fence) PROXY_FENCE;
    LINK(barrier) __syncthreads();
    uint32_t d[4];
    WGMMA_FENCE; WGMMA_8(d, blocks_of_16(a), blocks_of_16(b), 0);  // @mma
    WGMMA_COMMIT;
    WGMMA_WAIT(0);
    out[t] = d[0] + 3 * d[1] + 5 * d[2] + 7 * d[3];
}
