// A ring between two CTAs of a cluster: st.async fills a slot of the neighbour, a remote arrival frees it. The data of
// st.async goes through the async proxy: reads of a slot before it is filled again are ordered by a proxy fence, too.
#include "../sync.h"
enum { none, empty, fence };
extern "C" __global__ void __cluster_dims__(2, 1, 1) st_async_ring(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t slot[2][W];
    __shared__ uint64_t full[5], free_[2];
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0)
        for (uint32_t i = 0; i < 5; ++i) {
            MBAR_INIT(full[i], 1);
            if (i < 2) MBAR_INIT(free_[i], W);
        }
    CLUSTER_SYNC;
    for (uint32_t i = 0; i < 5; ++i) {
        const uint32_t s = i % 2;
        if (rank == 0) {
            LINK(empty) if (i >= 2) MBAR_WAIT(".acquire.cluster", free_[s], (i / 2 - 1) & 1);
            LINK(fence) if (i >= 2) ASM("fence.proxy.async.shared::cluster;" ::);
            ST_ASYNC(remote(&slot[s][t], 1), in[i * W + t], remote(&full[i], 1));  // @push
        } else {
            if (t == 0) MBAR_EXPECT(full[i], 4 * W);
            MBAR_WAIT(".acquire.cluster", full[i], 0);
            out[i * W + t] = slot[s][W - 1 - t];  // @read
            MBAR_ARRIVE_REMOTE("release.cluster", remote(&free_[s], 0));
        }
    }
    CLUSTER_SYNC;
}
