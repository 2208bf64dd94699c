// cta_group::2: each CTA of a pair writes rows to its shared memory, a thread of the first has both copied into tensor memory,
// the commit tells both, and each reads its own.
#include "../tensor.h"
enum { none, fence, barrier, wait, after };
extern "C" __global__ void __cluster_dims__(2, 1, 1) tensor_pair(const uint4* in, uint32_t* out) {
    __shared__ alignas(128) uint4 rows[128];
    __shared__ uint64_t done;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x, rank = blockIdx.x;
    CLUSTER_SYNC;  // columns are allocated for both CTAs: both must have begun
    if (t < 32)
        ASM("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\n"
            "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::"r"(address(&base)), "n"(columns));
    if (t == 0) {
        MBAR_INIT(done, 1);
        ASM("fence.mbarrier_init.release.cluster;" ::);
    }
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    const uint32_t at = base;
    rows[t] = in[rank * 128 + t];  // @write
    LINK(fence) ASM("fence.proxy.async.shared::cta;" ::);
    LINK(barrier) CLUSTER_SYNC;
    if (t == 0 && rank == 0) {
        ASM("tcgen05.cp.cta_group::2.128x128b [%0], %1;" ::"r"(at),  // @copy
            "l"((address(rows) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 32 | uint64_t{1} << 46));
        ASM("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(address(&done)),
            "h"(static_cast<uint16_t>(3)));
    }
    LINK(wait) MBAR_WAIT("", done, 0);
    LINK(after) TENSOR_AFTER;
    uint32_t v[4];
    TENSOR_LOAD4(v, at + lanes_of_warp());  // @read
    TENSOR_WAIT_LOAD;
    out[rank * 128 + t] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3];
    if constexpr (WITHOUT == wait) MBAR_WAIT("", done, 0);
    TENSOR_BEFORE;
    CLUSTER_SYNC;
    TENSOR_AFTER;
    if (t < 32) ASM("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(at), "n"(columns));
}
