// What a CTA has copied by cp.async is read by the other one of its cluster: behind a barrier of default scope it is not ordered.
#include "../sync.h"
enum { none, group, release, scope, acquire, wait };
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_cp_async(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t data[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) MBAR_INIT(full, W);
    CLUSTER_SYNC;
    ASM("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address(&data[t])), "l"(in + rank * W + t));  // @copy
    LINK(group) ASM("cp.async.wait_all;" ::);
    if constexpr (WITHOUT == release)
        MBAR_ARRIVE_REMOTE("relaxed.cluster", remote(&full, rank ^ 1));
    else if constexpr (WITHOUT == scope)
        MBAR_ARRIVE_REMOTE("release.cta", remote(&full, rank ^ 1));
    else
        MBAR_ARRIVE_REMOTE("release.cluster", remote(&full, rank ^ 1));
    if constexpr (WITHOUT == acquire) MBAR_WAIT("", full, 0);
    else LINK(wait) MBAR_WAIT(".acquire.cluster", full, 0);
    uint32_t v;
    LD_REMOTE(v, remote(&data[W - 1 - t], rank ^ 1));  // @read
    out[rank * W + t] = v;
    CLUSTER_SYNC;
}
