// Each thread fences, a barrier gathers them, one counts with a relaxed atomic; the last CTA's
// threads fence again. fence.sc orders all of them: no thread's fence can come after another's that
// has seen what its CTA did behind it.
#include "../sync.h"
enum { none, gathered, release, weaker, acquire, spread };
extern "C" __global__ void fenced_block(const uint32_t* in, uint32_t* part, uint32_t* count, uint32_t* out) {
    __shared__ bool last;
    const uint32_t t = threadIdx.x;
    part[blockIdx.x * 2 * W + t] = in[blockIdx.x * 2 * W + t] * 5;  // @write
    if constexpr (WITHOUT == weaker) ASM("fence.acq_rel.gpu;" ::);
    else LINK(release) __threadfence();
    LINK(gathered) __syncthreads();
    if (t == 0) last = atomicAdd(count, 1u) == gridDim.x - 1;  // @last
    LINK(spread) __syncthreads();
    if (!last) return;  // @look
    LINK(acquire) __threadfence();
    uint32_t sum = 0;
    for (uint32_t i = 0; i < gridDim.x; ++i) sum = sum * 3 + part[i * 2 * W + (t + 7) % (2 * W)];  // @read
    out[t] = sum;
}
