// Seed pattern 2.1.2.1, push: remote stores, then the cluster barrier; and a global word besides.
#include "../sync.h"
enum { none, release, reuse };
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_barrier(const uint32_t* in, uint32_t* out, uint32_t* side) {
    __shared__ uint32_t part[W];
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    CLUSTER_SYNC;
    ST_REMOTE(remote(&part[t], rank ^ 1), in[rank * W + t]);  // @push
    side[rank * W + t] = in[rank * W + t] * 3;               // @store
    if constexpr (WITHOUT == release) ASM("barrier.cluster.arrive.relaxed;" ::);
    else ASM("barrier.cluster.arrive;" ::);
    ASM("barrier.cluster.wait;" ::);
    out[rank * W + t] = part[W - 1 - t] + side[(rank ^ 1) * W + t];  // @read
    LINK(reuse) CLUSTER_SYNC;
    ST_REMOTE(remote(&part[t], rank ^ 1), t);  // @again
    CLUSTER_SYNC;
}
