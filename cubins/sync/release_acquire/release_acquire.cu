// st.release and ld.acquire, in one CTA by scope cta and between two CTAs by scope gpu.
#include "../sync.h"
enum { none, release, acquire, scope };
extern "C" __global__ void release_acquire(const uint32_t* in, uint32_t* data, uint32_t* flag, uint32_t* out) {
    const uint32_t t = threadIdx.x % W, warp = threadIdx.x / W;
    if (blockIdx.x == 0 && warp == 0) {
        data[t] = in[t];  // @write
        if constexpr (WITHOUT == release) ST("relaxed.gpu.global.u32", flag + t, 1);
        else if constexpr (WITHOUT == scope) ST("release.cta.global.u32", flag + t, 1);  // @set
        else ST("release.gpu.global.u32", flag + t, 1);
    } else {
        uint32_t seen;
        if (blockIdx.x == 0) {
            do LD("acquire.cta.global.u32", seen, flag + t);
            while (!seen);
            out[t] = data[t];  // @near
        } else if (warp == 0) {
            do if constexpr (WITHOUT == acquire) LD("relaxed.gpu.global.u32", seen, flag + t);
               else LD("acquire.gpu.global.u32", seen, flag + t);  // @poll
            while (!seen);
            out[W + t] = data[t];  // @read
        }
    }
}
