// Kernels that misuse clusters, mbarriers and tensor maps, each in one way.
#include <cstdint>

namespace {
__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint32_t bar, uint32_t count) {
    asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ void wait(uint32_t bar, uint32_t parity) {
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p,[%0],%1;\n@!p bra again;}" ::"r"(bar), "r"(parity)
                 : "memory");
}
}  // namespace

// Expects 64 bytes more than the copy brings.
extern "C" __global__ void missing_bytes(const uint32_t* in) {
    __shared__ alignas(128) uint32_t to[64];
    __shared__ alignas(8) uint64_t bar;
    if (threadIdx.x == 0) {
        init(address(&bar), 1);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],320;" ::"r"(address(&bar)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],256,[%2];" ::"r"(address(to)), "l"(in),
                     "r"(address(&bar))
                     : "memory");
    }
    __syncthreads();
    wait(address(&bar), 0);
}

extern "C" __global__ void too_many_arrivals(uint32_t count) {
    __shared__ alignas(8) uint64_t bar;
    if (threadIdx.x == 0) init(address(&bar), 3);
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("mbarrier.arrive.shared.b64 _,[%0],%1;" ::"r"(address(&bar)), "r"(count) : "memory");
}

// Waits a bounded number of times for a phase that nobody ends, then goes on: legal.
extern "C" __global__ void gives_up(uint32_t* out, uint32_t tries) {
    __shared__ alignas(8) uint64_t bar;
    if (threadIdx.x == 0) init(address(&bar), 1);
    __syncthreads();
    uint32_t done = 0, i = 0;
    for (; i < tries && !done; ++i)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p,[%1],0; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(address(&bar)) : "memory");
    out[threadIdx.x] = i + 1000 * done;
}

// Writes to the shared memory of rank `rank`.
extern "C" __global__ void far_store(uint32_t rank) {
    __shared__ uint32_t word;
    uint32_t at;
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(at) : "r"(address(&word)), "r"(rank));
    asm volatile("st.shared::cluster.u32 [%0],%1;" ::"r"(at), "r"(1) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// What reaches only the CTA's own shared memory, with a rank of the caller's choice in bits 31..24. `how`: load, store,
// atomic, ldmatrix, stmatrix, cp.async.
extern "C" __global__ void near_rank(uint32_t* out, uint32_t how, uint32_t rank) {
    __shared__ alignas(1024) uint32_t s[1024];
    s[threadIdx.x] = 10 * threadIdx.x;
    __syncthreads();
    const uint32_t row = (address(s) & 0xffffff) | rank << 24, at = row + 4 * threadIdx.x, quad = row + 16 * (threadIdx.x % 32);
    uint32_t v = 1;
    switch (how) {
        case 0: asm volatile("ld.shared.u32 %0,[%1];" : "=r"(v) : "r"(at) : "memory"); break;
        case 1: asm volatile("st.shared.u32 [%0],%1;" ::"r"(at), "r"(v) : "memory"); break;
        case 2: asm volatile("atom.shared.add.u32 %0,[%1],7;" : "=r"(v) : "r"(at) : "memory"); break;
        case 3: asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%0,%0,%0},[%1];" : "=r"(v) : "r"(quad) : "memory"); break;
        case 4: asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0],{%1};" ::"r"(quad), "r"(v) : "memory"); break;
        default: asm volatile("cp.async.ca.shared.global [%0],[%1],4;\ncp.async.wait_all;" ::"r"(at), "l"(out) : "memory");
    }
    out[64 + threadIdx.x] = v;
}

extern "C" __global__ void arrives_twice() {
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// Loads a box of two dimensions at (x, 0); the map lies in global memory.
extern "C" __global__ void load_box(const void* map, int x) {
    __shared__ alignas(128) uint32_t to[256];
    __shared__ alignas(8) uint64_t bar;
    if (threadIdx.x == 0) {
        init(address(&bar), 1);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(address(to)),
                     "l"(map), "r"(x), "r"(0), "r"(address(&bar))
                     : "memory");
    }
}

extern "C" __global__ void acquire_map(uint64_t map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0],128;" ::"l"(map) : "memory");
}
