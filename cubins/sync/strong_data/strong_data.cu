// Data that is itself strong: no race without fences, but no order either.
#include "../sync.h"
enum { none, release, acquire };
extern "C" __global__ void strong_data(const uint32_t* in, uint32_t* data, uint32_t* flag, uint32_t* out) {
    const uint32_t t = threadIdx.x;
    if (blockIdx.x == 0) {
        ST("relaxed.gpu.global.u32", data + t, in[t]);  // @write
        LINK(release) ASM("fence.acq_rel.gpu;" ::);
        ST("relaxed.gpu.global.u32", flag + t, 1);
    } else {
        uint32_t seen, v;
        do LD("relaxed.gpu.global.u32", seen, flag + t);
        while (!seen);
        LINK(acquire) ASM("fence.acq_rel.gpu;" ::);
        LD("relaxed.gpu.global.u32", v, data + t);  // @read
        out[t] = v;
    }
}
