// What the machines explore beside cubins/sync: `sassemu litmus --model M PLAN.json`. Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_90a -lineinfo kernels.cu -o kernels.cubin
//   nvcc -O3 -std=c++17 -cubin -arch=sm_80 [-lineinfo] kernels.cu -o counters[.line].cubin
#include <cstdint>

#define ASM(...) asm volatile(__VA_ARGS__ : "memory")

__device__ uint32_t near(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Two groups of a warp, each at a barrier of its own.
extern "C" __global__ void groups(uint32_t* out) {
    __shared__ volatile uint32_t slot[4];
    const uint32_t t = threadIdx.x;
    if (t < 2) {
        slot[t] = t + 1;
        __syncwarp(0x3);
        out[t] = slot[1 - t];
    } else {
        slot[t] = t + 1;
        __syncwarp(0xc);
        out[t] = slot[5 - t];
    }
}

// As cuda::barrier has it: arrivals, and a wait for the token's phase.
template <bool waits>
__device__ void exchange(const uint32_t* in, uint32_t* out) {
    __shared__ uint64_t full;
    __shared__ uint32_t tile[2];
    const uint32_t t = threadIdx.x;
    if (threadIdx.x == 0) ASM("mbarrier.init.shared.b64 [%0], 2;" ::"r"(near(&full)));
    __syncthreads();
    tile[t] = in[t];
    uint64_t token;
    ASM("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(near(&full)));
    if (waits)
        ASM("{.reg .pred p;\nagain: mbarrier.test_wait.shared.b64 p, [%0], %1;\n@!p bra again;}" ::
                "r"(near(&full)),
            "l"(token));
    out[t] = tile[1 - t];
}
extern "C" __global__ void counters(const uint32_t* in, uint32_t* out) { exchange<true>(in, out); }
extern "C" __global__ void counters_no_wait(const uint32_t* in, uint32_t* out) {
    exchange<false>(in, out);
}

// The arrival of copies lane by lane at an mbarrier.
extern "C" __global__ void counted_copies(const uint32_t* in, uint32_t* out) {
    __shared__ uint64_t full;
    __shared__ uint32_t tile[2];
    const uint32_t t = threadIdx.x;
    if (threadIdx.x == 0) ASM("mbarrier.init.shared.b64 [%0], 2;" ::"r"(near(&full)));
    __syncthreads();
    ASM("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(near(tile + t)), "l"(in + t));
    ASM("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(near(&full)));
    ASM("{.reg .pred p;\nagain: mbarrier.test_wait.parity.shared.b64 p, [%0], 0;\n@!p bra "
        "again;}" ::"r"(near(&full)));
    out[t] = tile[1 - t];
}

#if __CUDA_ARCH__ >= 900
// Launches that overlap.
extern "C" __global__ void first(uint32_t* data) {
    data[blockIdx.x] = 1;
    ASM("griddepcontrol.launch_dependents;" ::);
    data[2 + blockIdx.x] = 2;
}
extern "C" __global__ void second(const uint32_t* data, uint32_t* out) {
    ASM("griddepcontrol.wait;" ::);
    for (int i = 0; i < 4; ++i) out[i] = data[i];
}
extern "C" __global__ void second_no_wait(const uint32_t* data, uint32_t* out) {
    for (int i = 0; i < 4; ++i) out[i] = data[i];
}
#endif
