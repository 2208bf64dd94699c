// NVIDIA/cutlass #3643, repaired by #3647: the CTA that has the tensor cores copy scale factors from both CTAs' shared
// memory waits for its own bulk copy only (observed), and what threads of the other CTA wrote is released to their CTA (scope).
#include "pair.h"
enum { none, observed, scope };
extern "C" __global__ void __cluster_dims__(2, 1, 1) peer_scales(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 sfa[128], sfb[128];
    __shared__ uint64_t sfb_full, sfa_full, peer_full, done;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    if (t == 0) {
        MBAR_INIT(sfb_full, 1);
        MBAR_INIT(sfa_full, 256);
        MBAR_INIT(peer_full, 1);
        MBAR_INIT(done, 1);
        ASM("fence.mbarrier_init.release.cluster;" ::);
    }
    CLUSTER_SYNC;
    if (t < 32) PAIR_ALLOC(base);
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    const uint32_t at = base;
    if (t == 0) {
        MBAR_EXPECT(sfb_full, 2048);
        BULK_LOAD(sfb, in + 256 + rank * 128, 2048, sfb_full);
    }
    sfa[t] = in[rank * 128 + t];
    ASM("fence.proxy.async.shared::cta;" ::);
    LINK(scope) MBAR_ARRIVE_REMOTE("release.cluster", remote(&sfa_full, 0));
    if constexpr (WITHOUT == scope) MBAR_ARRIVE_REMOTE("release.cta", remote(&sfa_full, 0));
    if (t == 0 && rank == 1) {
        LINK(observed) MBAR_WAIT("", sfb_full, 0);
        MBAR_ARRIVE_REMOTE("release.cluster", remote(&peer_full, 0));
    }
    if (t == 0 && rank == 0) {
        MBAR_WAIT(".acquire.cluster", sfa_full, 0);
        MBAR_WAIT("", sfb_full, 0);
        MBAR_WAIT(".acquire.cluster", peer_full, 0);
        PAIR_COPY(at, sfa);
        PAIR_COPY(at + 4, sfb);
        PAIR_COMMIT(done);
    }
    MBAR_WAIT("", done, 0);
    TENSOR_AFTER;
    uint32_t v[4], w[4];
    TENSOR_LOAD4(v, at + lanes_of_warp());
    TENSOR_LOAD4(w, at + lanes_of_warp() + 4);
    TENSOR_WAIT_LOAD;
    out[rank * 128 + t] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3] + 11 * (w[0] + 3 * w[1] + 5 * w[2] + 7 * w[3]);
    if constexpr (WITHOUT == observed) MBAR_WAIT("", sfb_full, 0);  // before the CTA ends
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    if (t < 32) PAIR_FREE(at);
}
