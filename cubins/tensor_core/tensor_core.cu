// archs: sm_100a
// tcgen05: products of integers, exact in every format: operands in shared memory (128-byte swizzle and none) and in tensor
// memory, a ring of stages that commits free, copies from shared memory, a commit to two CTAs.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cstdint>

namespace cg = cooperative_groups;

namespace {

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void init(uint64_t* bar, uint32_t count) { asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(address(bar)), "r"(count) : "memory"); }
__device__ void wait(uint64_t* bar, uint32_t parity) {
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p,[%0],%1;\n@!p bra again;}" ::"r"(address(bar)), "r"(parity)
                 : "memory");
}
__device__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void before_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ void after_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

// Warp 0 allocates for the CTA.
template <uint32_t columns>
__device__ uint32_t allocate(uint32_t* slot) {
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0],%1;" ::"r"(address(slot)), "n"(columns) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    before_sync();
    __syncthreads();
    after_sync();
    return *slot;
}
template <uint32_t columns>
__device__ void deallocate(uint32_t at) {
    before_sync();
    __syncthreads();
    after_sync();
    if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0,%1;" ::"r"(at), "n"(columns));
}
__device__ uint32_t own_lanes(uint32_t at) { return at + (threadIdx.x / 32 % 4 * 32 << 16); }

// Matrix descriptors. `leading`, `stride`: bytes between core matrices (8 rows of 16 bytes) along a row and along the rows.
__device__ uint64_t descriptor(const void* at, uint32_t leading, uint32_t stride, uint64_t swizzle) {
    return (address(at) & 0x3ffff) >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | uint64_t{1} << 46 | swizzle << 61;
}
constexpr uint64_t no_swizzle = 0, swizzle_128 = 2;
// Instruction descriptors: format of D, of A and B, and the size.
__device__ constexpr uint32_t instruction(uint32_t d, uint32_t ab, uint32_t m, uint32_t n) { return d << 4 | ab << 7 | ab << 10 | n >> 3 << 17 | m >> 4 << 24; }

#define MULTIPLY(KIND)                                                                                                              \
    __device__ void multiply_##KIND(uint32_t d, uint64_t a, uint64_t b, uint32_t what, bool add) {                                   \
        asm volatile("{.reg .pred p;\nsetp.ne.u32 p,%4,0;\ntcgen05.mma.cta_group::1.kind::" #KIND " [%0],%1,%2,%3,p;}" ::"r"(d), "l"(a), \
                     "l"(b), "r"(what), "r"(uint32_t{add})                                                                          \
                     : "memory");                                                                                                   \
    }
MULTIPLY(f16)
MULTIPLY(i8)
// A in tensor memory.
__device__ void multiply_from(uint32_t d, uint32_t a, uint64_t b, uint32_t what, bool add) {
    asm volatile("{.reg .pred p;\nsetp.ne.u32 p,%4,0;\ntcgen05.mma.cta_group::1.kind::f16 [%0],[%1],%2,%3,p;}" ::"r"(d), "r"(a), "l"(b),
                 "r"(what), "r"(uint32_t{add})
                 : "memory");
}
__device__ void commit(uint64_t* bar) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(address(bar)) : "memory");
}

__device__ void load8(uint32_t at, uint32_t (&v)[8]) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7},[%8];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7])
                 : "r"(at));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}
__device__ void store8(uint32_t at, const uint32_t (&v)[8]) {
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0],{%1,%2,%3,%4,%5,%6,%7,%8};" ::"r"(at), "r"(v[0]), "r"(v[1]), "r"(v[2]),
                 "r"(v[3]), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7])
                 : "memory");
}
// Row `threadIdx.x` of D, to global memory.
template <uint32_t columns>
__device__ void give(uint32_t d, uint32_t* out) {
    for (uint32_t c = 0; c < columns; c += 8) {
        uint32_t v[8];
        load8(own_lanes(d) + c, v);
        for (uint32_t i = 0; i < 8; ++i) out[threadIdx.x * columns + c + i] = v[i];
    }
}

// Where element `k` of row `r` lies: rows of 64 halves in a 128-byte swizzle; core matrices of 16 bytes.
__device__ uint32_t swizzled(uint32_t r, uint32_t k) { return r * 64 + ((k / 8 ^ r % 8) * 8) + k % 8; }
__device__ uint32_t dense(uint32_t r, uint32_t k, uint32_t rows, uint32_t per) { return (k / per * rows + r) * per + k % per; }

}  // namespace

// out = a * b^T of 128 x 64 with K = 64 * steps, two stages; each CTA has operands of its own.
extern "C" __global__ void ring(const int8_t* a, const int8_t* b, uint32_t* out, uint32_t steps) {
    __shared__ alignas(1024) __half sa[2][128 * 64], sb[2][64 * 64];
    __shared__ alignas(8) uint64_t free_again[2], done;
    __shared__ uint32_t slot;
    const uint32_t t = threadIdx.x, k_all = steps * 64;
    if (t == 0) {
        for (auto& bar : free_again) init(&bar, 1);
        init(&done, 1);
    }
    const uint32_t d = allocate<64>(&slot);
    a += blockIdx.x * 128 * k_all;
    b += blockIdx.x * 64 * k_all;
    for (uint32_t step = 0; step < steps; ++step) {
        const uint32_t s = step % 2;
        if (step >= 2) wait(&free_again[s], step / 2 - 1 & 1);
        for (uint32_t i = t; i < 128 * 64; i += 128) sa[s][swizzled(i / 64, i % 64)] = __int2half_rn(a[i / 64 * k_all + step * 64 + i % 64]);
        for (uint32_t i = t; i < 64 * 64; i += 128) sb[s][swizzled(i / 64, i % 64)] = __int2half_rn(b[i / 64 * k_all + step * 64 + i % 64]);
        proxy_fence();
        __syncthreads();
        if (t == 0) {
            for (uint32_t k = 0; k < 64; k += 16)
                multiply_f16(d, descriptor(&sa[s][k], 16, 1024, swizzle_128), descriptor(&sb[s][k], 16, 1024, swizzle_128),
                             instruction(1, 0, 128, 64), step + k > 0);
            commit(step + 1 == steps ? &done : &free_again[s]);
        }
    }
    wait(&done, 0);
    after_sync();
    give<64>(d, out + blockIdx.x * 128 * 64);
    deallocate<64>(d);
}

// The same of bytes, without a swizzle, in one stage: 128 x 32 with K = 64, added to what a first product left.
extern "C" __global__ void bytes(const int8_t* a, const int8_t* b, uint32_t* out) {
    __shared__ alignas(128) int8_t sa[128 * 64], sb[32 * 64];
    __shared__ alignas(8) uint64_t done;
    __shared__ uint32_t slot;
    const uint32_t t = threadIdx.x;
    if (t == 0) init(&done, 1);
    for (uint32_t i = t; i < 128 * 64; i += 128) sa[dense(i / 64, i % 64, 128, 16)] = a[i];
    for (uint32_t i = t; i < 32 * 64; i += 128) sb[dense(i / 64, i % 64, 32, 16)] = b[i];
    proxy_fence();
    const uint32_t d = allocate<32>(&slot);
    if (t == 0) {
        for (uint32_t i = 0; i < 4; ++i)  // both halves of K twice
            multiply_i8(d, descriptor(&sa[i % 2 * 2 * 128 * 16], 128 * 16, 128, no_swizzle),
                        descriptor(&sb[i % 2 * 2 * 32 * 16], 32 * 16, 128, no_swizzle), instruction(2, 1, 128, 32), i > 0);
        commit(&done);
    }
    wait(&done, 0);
    after_sync();
    give<32>(d, out);
    deallocate<32>(d);
}

// A comes from registers through tensor memory, and the result is the A of a second product: (a * b^T) * c^T, all 64 wide
// but for the 128 rows.
extern "C" __global__ void chain(const int8_t* a, const int8_t* b, const int8_t* c, uint32_t* out) {
    __shared__ alignas(128) __half sb[64 * 64], sc[64 * 64];
    __shared__ alignas(8) uint64_t done;
    __shared__ uint32_t slot;
    const uint32_t t = threadIdx.x;
    if (t == 0) init(&done, 1);
    for (uint32_t i = t; i < 64 * 64; i += 128) {
        sb[dense(i / 64, i % 64, 64, 8)] = __int2half_rn(b[i]);
        sc[dense(i / 64, i % 64, 64, 8)] = __int2half_rn(c[i]);
    }
    proxy_fence();
    const uint32_t at = allocate<256>(&slot), first = at, p = at + 32, d = at + 64, e = at + 128;
    const auto product = [&](uint32_t to, uint32_t from, const __half* by) {
        if (t) return;
        for (uint32_t k = 0; k < 64; k += 16)
            multiply_from(to, from + k / 2, descriptor(by + k * 64, 64 * 16, 128, no_swizzle), instruction(1, 0, 128, 64), k > 0);
        commit(&done);
    };
    const auto pack = [](float low, float high) {
        const __half2 both = __floats2half2_rn(low, high);
        return reinterpret_cast<const uint32_t&>(both);
    };
    for (uint32_t k = 0; k < 64; k += 16) {
        uint32_t v[8];
        for (uint32_t i = 0; i < 8; ++i) v[i] = pack(a[t * 64 + k + 2 * i], a[t * 64 + k + 2 * i + 1]);
        store8(own_lanes(first) + k / 2, v);
    }
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    before_sync();
    __syncthreads();
    after_sync();
    product(d, first, sb);
    wait(&done, 0);
    after_sync();
    for (uint32_t k = 0; k < 64; k += 8) {
        uint32_t v[8], w[8];
        load8(own_lanes(d) + k, v);
        load8(own_lanes(p), w);
        for (uint32_t i = 0; i < 4; ++i) w[i] = pack(__uint_as_float(v[2 * i]), __uint_as_float(v[2 * i + 1]));
        asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0],{%1,%2,%3,%4};" ::"r"(own_lanes(p) + k / 2), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                     : "memory");
    }
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    before_sync();
    __syncthreads();
    after_sync();
    product(e, p, sc);
    wait(&done, 1);
    after_sync();
    give<64>(e, out);
    deallocate<256>(at);
}

// Shared to tensor memory: 128 rows of 32 bytes, then 32 rows of 16 bytes to each quarter of the lanes.
extern "C" __global__ void copies(const uint32_t* in, uint32_t* out) {
    __shared__ alignas(128) uint32_t wide[128 * 8], narrow[32 * 4];
    __shared__ alignas(8) uint64_t done;
    __shared__ uint32_t slot;
    const uint32_t t = threadIdx.x;
    if (t == 0) init(&done, 1);
    for (uint32_t i = t; i < 128 * 8; i += 128) wide[dense(i / 8, i % 8, 128, 4)] = in[i];
    narrow[t] = in[128 * 8 + t];
    proxy_fence();
    const uint32_t at = allocate<32>(&slot);
    if (t == 0) {
        asm volatile("tcgen05.cp.cta_group::1.128x256b [%0],%1;" ::"r"(at), "l"(descriptor(wide, 128 * 16, 128, no_swizzle)) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0],%1;" ::"r"(at + 8), "l"(descriptor(narrow, 0, 128, no_swizzle)) : "memory");
        commit(&done);
    }
    wait(&done, 0);
    after_sync();
    give<8>(at, out);
    uint32_t v[4];
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0,%1,%2,%3},[%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(own_lanes(at) + (16 << 16) + 4));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (uint32_t i = 0; i < 4; ++i) out[128 * 8 + t * 4 + i] = v[i];
    deallocate<32>(at);
}

// Both CTAs multiply what is theirs, and each waits until both have.
extern "C" __global__ void __cluster_dims__(2, 1, 1) pair(const int8_t* a, const int8_t* b, uint32_t* out) {
    __shared__ alignas(128) int8_t sa[128 * 32], sb[16 * 32];
    __shared__ alignas(8) uint64_t done;
    __shared__ uint32_t slot;
    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t t = threadIdx.x, rank = cluster.block_rank();
    if (t == 0) {
        init(&done, 2);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (uint32_t i = t; i < 128 * 32; i += 128) sa[dense(i / 32, i % 32, 128, 16)] = a[rank * 128 * 32 + i];
    for (uint32_t i = t; i < 16 * 32; i += 128) sb[dense(i / 32, i % 32, 16, 16)] = b[i];
    proxy_fence();
    const uint32_t d = allocate<32>(&slot);
    cluster.sync();
    if (t == 0) {
        multiply_i8(d, descriptor(sa, 128 * 16, 128, no_swizzle), descriptor(sb, 16 * 16, 128, no_swizzle), instruction(2, 1, 128, 16), false);
        const uint16_t both = 3;
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0],%1;" ::"r"(address(&done)), "h"(both)
                     : "memory");
    }
    wait(&done, 0);
    after_sync();
    give<16>(d, out + rank * 128 * 16);
    deallocate<32>(d);
    cluster.sync();
}
