// Bulk copies of several CTAs add to the same words; the last CTA reads them. Each is relaxed at scope gpu: who has waited for its group hands it on.
#include "../warpgroup.h"
enum { none, fence, wait, read, release, acquire };
extern "C" __global__ void bulk_reduce(const uint32_t* in, uint32_t* data, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[W];
    __shared__ uint32_t before;
    const uint32_t t = threadIdx.x;
    tile[t] = in[blockIdx.x * W + t] + 1;  // @write
    LINK(fence) PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
        BULK_ADD(data, tile, 4 * W);  // @copy
        BULK_COMMIT;
        if constexpr (WITHOUT == read) BULK_WAIT_READ;
        else LINK(wait) BULK_WAIT;
        uint32_t n;
        if constexpr (WITHOUT == release)
            asm volatile("atom.acquire.gpu.global.add.u32 %0, [%1], 1;" : "=r"(n) : "l"(data + W) : "memory");
        else if constexpr (WITHOUT == acquire)
            asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;" : "=r"(n) : "l"(data + W) : "memory");
        else
            asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(n) : "l"(data + W) : "memory");
        before = n;
        if constexpr (WITHOUT == wait || WITHOUT == read) BULK_WAIT;
    }
    __syncthreads();
    if (before + 1 == gridDim.x) out[t] = data[t];  // @read
}
