// SPDX-License-Identifier: Apache-2.0
// st.async and red.async of global memory, which sm_100 issues for one thread after the other.
#include <cstdint>

extern "C" __global__ void counts(uint32_t* sum, uint64_t* wide) {
    const uint32_t t = threadIdx.x;
    asm volatile("red.async.release.gpu.global.add.u32 [%0], %1;" ::"l"(sum), "r"(t) : "memory");
    asm volatile("red.async.release.sys.global.add.u64 [%0], %1;" ::"l"(wide),
                 "l"(0x100000001ull * t)
                 : "memory");
    asm volatile("red.async.mmio.release.sys.global.add.s32 [%0], %1;" ::"l"(sum + 1), "r"(0 - t)
                 : "memory");
}

extern "C" __global__ void sizes(uint8_t* out) {
    asm volatile("st.async.release.gpu.global.b16 [%0], %1;" ::"l"(out), "h"(int16_t{0x1234})
                 : "memory");
    asm volatile("st.async.release.sys.global.b32 [%0], %1;" ::"l"(out + 4), "r"(0x89abcdef)
                 : "memory");
    asm volatile("st.async.mmio.release.sys.global.b64 [%0], %1;" ::"l"(out + 8),
                 "l"(0x1122334455667788)
                 : "memory");
}

// CTA 0 writes, CTA 1 reads.
extern "C" __global__ void message(uint32_t* data, uint32_t* flag, uint32_t* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x + 7;
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("st.async.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        return;
    }
    for (uint32_t seen = 0; threadIdx.x == 0 && !seen;)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x];
}
