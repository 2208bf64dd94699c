// archs: sm_100a
// A GEMM of numbers that share scales along k, on the tensor core of sm_100: mxfp8 (e4m3, a scale of ue8m0 for 32) and nvfp4
// (e2m1, one of ue4m3 for 16). Copies bring operands and scales through three stages; the thread that multiplies has the
// scales copied into tensor memory before. C[m][n] = sum over k of A[m][k] B[n][k], each with its scale, tiles of 128 x 128.
// BUG_<link>: the kernel of mxfp8 without the link.
#include "../sync/tensor.h"
#include "../sync/warpgroup.h"

enum {
    none,
    full,      // the tensor core waits for a stage to be filled
    empty,     // the copies wait for a stage to be used
    computed,  // the epilogue waits for the results
};

namespace {

constexpr int stages = 3, tile = 128;
constexpr uint32_t bytes = tile * 128, block = 512;  // of a stage of A or B; scales of 128 rows, four each

// `blocks` of scales for a stage of 128 bytes along k, of A and of B; the products of such a stage have a block each, or a
// byte of each word of one.
struct Mxfp8 {
    static constexpr int blocks = 1;
    // e4m3, scales of ue8m0, N 128, M 128; which byte of the scales
    __device__ static uint32_t what(int k) { return k << 4 | uint32_t{tile >> 3} << 17 | 1u << 23 | 1u << 27 | k << 29; }
    __device__ static void multiply(uint32_t d, uint64_t a, uint64_t b, int k, uint32_t sa, uint32_t sb, uint32_t add) {
        ASM("{.reg .pred p;\nsetp.ne.u32 p, %6, 0;\ntcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %1, %2, %3, "
            "[%4], [%5], p;}" ::"r"(d), "l"(a), "l"(b), "r"(what(k)), "r"(sa), "r"(sb), "r"(add));
    }
};
struct Nvfp4 {
    static constexpr int blocks = 4;
    // e2m1, scales of ue4m3
    __device__ static uint32_t what(int) { return 1u << 7 | 1u << 10 | uint32_t{tile >> 3} << 17 | 1u << 27; }
    __device__ static void multiply(uint32_t d, uint64_t a, uint64_t b, int k, uint32_t sa, uint32_t sb, uint32_t add) {
        ASM("{.reg .pred p;\nsetp.ne.u32 p, %6, 0;\ntcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, "
            "[%4], [%5], p;}" ::"r"(d), "l"(a), "l"(b), "r"(what(k)), "r"(sa + 4 * k), "r"(sb + 4 * k), "r"(add));
    }
};

__device__ uint64_t operand(const void* p) {  // rows of 128 swizzled bytes
    return (address(p) & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 46 | uint64_t{2} << 61;
}
__device__ uint64_t of_scales(const void* p) {  // 32 rows of 16 bytes
    return (address(p) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 32 | uint64_t{1} << 46;
}
#define COPY_SCALES(to, from) ASM("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(from))
#define TENSOR_LOAD32(v, at)                                                                       \
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 " NAMES_32 ", [%32];" : OF_32("=r", v) : "r"(at) : "memory")

// Scales: blocks of 128 rows, along k; in one, rows r, r + 32, r + 64 and r + 96 follow each other.
template <class T, int WITHOUT>
__device__ void gemm(const TensorMap& a, const TensorMap& b, const uint8_t* scales_a, const uint8_t* scales_b, float* c, int steps) {
    constexpr uint32_t scale_bytes = T::blocks * block, columns_of_scales = 4 * T::blocks, all_columns = 256;
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(128) uint8_t scales[stages][2][scale_bytes];
    __shared__ alignas(8) uint64_t filled[stages], used[stages], done;
    __shared__ uint32_t base;
    uint8_t *const as = memory, *const bs = memory + stages * bytes;
    const uint32_t t = threadIdx.x, warp = t / 32, x = blockIdx.x * tile, y = blockIdx.y * tile;
    if (warp == 0)
        ASM("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\n"
            "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(address(&base)), "n"(all_columns));
    if (t == 0) {
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(filled[s], 1);
            MBAR_INIT(used[s], 1);
        }
        MBAR_INIT(done, 1);
    }
    PROXY_FENCE;
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    const uint32_t d = base;
    if (t == 0) {
        for (int i = 0; i < steps; ++i) {
            const int s = i % stages;
            if (i >= stages) {
                LINK(empty) MBAR_WAIT("", used[s], (i / stages - 1) & 1);
            }
            MBAR_EXPECT(filled[s], 2 * (bytes + scale_bytes));
            TMA_LOAD(as + s * bytes, a, i * 128, y, filled[s]);
            TMA_LOAD(bs + s * bytes, b, i * 128, x, filled[s]);
            BULK_LOAD(scales[s][0], scales_a + (blockIdx.y * steps + i) * scale_bytes, scale_bytes, filled[s]);
            BULK_LOAD(scales[s][1], scales_b + (blockIdx.x * steps + i) * scale_bytes, scale_bytes, filled[s]);
        }
    } else if (t == 32) {
        for (int i = 0; i < steps; ++i) {
            const int s = i % stages;
            LINK(full) MBAR_WAIT("", filled[s], i / stages & 1);
            const uint32_t sa = d + tile + s * 2 * columns_of_scales, sb = sa + columns_of_scales;
            for (int k = 0; k < T::blocks; ++k) {
                COPY_SCALES(sa + 4 * k, of_scales(scales[s][0] + k * block));
                COPY_SCALES(sb + 4 * k, of_scales(scales[s][1] + k * block));
            }
            const uint64_t da = operand(as + s * bytes), db = operand(bs + s * bytes);
            for (int k = 0; k < 4; ++k) T::multiply(d, da + 2 * k, db + 2 * k, k, sa, sb, i + k);
            TENSOR_COMMIT(used[s]);
        }
        TENSOR_COMMIT(done);
    }
    __syncwarp();
    LINK(computed) MBAR_WAIT("", done, 0);
    TENSOR_AFTER;
    for (int j = 0; j < tile; j += 32) {
        uint32_t v[32];
        TENSOR_LOAD32(v, d + lanes_of_warp() + j);
        TENSOR_WAIT_LOAD;
        for (int k = 0; k < 32; k += 4)
            *reinterpret_cast<uint4*>(c + (y + t) * gridDim.x * tile + x + j + k) = make_uint4(v[k], v[k + 1], v[k + 2], v[k + 3]);
    }
    if constexpr (WITHOUT == computed) MBAR_WAIT("", done, 0);
    TENSOR_BEFORE;
    __syncthreads();
    TENSOR_AFTER;
    if (warp == 0) ASM("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(d), "n"(all_columns));
}

}  // namespace

#define KERNEL(name, T, WITHOUT)                                                                             \
    extern "C" __global__ void name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, \
                                    const uint8_t* scales_a, const uint8_t* scales_b, float* c, int steps) { \
        gemm<T, WITHOUT>(a, b, scales_a, scales_b, c, steps);                                                \
    }
KERNEL(mxfp8, Mxfp8, none)
KERNEL(nvfp4, Nvfp4, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, Mxfp8, link)
BUG(full)  // data-race UTMALDG UTCQMMA
BUG(empty)  // data-race UTMALDG UTMALDG
BUG(computed)  // data-race UTCQMMA LDTM
#endif
