// Multicast objects: addresses that stand for memory of several GPUs.
// nvcc: -lineinfo
// archs: sm_90 sm_100a
#include <cstdint>

// All GPUs come here: each adds 1 to the counter of every one, and waits until its own is `all`.
__device__ void meet(unsigned* counters, unsigned* own, unsigned all) {
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(counters) : "memory");
        unsigned seen;
        do {
            asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(own) : "memory");
        } while (seen < all);
    }
    __syncthreads();
}

// Each GPU sums its share over all copies and stores the sum to all copies.
extern "C" __global__ void all_reduce(float* all, unsigned* counters, unsigned* own, unsigned me,
                                      unsigned gpus, unsigned count) {
    meet(counters, own, gpus);
    const unsigned share = count / gpus;
    for (unsigned i = me * share + 4 * threadIdx.x; i < (me + 1) * share; i += 4 * blockDim.x) {
        float a, b, c, d;
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                     : "l"(all + i)
                     : "memory");
        asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(all + i),
                     "f"(a), "f"(b), "f"(c), "f"(d)
                     : "memory");
    }
    meet(counters, own, 2 * gpus);
}

// One thread hands a word to all GPUs; each sees it behind its own flag.
extern "C" __global__ void hand_out(unsigned* data, unsigned* flags) {
    asm volatile("multimem.st.relaxed.sys.global.u32 [%0], 7;" ::"l"(data) : "memory");
    asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(flags) : "memory");
}
extern "C" __global__ void BUG_hand_out(unsigned* data, unsigned* flags) {
    asm volatile("multimem.st.relaxed.sys.global.u32 [%0], 7;" ::"l"(data) : "memory");
    asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(flags) : "memory");
}
__device__ void await(unsigned* flag) {
    unsigned seen;
    do {
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (seen != 1);
}
extern "C" __global__ void take(unsigned* data, unsigned* flag, unsigned* seen) {
    await(flag);
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(*seen) : "l"(data) : "memory");
}
// All copies together.
extern "C" __global__ void take_sum(unsigned* data, unsigned* flag, unsigned* seen) {
    await(flag);
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];"
                 : "=r"(*seen)
                 : "l"(data)
                 : "memory");
}

#define LOAD_32(at, type)                                                   \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." type " %0, [%1];" \
                 : "=r"(out[4 * at])                                        \
                 : "l"(all + 16 * at)                                       \
                 : "memory")
#define LOAD_64(at, type)                                                     \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." type " %0, [%1];"   \
                 : "=l"(*reinterpret_cast<unsigned long long*>(out + 4 * at)) \
                 : "l"(all + 16 * at)                                         \
                 : "memory")
#define LOAD_128(at, type)                                                                \
    asm volatile("multimem.ld_reduce.relaxed.sys.global." type " {%0, %1, %2, %3}, [%4];" \
                 : "=r"(out[4 * at]), "=r"(out[4 * at + 1]), "=r"(out[4 * at + 2]),       \
                   "=r"(out[4 * at + 3])                                                  \
                 : "l"(all + 16 * at)                                                     \
                 : "memory")

// Every operator of every type, 16 bytes further each.
extern "C" __global__ void load_every_type(const char* all, uint32_t* out) {
    LOAD_32(0, "add.u32");
    LOAD_32(1, "min.u32");
    LOAD_32(2, "max.u32");
    LOAD_32(3, "min.s32");
    LOAD_32(4, "max.s32");
    LOAD_32(5, "and.b32");
    LOAD_32(6, "or.b32");
    LOAD_32(7, "xor.b32");
    LOAD_64(8, "add.u64");
    LOAD_64(9, "min.u64");
    LOAD_64(10, "max.s64");
    LOAD_64(11, "xor.b64");
    LOAD_64(12, "add.f64");
    LOAD_128(13, "add.v4.f32");
    LOAD_128(14, "add.v4.f16x2");
    LOAD_128(15, "min.v4.f16x2");
    LOAD_128(16, "max.v4.f16x2");
    LOAD_128(17, "add.acc::f32.v4.f16x2");
    LOAD_128(18, "add.v4.bf16x2");
    LOAD_128(19, "add.acc::f32.v4.bf16x2");
    LOAD_128(20, "max.v4.bf16x2");
#if __CUDA_ARCH__ >= 1000
    LOAD_128(21, "add.v4.e5m2x4");
    LOAD_128(22, "min.v4.e5m2x4");
    LOAD_128(23, "add.acc::f16.v4.e4m3x4");
    LOAD_128(24, "max.v4.e4m3x4");
#endif
}

// Stores and reductions, 16 bytes further each.
extern "C" __global__ void store_every_type(char* all, const uint32_t* in) {
    const uint32_t a = in[0], b = in[1], c = in[2], d = in[3];
    const unsigned long long wide = *reinterpret_cast<const unsigned long long*>(in);
#define AT(n) "l"(all + 16 * n)
    asm volatile("multimem.st.relaxed.sys.global.u32 [%0], %1;" ::AT(0), "r"(a) : "memory");
    asm volatile("multimem.st.release.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::AT(1), "r"(a),
                 "r"(b), "r"(c), "r"(d)
                 : "memory");
    asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" ::AT(2), "r"(a) : "memory");
    asm volatile("multimem.red.relaxed.gpu.global.max.s32 [%0], %1;" ::AT(3), "r"(b) : "memory");
    asm volatile("multimem.red.relaxed.sys.global.xor.b64 [%0], %1;" ::AT(4), "l"(wide) : "memory");
    asm volatile("multimem.red.relaxed.sys.global.add.f64 [%0], %1;" ::AT(5), "d"(0.5) : "memory");
    asm volatile("multimem.red.relaxed.sys.global.add.v4.f32 [%0], {%1, %1, %1, %2};" ::AT(6),
                 "f"(1.0f), "f"(2.0f)
                 : "memory");
    asm volatile("multimem.red.relaxed.sys.global.add.v4.f16x2 [%0], {%1, %1, %1, %2};" ::AT(7),
                 "r"(0x3c004000), "r"(0x44003c00)
                 : "memory");
    asm volatile("multimem.red.relaxed.sys.global.max.v4.bf16x2 [%0], {%1, %1, %1, %2};" ::AT(8),
                 "r"(0x3f803f80), "r"(0xbf804000)
                 : "memory");
}

// What a multicast object does not take.
extern "C" __global__ void plain_load(const int* all, int* out) { *out = *all; }
extern "C" __global__ void load_plain_memory(const char* memory, uint32_t* out) {
    const char* all = memory;
    LOAD_32(0, "add.u32");
}
