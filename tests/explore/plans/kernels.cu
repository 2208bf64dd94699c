// Kernels that exploration exhausts: `sassemu litmus PLAN.json`. Built by
//   nvcc -O3 -std=c++17 -cubin -arch=sm_90 [-lineinfo] kernels.cu -o kernels[.line].cubin
#include <cstdint>

#define LD(order, type, at) ({ uint32_t v_; asm volatile("ld." order ".global." type " %0, [%1];" : "=r"(v_) : "l"(at) : "memory"); v_; })
#define ST(order, at, v) asm volatile("st." order ".global.u32 [%0], %1;" :: "l"(at), "r"(v) : "memory")

__device__ uint32_t near(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Data, a fence, a flag.
extern "C" __global__ void message(uint32_t* data, uint32_t* flag, uint32_t* out) {
    if (blockIdx.x == 0) {
        *data = 1;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        ST("relaxed.gpu", flag, 1);
    } else {
        const uint32_t f = LD("acquire.gpu", "u32", flag), d = *data;
        out[0] = f;
        out[1] = d;
    }
}
extern "C" __global__ void message_unfenced(uint32_t* data, uint32_t* flag, uint32_t* out) {
    if (blockIdx.x == 0) {
        *data = 1;
        asm volatile("" ::: "memory");
        ST("relaxed.gpu", flag, 1);
    } else {
        const uint32_t f = LD("acquire.gpu", "u32", flag), d = *data;
        out[0] = f;
        out[1] = d;
    }
}
// Each stores and then looks at the other's.
extern "C" __global__ void dekker(uint32_t* x, uint32_t* y, uint32_t* out) {
    uint32_t *mine = blockIdx.x ? y : x, *other = blockIdx.x ? x : y;
    ST("relaxed.gpu", mine, 1);
    asm volatile("fence.sc.gpu;" ::: "memory");
    out[blockIdx.x] = LD("relaxed.gpu", "u32", other);
}
extern "C" __global__ void dekker_weaker(uint32_t* x, uint32_t* y, uint32_t* out) {
    uint32_t *mine = blockIdx.x ? y : x, *other = blockIdx.x ? x : y;
    ST("relaxed.gpu", mine, 1);
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    out[blockIdx.x] = LD("relaxed.gpu", "u32", other);
}
// A load and a store behind it, twice.
extern "C" __global__ void buffering(uint32_t* x, uint32_t* y, uint32_t* out) {
    if (blockIdx.x == 0) {
        const uint32_t a = LD("relaxed.gpu", "u32", x);
        ST("relaxed.gpu", y, 1);
        out[0] = a;
    } else {
        const uint32_t a = LD("relaxed.gpu", "u32", y);
        ST("relaxed.gpu", x, a);
        out[1] = a;
    }
}
extern "C" __global__ void thin_air(uint32_t* x, uint32_t* y, uint32_t* out) {
    uint32_t *from = blockIdx.x ? y : x, *to = blockIdx.x ? x : y;
    const uint32_t a = LD("relaxed.gpu", "u32", from);
    ST("relaxed.gpu", to, a * a);
    out[blockIdx.x] = a;
}
// Waits in a loop.
extern "C" __global__ void spin(uint32_t* data, uint32_t* flag, uint32_t* out) {
    if (blockIdx.x == 0) {
        *data = 42;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(flag) : "memory");
    } else {
        while (LD("acquire.gpu", "u32", flag) == 0) {}
        *out = *data;
    }
}
// A list whose head another thread replaces: the address comes from memory.
extern "C" __global__ void publish(uint64_t* head, uint32_t* node, uint32_t* out) {
    if (blockIdx.x == 0) {
        *node = 7;
        asm volatile("st.release.gpu.global.u64 [%0], %1;" :: "l"(head), "l"(node) : "memory");
    } else {
        uint32_t* p;
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(p) : "l"(head) : "memory");
        *out = *p;
    }
}
// Shared memory and a barrier.
extern "C" __global__ void reverse(uint32_t* out) {
    __shared__ uint32_t s[8];
    s[threadIdx.x] = threadIdx.x + 5;
    __syncthreads();
    out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void reverse_unsynchronised(uint32_t* out) {
    __shared__ volatile uint32_t s[8];
    s[threadIdx.x] = threadIdx.x + 5;
    out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
// Thread 0 fills shared memory and arrives, thread 1 waits.
template <bool Released>
__device__ void handshake(uint32_t* out) {
    __shared__ uint64_t object;
    __shared__ volatile uint32_t value;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(near(&object)) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        value = 9;
        if (Released)
            asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" :: "r"(near(&object)) : "memory");
        else
            asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" :: "r"(near(&object)) : "memory");
    } else {
        uint32_t done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(near(&object)) : "memory");
        *out = value;
    }
}
extern "C" __global__ void arrive(uint32_t* out) { handshake<true>(out); }
extern "C" __global__ void arrive_relaxed(uint32_t* out) { handshake<false>(out); }
// The shared memory of the other CTA of a cluster.
extern "C" __global__ void __cluster_dims__(2, 1, 1) neighbour(uint32_t* out) {
    __shared__ uint32_t s;
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(near(&s)), "r"(blockIdx.x ^ 1));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(blockIdx.x + 3) : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    out[blockIdx.x] = *static_cast<volatile uint32_t*>(&s);
}
// Counts; the loop runs three times.
extern "C" __global__ void tickets(uint32_t* n, uint32_t* out) {
    uint32_t last = 0;
    for (int i = 0; i < 3; ++i) last = atomicAdd(n, 1);
    out[blockIdx.x] = last;
}
// Whoever swaps 0 for its number has the lock.
extern "C" __global__ void claim(uint32_t* owner, uint32_t* out) {
    out[blockIdx.x] = atomicCAS(owner, 0, blockIdx.x + 1);
}
