// mbarriers of another CTA: the fence for their initialisation goes with a relaxed cluster barrier.
#include "../sync.h"
enum { none, fence };
extern "C" __global__ void __cluster_dims__(2, 1, 1) mbarrier_init(uint32_t* out) {
    __shared__ uint64_t full;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) {
        MBAR_INIT(full, W);  // @init
        LINK(fence) ASM("fence.mbarrier_init.release.cluster;" ::);
    }
    ASM("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::);
    MBAR_ARRIVE_REMOTE("release.cluster", remote(&full, rank ^ 1));  // @arrive
    MBAR_WAIT(".acquire.cluster", full, 0);
    out[rank * W + t] = rank + t;
    CLUSTER_SYNC;
}
