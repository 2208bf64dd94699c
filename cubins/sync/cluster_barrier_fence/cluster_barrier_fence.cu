// Seed pattern 2.1.2.3: a cluster barrier that arrives relaxed, after a fence.
#include "../sync.h"
enum { none, release, scope };
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_barrier_fence(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t part[W];
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    CLUSTER_SYNC;
    ST_REMOTE(remote(&part[t], rank ^ 1), in[rank * W + t]);  // @push
    if constexpr (WITHOUT == scope) ASM("fence.release.cta;" ::);
    else LINK(release) ASM("fence.release.cluster;" ::);
    ASM("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::);
    out[rank * W + t] = part[W - 1 - t];  // @read
    CLUSTER_SYNC;
}
