// nvcc -O3 -cubin -arch=sm_100a -o tensor_forms.cubin tensor_forms.cu    (CUDA 13.0)
// tcgen05.mma in forms of every kind: shared and tensor memory as `from` has them, one instruction, tensor memory to `to`. With a cluster
// of two CTAs those of a pair: rank 0 asks, each CTA has its own part of `from` and `to`.
#include <cstdint>

struct Args {
    const uint32_t* from;  // per CTA: 8,192 words of shared memory, 128 x 512 of tensor memory
    uint32_t* to;          // per CTA: 128 x 512 of tensor memory
    uint64_t a, b;         // descriptors, counted from the data's address
    uint64_t zeros;
    uint32_t a_address, d, metadata, instruction, scales_a, scales_b, accumulate, form;
    uint32_t lanes[8];
};
constexpr uint32_t words = 8192, columns = 512;

#define P "{\n.reg .pred p;\nsetp.ne.u32 p, %0, 0;\n"
#define IN(x) "r"(x.accumulate), "r"(x.d), "l"(a), "l"(b), "r"(x.instruction), "r"(x.a_address), "r"(x.metadata), "r"(x.scales_a), "r"(x.scales_b), \
    "l"(x.zeros), "r"(x.lanes[0]), "r"(x.lanes[1]), "r"(x.lanes[2]), "r"(x.lanes[3]), "r"(x.lanes[4]), "r"(x.lanes[5]), "r"(x.lanes[6]), "r"(x.lanes[7])
#define LANES4 "{%10,%11,%12,%13}"
#define LANES8 "{%10,%11,%12,%13,%14,%15,%16,%17}"
#define FORM(N, TEXT) case N: asm volatile(P TEXT "\n}" :: IN(x) : "memory"); break;

__device__ void multiply_one(const Args& x, uint64_t a, uint64_t b) {
    switch (x.form) {
        FORM(0, "tcgen05.mma.cta_group::1.kind::f16 [%1], %2, %3, %4, " LANES4 ", p, 3;")
        FORM(1, "tcgen05.mma.sp.cta_group::1.kind::f16 [%1], %2, %3, [%6], %4, " LANES4 ", p;")
        FORM(2, "tcgen05.mma.cta_group::1.kind::tf32.ashift.collector::a::lastuse [%1], [%5], %3, %4, " LANES4 ", p;")
        FORM(3, "tcgen05.mma.sp.cta_group::1.kind::tf32 [%1], [%5], %3, [%6], %4, p;")
        FORM(4, "tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b2::fill [%1], %2, %3, %4, p, %9;")
        FORM(5, "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%1], [%5], %3, [%6], %4, p, %9;")
        FORM(6, "tcgen05.mma.sp.cta_group::1.kind::i8.collector::a::fill [%1], %2, %3, [%6], %4, " LANES4 ", p;")
        FORM(7, "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%1], %2, %3, %4, [%7], [%8], p;")
        FORM(8, "tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale [%1], [%5], %3, [%6], %4, [%7], [%8], p;")
        FORM(9, "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%1], %2, %3, %4, [%7], [%8], p;")
        FORM(10, "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%1], [%5], %3, %4, [%7], [%8], p;")
        FORM(11, "tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X.collector::a::fill [%1], %2, %3, [%6], %4, [%7], [%8], p;")
    }
}
__device__ void multiply_two(const Args& x, uint64_t a, uint64_t b) {
    switch (x.form) {
        FORM(0, "tcgen05.mma.cta_group::2.kind::f16 [%1], %2, %3, %4, " LANES8 ", p;")
        FORM(1, "tcgen05.mma.sp.cta_group::2.kind::f8f6f4 [%1], %2, %3, [%6], %4, " LANES8 ", p;")
        FORM(2, "tcgen05.mma.cta_group::2.kind::i8 [%1], [%5], %3, %4, p;")
        FORM(3, "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale [%1], %2, %3, %4, [%7], [%8], p;")
        FORM(4, "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16 [%1], %2, %3, %4, [%7], [%8], p;")
        FORM(5, "tcgen05.mma.sp.cta_group::2.kind::mxf4.block_scale [%1], %2, %3, [%6], %4, [%7], [%8], p;")
    }
}

template <int Ctas>
__device__ void run(const Args& x, uint32_t rank) {
    __shared__ alignas(1024) uint32_t data[words];
    __shared__ alignas(8) uint64_t barrier;
    __shared__ uint32_t base;
    const uint32_t t = threadIdx.x;
    const uint32_t* from = x.from + rank * (words + 128 * columns);
    uint32_t* to = x.to + rank * 128 * columns + t * columns;
    for (uint32_t i = t; i < words; i += 128) data[i] = from[i];
    const uint32_t bar = __cvta_generic_to_shared(&barrier), at = __cvta_generic_to_shared(data), b = __cvta_generic_to_shared(&base);
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(bar) : "memory");
    if (t < 32) {
        if (Ctas == 1) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 512;" :: "r"(b) : "memory");
        if (Ctas == 2) asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 512;" :: "r"(b) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const uint32_t row = (t & ~31u) << 16;
    const uint32_t* cells = from + words + t * columns;
    for (uint32_t c = 0; c < columns; c += 4)
        asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1,%2,%3,%4};"
                     :: "r"(row + c), "r"(cells[c]), "r"(cells[c + 1]), "r"(cells[c + 2]), "r"(cells[c + 3]) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (Ctas == 2) asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    if (t == 0 && rank == 0) {
        const uint64_t more = at >> 4;
        if (Ctas == 1) {
            multiply_one(x, x.a + more, x.b + more);
            asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(bar) : "memory");
        } else {
            multiply_two(x, x.a + more, x.b + more);
            asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                         :: "r"(bar), "h"((short)3) : "memory");
        }
    }
    asm volatile("{\n.reg .pred p;\nL%=: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra L%=;\n}" :: "r"(bar) : "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    for (uint32_t c = 0; c < columns; c += 4) {
        uint32_t v[4];
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(row + c) : "memory");
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        for (int i = 0; i < 4; ++i) to[c + i] = v[i];
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (Ctas == 2) asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (t < 32) {
        if (Ctas == 1) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 512;" :: "r"(base));
        if (Ctas == 2) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 512;" :: "r"(base));
    }
}

extern "C" __global__ void one(const __grid_constant__ Args x) { run<1>(x, 0); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) two(const __grid_constant__ Args x) { run<2>(x, blockIdx.x); }
