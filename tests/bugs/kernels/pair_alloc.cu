// NVIDIA/cutlass #3316, triton-lang/triton #10735, candidate C12 of tile-ai/tilelang #2644: columns are allocated for a
// pair of CTAs before the other CTA is known to have begun.
#include "pair.h"
enum { none, begun };
extern "C" __global__ void __cluster_dims__(2, 1, 1) pair_alloc(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 rows[128];
    __shared__ uint64_t done;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) {
        MBAR_INIT(done, 1);
        ASM("fence.mbarrier_init.release.cluster;" ::);
    }
    LINK(begun) CLUSTER_SYNC;
    if (t < 32) PAIR_ALLOC(base);
    rows[t] = in[rank * 128 + t];
    ASM("fence.proxy.async.shared::cta;" ::);
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    const uint32_t at = base;
    if (t == 0 && rank == 0) {
        PAIR_COPY(at, rows);
        PAIR_COMMIT(done);
    }
    MBAR_WAIT("", done, 0);
    TENSOR_AFTER;
    uint32_t v[4];
    TENSOR_LOAD4(v, at + lanes_of_warp());
    TENSOR_WAIT_LOAD;
    out[rank * 128 + t] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3];
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    if (t < 32) PAIR_FREE(at);
}
