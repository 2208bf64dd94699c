// marin-community/marin #8870: the scheduler of a grouped GEMM waits for the kernel before it, the warps that multiply read the
// groups' bounds without (wait); and a scheduler that has been told that no work is left asks once more (tail).
#include "sync.h"
enum { none, wait, tail };
#define ASK(answer, bar)                                                                                                         \
    ASM("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(address(&answer)), \
        "r"(address(&bar)))
extern "C" __global__ void route(const uint32_t* in, uint32_t* bounds) {
    ASM("griddepcontrol.launch_dependents;" ::);
    if (threadIdx.x < 4) bounds[threadIdx.x] = in[threadIdx.x] % 4 + 1;
}
extern "C" __global__ void grouped(const uint32_t* in, const uint32_t* bounds, uint32_t* out) {
    __shared__ alignas(16) uint4 answer;
    __shared__ uint64_t told, read;
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        MBAR_INIT(told, 1);
        MBAR_INIT(read, 64);
    }
    __syncthreads();
    volatile const uint32_t* const word = reinterpret_cast<volatile uint32_t*>(&answer);
    if (t == 64) {
        ASM("griddepcontrol.wait;" ::);
        for (uint32_t turn = 0, more = 1; more; ++turn) {
            if (turn) MBAR_WAIT("", read, (turn - 1) & 1);
            MBAR_EXPECT(told, 16);
            ASK(answer, told);
            MBAR_WAIT("", told, turn & 1);
            more = word[2] & 1;
            ASM("fence.proxy.async.shared::cta;" ::);
            if constexpr (WITHOUT == tail)
                if (!more) {
                    MBAR_WAIT("", read, turn & 1);
                    MBAR_EXPECT(told, 16);
                    ASK(answer, told);
                    MBAR_WAIT("", told, (turn + 1) & 1);
                }
        }
    } else if (t < 64) {
        LINK(wait) ASM("griddepcontrol.wait;" ::);
        for (uint32_t cta = blockIdx.x, turn = 0;; ++turn) {
            const uint32_t rows = bounds[cta % 4];
            out[cta * 64 + t] = t / 8 < rows ? in[cta * 64 + t] + rows : 0;
            MBAR_WAIT("", told, turn & 1);
            const uint32_t more = word[2] & 1;
            cta = word[0];
            ASM("fence.proxy.async.shared::cta;" ::);
            MBAR_ARRIVE("release.cta", read);
            if (!more) break;
        }
    }
}
