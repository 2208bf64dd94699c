// The last to arrive at a barrier of all CTAs reads its own arrival, and acquires by that what the
// arrivals before it have released: they are one release sequence.
#include "../sync.h"
enum { none, gathered, release, acquire, spread };
extern "C" __global__ void own_acquire(const uint32_t* in, uint32_t* data, uint32_t* count, uint32_t* out) {
    const uint32_t t = threadIdx.x, cta = blockIdx.x;
    data[cta * 2 * W + t] = in[cta * 2 * W + t] + cta;  // @write
    LINK(gathered) __syncthreads();
    if (t == 0) {
        uint32_t old, seen;
        LINK(release) asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(old) : "l"(count) : "memory");
        else asm volatile("atom.add.relaxed.gpu.global.u32 %0, [%1], 1;" : "=r"(old) : "l"(count) : "memory");
        do {
            LINK(acquire) LD("acquire.gpu.global.u32", seen, count);
            else LD("relaxed.gpu.global.u32", seen, count);
        } while (seen / gridDim.x == old / gridDim.x);
    }
    LINK(spread) __syncthreads();
    out[cta * 2 * W + t] = data[(cta + 1) % gridDim.x * 2 * W + (2 * W - 1 - t)];  // @read
}
