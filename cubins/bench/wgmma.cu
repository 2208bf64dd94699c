// archs: sm_90a
// Benchmarks: wgmma of 64 x 128 whose operands are in shared memory (a warpgroup by itself), and a GEMM of e4m3 with a ring
// of stages that TMA fills: a CTA has 128 x 128 of C, a producer warpgroup and two that multiply.
#include "../sync/warpgroup.h"

namespace {

__device__ uint32_t mix(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
// Four bytes of numbers of moderate size.
__device__ uint32_t bf16_of(uint32_t x) { return (x & 0x83ff83ff) | 0x3c003c00; }
__device__ uint32_t e4m3_of(uint32_t x) { return (x & 0x9f9f9f9f) + 0x20202020; }
__device__ uint32_t s8_of(uint32_t x) { return x; }

}  // namespace

// Rows of 128 bytes: 64 of A, 128 of B; each turn multiplies them four times.
#define MULTIPLY(name, D, C, form, tail, number)                                               \
    extern "C" __global__ void __launch_bounds__(128) name(D* out, int turns) {                \
        __shared__ __align__(1024) uint32_t a[64 * 32], b[128 * 32];                           \
        for (int i = threadIdx.x; i < 64 * 32; i += 128) a[i] = number(mix(i + blockIdx.x * 64 * 32));   \
        for (int i = threadIdx.x; i < 128 * 32; i += 128) b[i] = number(mix(~i));              \
        PROXY_FENCE;                                                                           \
        __syncthreads();                                                                       \
        D d[64] = {};                                                                          \
        const uint64_t da = rows_of_128(a), db = rows_of_128(b);                               \
        for (int t = 0; t < turns; ++t) {                                                      \
            WGMMA_FENCE;                                                                       \
            for (int r = 0; r < 4; ++r)                                                        \
                for (int k = 0; k < 4; ++k) WGMMA_128(form, C, tail, d, da + 2 * k, db + 2 * k, t + r + k); \
            WGMMA_COMMIT;                                                                      \
            WGMMA_WAIT(0);                                                                     \
        }                                                                                      \
        for (int j = 0; j < 64; ++j) out[(blockIdx.x * 64 + j) * 128 + threadIdx.x] = d[j];    \
    }
MULTIPLY(wgmma_bf16, float, "+f", "m64n128k16.f32.bf16.bf16", ", 1, 1, 0, 0", bf16_of)
MULTIPLY(wgmma_e4m3, float, "+f", "m64n128k32.f32.e4m3.e4m3", ", 1, 1", e4m3_of)
MULTIPLY(wgmma_s8, int32_t, "+r", "m64n128k32.s32.s8.s8", "", s8_of)

// C = A B^T of `steps` times 128 elements; B's rows are C's columns.
extern "C" __global__ void __launch_bounds__(384, 1)
    gemm_e4m3(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c, int columns, int steps) {
    constexpr int stages = 4, tile = 128 * 128;
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(8) uint64_t filled[stages], used[stages];
    const uint32_t t = threadIdx.x % 128, group = threadIdx.x / 128;
    if (threadIdx.x == 0)
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(filled[s], 1);
            MBAR_INIT(used[s], 2);
        }
    PROXY_FENCE;
    __syncthreads();
    if (group == 0) {
        if (t == 0)
            for (int k = 0; k < steps; ++k) {
                const int s = k % stages;
                if (k >= stages) MBAR_WAIT("", used[s], (k / stages - 1) & 1);
                MBAR_EXPECT(filled[s], 2 * tile);
                TMA_LOAD(memory + 2 * s * tile, a, k * 128, blockIdx.y * 128, filled[s]);
                TMA_LOAD(memory + (2 * s + 1) * tile, b, k * 128, blockIdx.x * 128, filled[s]);
            }
        return;
    }
    const uint32_t own = group - 1;
    float d[64];
    for (int k = 0; k < steps; ++k) {
        const int s = k % stages;
        MBAR_WAIT("", filled[s], k / stages & 1);
        const uint64_t da = rows_of_128(memory + 2 * s * tile + own * (tile / 2)), db = rows_of_128(memory + (2 * s + 1) * tile);
        WGMMA_FENCE;
        for (int j = 0; j < 4; ++j) WGMMA_128("m64n128k32.f32.e4m3.e4m3", "+f", ", 1, 1", d, da + 2 * j, db + 2 * j, k + j);
        WGMMA_COMMIT;
        WGMMA_WAIT(0);
        if (t == 0) MBAR_ARRIVE("release.cta", used[s]);
    }
    const int row = blockIdx.y * 128 + own * 64 + t / 32 * 16 + t % 32 / 4, column = blockIdx.x * 128 + t % 4 * 2;
    for (int j = 0; j < 64; j += 2)
        *reinterpret_cast<float2*>(c + (row + j / 2 % 2 * 8) * columns + column + j / 4 * 8) = make_float2(d[j], d[j + 1]);
}
