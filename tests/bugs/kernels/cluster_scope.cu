// NVIDIA/cutlass #3324: what cp.async has brought in both CTAs of a pair is told to the CTA whose thread has the tensor
// cores multiply by an mbarrier at the default scope, which is the CTA.
#include "pair.h"
enum { none, scope };
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_scope(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 a[256], b[32];
    __shared__ uint64_t staged, full, done;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) {
        MBAR_INIT(staged, 128);
        MBAR_INIT(full, 2);
        MBAR_INIT(done, 1);
        ASM("fence.mbarrier_init.release.cluster;" ::);
    }
    CLUSTER_SYNC;
    if (t < 32) PAIR_ALLOC(base);
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    const uint32_t d = base;
    if (t < 128) {
        const uint4* from = in + rank * 288;
        for (uint32_t i = t; i < 288; i += 128)
            CP_ASYNC(i < 256 ? &a[half_row(i / 2, i % 2)] : &b[half_row((i - 256) / 2, i % 2)], from + i);
        ASM("cp.async.wait_all;" ::);
        ASM("fence.proxy.async.shared::cta;" ::);
        MBAR_ARRIVE("release.cta", staged);
    } else if (t == 128) {
        MBAR_WAIT("", staged, 0);
        LINK(scope) MBAR_ARRIVE_REMOTE("release.cluster", remote(&full, 0));
        if constexpr (WITHOUT == scope) ASM("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote(&full, 0)));
        if (rank == 0) {
            LINK(scope) MBAR_WAIT(".acquire.cluster", full, 0);
            if constexpr (WITHOUT == scope) MBAR_WAIT("", full, 0);
            PAIR_MMA(d, descriptor(a), descriptor(b));
            PAIR_COMMIT(done);
        }
    }
    if (t < 128) {
        MBAR_WAIT("", done, 0);
        TENSOR_AFTER;
        uint32_t v[4];
        TENSOR_LOAD4(v, d + lanes_of_warp() + 14);  // two columns of each CTA's half of B
        TENSOR_WAIT_LOAD;
        out[rank * 128 + t] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3];
    }
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    if (t < 32) PAIR_FREE(d);
}
