// Seed pattern 2.1.2.4: a relaxed cluster mbarrier with fences on both sides; the data is distributed
// shared memory and global memory.
#include "../sync.h"
enum { none, release, release_scope, acquire };
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_mbarrier_fence(const uint32_t* in, uint32_t* out, uint32_t* side) {
    __shared__ uint32_t part[32];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) MBAR_INIT(full, 32);
    CLUSTER_SYNC;
    ST_REMOTE(remote(&part[t], rank ^ 1), in[rank * 32 + t]);  // @push
    side[rank * 32 + t] = in[rank * 32 + t] * 3;               // @store
    if constexpr (WITHOUT == release_scope) ASM("fence.release.cta;" ::);
    else LINK(release) ASM("fence.release.cluster;" ::);
    MBAR_ARRIVE_REMOTE("relaxed.cluster", remote(&full, rank ^ 1));
    MBAR_WAIT(".relaxed.cluster", full, 0);
    LINK(acquire) ASM("fence.acquire.cluster;" ::);
    out[rank * 32 + t] = part[31 - t];               // @read
    out[64 + rank * 32 + t] = side[(rank ^ 1) * 32 + t];  // @load
    CLUSTER_SYNC;
}
