// archs: sm_120a
// A GEMM of numbers that share scales along k: mxfp8 (e4m3, a scale of ue8m0 for 32) and nvfp4 (e2m1, one of ue4m3 for 16).
// A fifth warp brings tiles of A and B through three stages, four warps multiply. C[m][n] = sum over k of A[m][k] B[n][k],
// each with its scale. BUG_<link>: the kernel of mxfp8 without the link.
#include "../sync/sync.h"

enum {
    none,
    full,     // the warps wait for a stage to be filled
    empty,    // the copies wait for a stage to be used
    gathered, // by all of them
};

namespace {

constexpr int stages = 3, rows = 64, columns = 32, step_bytes = 128;

// Four products along a stage of 128 bytes. `scales`: bytes of scales for such a stage, and a word of each product.
struct Mxfp8 {
    static constexpr int scales = 4;
    template <int k>
    __device__ static void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], uint32_t sa, uint32_t sb) {
        asm volatile(
            "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {%12, 0}, %11, {%12, 0};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(sa), "r"(sb), "n"(k));
    }
    static constexpr int words = 0;  // from one product to the next: a byte each
};
struct Nvfp4 {
    static constexpr int scales = 16;
    template <int k>
    __device__ static void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], uint32_t sa, uint32_t sb) {
        asm volatile(
            "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {0, 0}, %11, {0, 0};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(sa), "r"(sb));
    }
    static constexpr int words = 1;
};

template <class T, int k>
__device__ void step(float (&d)[4][4], const uint8_t* a, const uint8_t* b, const uint32_t* sa, const uint32_t* sb, uint32_t row, uint32_t lane,
                     int pitch) {
    const uint32_t at = 32 * k + lane % 4 * 4;
    uint32_t of_a[4];
    for (int i = 0; i < 4; ++i) of_a[i] = *reinterpret_cast<const uint32_t*>(a + (row + lane / 4 + i % 2 * 8) * step_bytes + at + i / 2 * 16);  // @read
    // Two lanes of a row's four have the scales of A, one those of B.
    const uint32_t scale_a = sa[(row + lane / 4 + lane % 2 * 8) * pitch + T::words * k];
    for (int n = 0; n < 4; ++n) {
        uint32_t of_b[2];
        for (int i = 0; i < 2; ++i) of_b[i] = *reinterpret_cast<const uint32_t*>(b + (8 * n + lane / 4) * step_bytes + at + i * 16);
        T::template multiply<k>(d[n], of_a, of_b, scale_a, sb[(8 * n + lane / 4) * pitch + T::words * k]);
    }
}

// Scales: those of a row one after the other. `steps` of 128 bytes along k.
template <class T, int WITHOUT>
__device__ void gemm(const TensorMap& a, const TensorMap& b, const uint8_t* scales_a, const uint8_t* scales_b, float* c, int steps) {
    __shared__ alignas(128) uint8_t as[stages][rows * step_bytes], bs[stages][columns * step_bytes];
    __shared__ alignas(8) uint64_t filled[stages], used[stages];
    const uint32_t t = threadIdx.x, lane = t % 32, row = t / 32 * 16, x = blockIdx.x * columns, y = blockIdx.y * rows;
    if (t == 0)
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(filled[s], 1);
            MBAR_INIT(used[s], WITHOUT == gathered ? 1 : 4);
        }
    ASM("fence.proxy.async.shared::cta;" ::);
    __syncthreads();
    if (t == 128)
        for (int i = 0; i < steps; ++i) {
            const int s = i % stages;
            if (i >= stages) {
                LINK(empty) MBAR_WAIT("", used[s], (i / stages - 1) & 1);
            }
            MBAR_EXPECT(filled[s], uint32_t{sizeof as[0] + sizeof bs[0]});
            TMA_LOAD(as[s], a, i * step_bytes, y, filled[s]);
            TMA_LOAD(bs[s], b, i * step_bytes, x, filled[s]);
        }
    if (t >= 128) return;
    float d[4][4] = {};
    const int pitch = steps * T::scales / 4;  // words
    for (int i = 0; i < steps; ++i) {
        const int s = i % stages;
        LINK(full) MBAR_WAIT("", filled[s], i / stages & 1);
        const auto* sa = reinterpret_cast<const uint32_t*>(scales_a) + y * pitch + i * T::scales / 4;
        const auto* sb = reinterpret_cast<const uint32_t*>(scales_b) + x * pitch + i * T::scales / 4;
        step<T, 0>(d, as[s], bs[s], sa, sb, row, lane, pitch);
        step<T, 1>(d, as[s], bs[s], sa, sb, row, lane, pitch);
        step<T, 2>(d, as[s], bs[s], sa, sb, row, lane, pitch);
        step<T, 3>(d, as[s], bs[s], sa, sb, row, lane, pitch);
        __syncwarp();
        if (lane == 0 && (WITHOUT != gathered || t == 0)) MBAR_ARRIVE("release.cta", used[s]);
    }
    for (int n = 0; n < 4; ++n)
        for (int e = 0; e < 4; ++e)
            c[(y + row + lane / 4 + e / 2 * 8) * gridDim.x * columns + x + 8 * n + lane % 4 * 2 + e % 2] = d[n][e];
}

}  // namespace

#define KERNEL(name, T, WITHOUT)                                                                                  \
    extern "C" __global__ void name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,     \
                                    const uint8_t* scales_a, const uint8_t* scales_b, float* c, int steps) {      \
        gemm<T, WITHOUT>(a, b, scales_a, scales_b, c, steps);                                                     \
    }
KERNEL(mxfp8, Mxfp8, none)
KERNEL(nvfp4, Nvfp4, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, Mxfp8, link)
BUG(full)  // data-race UTMALDG LDS
BUG(empty)  // data-race UTMALDG UTMALDG
BUG(gathered)  // async-reuse LDS UTMALDG
#endif
