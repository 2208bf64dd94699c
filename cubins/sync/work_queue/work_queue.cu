// Cluster launch control: a thread asks for the work of a CTA that has not begun, all read the answer.
#include "../sync.h"
enum { none, wait, empty, fence };
extern "C" __global__ void work_queue(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(16) uint4 answer;
    __shared__ uint64_t full[2], free_again;
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        MBAR_INIT(full[0], 1);
        MBAR_INIT(full[1], 1);
        MBAR_INIT(free_again, blockDim.x);
    }
    __syncthreads();
    volatile const uint32_t* const word = reinterpret_cast<volatile uint32_t*>(&answer);
    uint32_t cta = blockIdx.x, next = 0, more = 1;
    for (uint32_t round = 0;; ++round) {
        if (t == 0 && (more & 1)) {
            LINK(empty) if (round) MBAR_WAIT("", free_again, (round - 1) & 1);
            MBAR_EXPECT(full[round & 1], 16);
            ASM("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(address(&answer)),  // @ask
                "r"(address(&full[round & 1])));
        }
        if (round) {
            if (!__syncthreads_or(t == 0 && (more & 1))) break;
            cta = next;
        }
        out[cta * blockDim.x + t] = in[cta * blockDim.x + t] + 1;
        LINK(wait) MBAR_WAIT("", full[round & 1], round >> 1 & 1);
        next = word[0], more = word[2];  // @read
        if constexpr (WITHOUT == wait) {
            MBAR_WAIT("", full[round & 1], round >> 1 & 1);
            next = word[0], more = word[2];
        }
        LINK(fence) ASM("fence.proxy.async.shared::cta;" ::);
        MBAR_ARRIVE("release.cta", free_again);
    }
}
