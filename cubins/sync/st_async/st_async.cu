// Seed pattern 2.1.2.5: st.async counts its bytes on the receiver's mbarrier. It publishes itself, not what its
// thread stored before (@store, with -DWITHOUT=release).
#include "../sync.h"
enum { none, wait, expect, acquire, release, scope };
extern "C" __global__ void __cluster_dims__(2, 1, 1) st_async(const uint32_t* in, uint32_t* out, uint32_t* side) {
    __shared__ uint32_t part[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) {
        MBAR_INIT(full, 1);
        LINK(expect) MBAR_EXPECT(full, 4 * W);
        else MBAR_EXPECT(full, 2 * W);  // @expect
    }
    CLUSTER_SYNC;
    if constexpr (WITHOUT == release) side[rank * W + t] = 5;  // @store
    ST_ASYNC(remote(&part[t], rank ^ 1), in[rank * W + t], remote(&full, rank ^ 1));  // @push
    if constexpr (WITHOUT == acquire) MBAR_WAIT(".relaxed.cluster", full, 0);
    else if constexpr (WITHOUT == scope) MBAR_WAIT(".acquire.cta", full, 0);
    else LINK(wait) MBAR_WAIT(".acquire.cluster", full, 0);
    uint32_t v = part[W - 1 - t];  // @read
    if constexpr (WITHOUT == release) v += side[(rank ^ 1) * W + t];  // @load
    out[rank * W + t] = v;
    CLUSTER_SYNC;
}
