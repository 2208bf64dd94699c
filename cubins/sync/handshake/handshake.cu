// Data, a barrier for memory, a flag: the handshake of the MEMBAR page.
#include "../sync.h"
enum { none, store, store_level, load, strong };
extern "C" __global__ void handshake(const uint32_t* in, uint32_t* data, uint32_t* flag, uint32_t* out) {
    const uint32_t t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t];  // @write
        if constexpr (WITHOUT == store_level) ASM("membar.cta;" ::);
        else LINK(store) ASM("membar.gl;" ::);
        if constexpr (WITHOUT == strong) ST("global.u32", flag + t, 1);  // @set
        else ST("relaxed.gpu.global.u32", flag + t, 1);
    } else {
        uint32_t seen;
        do LD("relaxed.gpu.global.u32", seen, flag + t);  // @poll
        while (!seen);
        LINK(load) ASM("membar.gl;" ::);
        out[t] = data[t];  // @read
    }
}
