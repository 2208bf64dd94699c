// wgmma as exploration sees it: a producer, thread 128, writes B, the warpgroup multiplies, and the
// producer writes B again; and once for each link that can be left out. Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_90a -lineinfo products.cu -o products.cubin
#include <cstdint>

#define ASM(...) asm volatile(__VA_ARGS__ : "memory")
#define LINK(x) if constexpr (without != x)

enum { nothing, proxy_fence, full, wait };

__device__ uint32_t near(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void meet(int number) { ASM("bar.sync %0;" ::"r"(number)); }

// 16 x 8 halves: a column is one half of a row of two blocks.
template <int without>
__device__ void exchange(uint32_t* out) {
    __shared__ alignas(128) uint4 b[16];
    const uint32_t t = threadIdx.x;
    const uint32_t two = 0x40004000;
    if (t == 128) {
        b[0] = make_uint4(0x3c00, 0, 0, 0);  // 1
        LINK(proxy_fence) ASM("fence.proxy.async.shared::cta;" ::);
    }
    LINK(full) meet(0);
    if (t < 128) {
        float d[4];
        const uint64_t descriptor =
            near(b) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
        ASM("wgmma.fence.sync.aligned;" ::);
        asm volatile(
            "{.reg .pred p;\nsetp.ne.u32 p, 0, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
            "%5, p, 1, 1, 0;}"
            : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
            : "r"(two), "l"(descriptor)
            : "memory");
        ASM("wgmma.commit_group.sync.aligned;" ::);
        LINK(wait) ASM("wgmma.wait_group.sync.aligned 0;" ::);
        meet(1);
        if constexpr (without == wait) ASM("wgmma.wait_group.sync.aligned 0;" ::);
        if (t == 0) out[0] = static_cast<uint32_t>(d[0]);
    } else {
        meet(1);
        b[0] = make_uint4(0x4200, 0, 0, 0);  // 3
    }
}

#define KERNEL(x) \
    extern "C" __global__ void product_##x(uint32_t* out) { exchange<x>(out); }
KERNEL(nothing)
KERNEL(proxy_fence)
KERNEL(full)
KERNEL(wait)
