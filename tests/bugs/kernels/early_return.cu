// vllm-project/vllm #26026: warps that find no work for a tile arrive at a named barrier without waiting and go on to the next
// tile, where they may arrive again before the others have come to the first.
#include "sync.h"
enum { none, wait };
extern "C" __global__ void early_return(const uint32_t* in, uint32_t counts, uint32_t tiles, uint32_t* out) {
    __shared__ uint32_t tile[64];
    const uint32_t t = threadIdx.x;
    for (uint32_t i = 0; i < tiles; ++i) {
        const uint32_t count = counts >> 8 * i & 255;
        if (t >= 64) {  // loads
            for (uint32_t k = t - 64; k < count; k += 32) tile[k] = in[i * 64 + k];
            if (count) ASM("bar.sync 2, 96;" ::);
            ASM("bar.sync 1, 96;" ::);
        } else if (!count) {
            LINK(wait) ASM("bar.sync 1, 96;" ::);
            if constexpr (WITHOUT == wait) ASM("bar.arrive 1, 96;" ::);
        } else {  // computes
            ASM("bar.sync 2, 96;" ::);
            out[i * 64 + t] = t < count ? tile[count - 1 - t] * 3 : 0;
            ASM("bar.sync 1, 96;" ::);
        }
    }
}
