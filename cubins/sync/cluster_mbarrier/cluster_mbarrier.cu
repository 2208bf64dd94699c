// Seed pattern 2.1.2.2, push: remote stores and a remote arrival that releases at cluster scope.
#include "../sync.h"
enum { none, release, scope, acquire, wait };
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_mbarrier(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t part[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) MBAR_INIT(full, W);
    CLUSTER_SYNC;
    ST_REMOTE(remote(&part[t], rank ^ 1), in[rank * W + t]);  // @push
    if constexpr (WITHOUT == release) MBAR_ARRIVE_REMOTE("relaxed.cluster", remote(&full, rank ^ 1));
    else if constexpr (WITHOUT == scope) MBAR_ARRIVE_REMOTE("release.cta", remote(&full, rank ^ 1));
    else MBAR_ARRIVE_REMOTE("release.cluster", remote(&full, rank ^ 1));
    if constexpr (WITHOUT == acquire) MBAR_WAIT(".relaxed.cluster", full, 0);
    else LINK(wait) MBAR_WAIT(".acquire.cluster", full, 0);
    out[rank * W + t] = part[W - 1 - t];  // @read
    CLUSTER_SYNC;
}
