// Seed pattern 2.1.2.4: a relaxed cluster mbarrier with fences on both sides; the data is distributed
// shared memory and global memory.
#include "../sync.h"
enum { none, release, release_scope, acquire };
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_mbarrier_fence(const uint32_t* in, uint32_t* out, uint32_t* side) {
    __shared__ uint32_t part[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) MBAR_INIT(full, W);
    CLUSTER_SYNC;
    ST_REMOTE(remote(&part[t], rank ^ 1), in[rank * W + t]);  // @push
    side[rank * W + t] = in[rank * W + t] * 3;               // @store
    if constexpr (WITHOUT == release_scope) ASM("fence.release.cta;" ::);
    else LINK(release) ASM("fence.release.cluster;" ::);
    MBAR_ARRIVE_REMOTE("relaxed.cluster", remote(&full, rank ^ 1));
    MBAR_WAIT(".relaxed.cluster", full, 0);
    LINK(acquire) ASM("fence.acquire.cluster;" ::);
    out[rank * W + t] = part[W - 1 - t];               // @read
    out[2 * W + rank * W + t] = side[(rank ^ 1) * W + t];  // @load
    CLUSTER_SYNC;
}
