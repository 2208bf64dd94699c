// Seed pattern 2.1.2.6: st.async, a relaxed wait, and an acquire fence for shared::cluster alone.
#include "../sync.h"
enum { none, acquire };
extern "C" __global__ void __cluster_dims__(2, 1, 1) st_async_fence(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t part[W];
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) {
        MBAR_INIT(full, 1);
        MBAR_EXPECT(full, 4 * W);
    }
    CLUSTER_SYNC;
    ST_ASYNC(remote(&part[t], rank ^ 1), in[rank * W + t], remote(&full, rank ^ 1));  // @push
    MBAR_WAIT(".relaxed.cluster", full, 0);
    LINK(acquire) ASM("fence.acquire.sync_restrict::shared::cluster.cluster;" ::);
    out[rank * W + t] = part[W - 1 - t];  // @read
    CLUSTER_SYNC;
}
