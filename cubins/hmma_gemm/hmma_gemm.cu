// archs: sm_90 sm_100 sm_107a sm_120
// C = A * B on tensor cores: 64x64 tiles, four warps of 32x32 each, operands through shared memory and ldmatrix. Results are
// rounded as the unit rounds, so only architectures whose unit has sm_90's parameters run it.
#include <cstdint>

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

template <bool Brain>
__device__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t* b) {
    if constexpr (Brain)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <bool Brain>
__device__ void tile(int n, const uint16_t* a, const uint16_t* b, float* c) {
    __shared__ __align__(16) uint16_t as[64][40], bs[32][72];  // k of 32 at a time, padded against bank conflicts
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 32;
    float d[2][4][4] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        for (int i = threadIdx.x; i < 256; i += 128) {
            *reinterpret_cast<uint4*>(&as[i / 4][i % 4 * 8]) = *reinterpret_cast<const uint4*>(&a[(blockIdx.y * 64 + i / 4) * n + k0 + i % 4 * 8]);
            *reinterpret_cast<uint4*>(&bs[i / 8][i % 8 * 8]) = *reinterpret_cast<const uint4*>(&b[(k0 + i / 8) * n + blockIdx.x * 64 + i % 8 * 8]);
        }
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            uint32_t x[2][4], y[2][4];
            for (int m = 0; m < 2; ++m)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(x[m][0]), "=r"(x[m][1]), "=r"(x[m][2]), "=r"(x[m][3])
                             : "r"(shared_address(&as[row + m * 16 + lane % 16][k + lane / 16 * 8])));
            for (int j = 0; j < 2; ++j)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(y[j][0]), "=r"(y[j][1]), "=r"(y[j][2]), "=r"(y[j][3])
                             : "r"(shared_address(&bs[k + lane % 16][column + j * 16 + lane / 16 * 8])));
            for (int m = 0; m < 2; ++m)
                for (int j = 0; j < 4; ++j) multiply<Brain>(d[m][j], x[m], &y[j / 2][j % 2 * 2]);
        }
        __syncthreads();
    }
    for (int m = 0; m < 2; ++m)
        for (int j = 0; j < 4; ++j)
            for (int i = 0; i < 4; ++i)
                c[(blockIdx.y * 64 + row + m * 16 + lane / 4 + i / 2 * 8) * n + blockIdx.x * 64 + column + j * 8 + lane % 4 * 2 + i % 2] = d[m][j][i];
}

extern "C" __global__ void __launch_bounds__(128) gemm_f16(int n, const uint16_t* a, const uint16_t* b, float* c) { tile<false>(n, a, b, c); }
extern "C" __global__ void __launch_bounds__(128) gemm_bf16(int n, const uint16_t* a, const uint16_t* b, float* c) { tile<true>(n, a, b, c); }

// tf32 straight from memory: one warp per 16x8 tile.
extern "C" __global__ void __launch_bounds__(32) gemm_tf32(int n, const float* a, const float* b, float* c) {
    const int g = threadIdx.x / 4, t = threadIdx.x % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    float d[4] = {};
    for (int k = 0; k < n; k += 8) {
        uint32_t x[4], y[2];
        for (int i = 0; i < 4; ++i) x[i] = __float_as_uint(a[(row + g + i % 2 * 8) * n + k + t + i / 2 * 4]);
        for (int i = 0; i < 2; ++i) y[i] = __float_as_uint(b[(k + t + i * 4) * n + column + g]);
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    }
    for (int i = 0; i < 4; ++i) c[(row + g + i / 2 * 8) * n + column + 2 * t + i % 2] = d[i];
}

