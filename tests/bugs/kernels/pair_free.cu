// NVIDIA/cutlass #3435: a CTA gives the columns of a pair back before the other one's allocation is over. Nothing in this
// kernel uses them, as in the report.
#include "pair.h"
enum { none, met };
extern "C" __global__ void __cluster_dims__(2, 1, 1) pair_free(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    CLUSTER_SYNC;
    if (t < 32) PAIR_ALLOC(base);
    __syncthreads();
    const uint32_t at = base;
    out[rank * 128 + t] = in[rank * 128 + t] + at;
    LINK(met) CLUSTER_SYNC;
    if (t < 32) PAIR_FREE(at);
}
