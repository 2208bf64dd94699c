// Seed pattern 2.1.2.7: the consumer reads remote shared memory; fences for shared memory alone.
// -DWITHOUT=space hands over a word in global memory by the same fences, which do not cover it.
#include "../sync.h"
enum { none, release, acquire, space };
extern "C" __global__ void __cluster_dims__(2, 1, 1) pull(const uint32_t* in, uint32_t* out, uint32_t* side) {
    __shared__ uint32_t part[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) MBAR_INIT(full, W);
    CLUSTER_SYNC;
    if constexpr (WITHOUT == space) side[rank * W + t] = in[rank * W + t];  // @store
    ASM("st.shared.u32 [%0], %1;" ::"r"(address(&part[t])), "r"(in[rank * W + t]));  // @write
    LINK(release) ASM("fence.release.sync_restrict::shared::cta.cluster;" ::);
    MBAR_ARRIVE_REMOTE("relaxed.cluster", remote(&full, rank ^ 1));
    MBAR_WAIT(".relaxed.cluster", full, 0);
    LINK(acquire) ASM("fence.acquire.sync_restrict::shared::cluster.cluster;" ::);
    uint32_t v;
    LD_REMOTE(v, remote(&part[t], rank ^ 1));  // @read
    if constexpr (WITHOUT == space) v += side[(rank ^ 1) * W + t];  // @load
    out[rank * W + t] = v;
    CLUSTER_SYNC;
}
