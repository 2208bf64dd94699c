// HazyResearch/ThunderKittens #209: the wait for an mbarrier lacks the "memory" clobber, so that a compiler may move loads across
// it. nvcc 13.0 leaves this one where it is, so the source has it where the report found it moved to: before the wait.
#include "sync.h"
enum { none, moved };
extern "C" __global__ void moved_loads(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(128) uint32_t tile[64];
    __shared__ uint64_t full, empty;
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        MBAR_INIT(full, 1);
        MBAR_INIT(empty, 64);
    }
    ASM("fence.proxy.async.shared::cta;" ::);
    __syncthreads();
    if (t == 64) {
        for (uint32_t k = 0; k < 2; ++k) {
            if (k) MBAR_WAIT("", empty, 0);
            MBAR_EXPECT(full, 256);
            BULK_LOAD(tile, in + k * 64, 256, full);
        }
    } else if (t < 64) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < 2; ++k) {
            uint32_t v = 0;
            if constexpr (WITHOUT == moved) v = tile[63 - t];
            MBAR_WAIT("", full, k);
            LINK(moved) v = tile[63 - t];
            sum += (k + 1) * v;
            ASM("fence.proxy.async.shared::cta;" ::);
            MBAR_ARRIVE("release.cta", empty);
        }
        out[t] = sum;
    }
}
