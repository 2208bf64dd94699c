// archs: sm_75 sm_80 sm_86 sm_89 sm_90
// Matrix products of small integers by every kind of warp matrix instruction that an architecture has. All sums are exact, so
// that every architecture has the same results; where one lacks a kind, plain arithmetic stands in. One warp per 16x8 tile of c.
// Not for sm_100 and sm_120: ptxas 13.0 advances an address of the unrolled copy to shared memory twice a turn there, and stores out of bounds.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int N = 32, K = 128;  // c is N x N

__device__ int small(int8_t v) { return v >> 5; }
__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void load_x2(uint32_t (&r)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)));
}
__device__ void load_x2_trans(uint32_t (&r)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)));
}
__device__ void load_x4(uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)));
}

// f16: a by rows, b by columns.
extern "C" __global__ void hmma_f16(const int8_t* a, const int8_t* b, float* c, __half* c16) {
    __shared__ __align__(16) __half as[16][K], bs[8][K];
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    for (int i = lane; i < 16 * K; i += 32) as[i / K][i % K] = __int2half_rn(small(a[(row + i / K) * K + i % K]));
    for (int i = lane; i < 8 * K; i += 32) bs[i / K][i % K] = __int2half_rn(small(b[(column + i / K) * K + i % K]));
    __syncwarp();
    float d[4] = {};
    uint32_t h[2] = {};
    for (int k = 0; k < K; k += 16) {
        uint32_t x[4], y[2];
        load_x4(x, &as[lane % 16][k + lane / 16 * 8]);
        load_x2(y, &bs[lane % 8][k + lane / 8 % 2 * 8]);
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#else
        for (int s = 0; s < 2; ++s)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[2 * s]), "r"(x[2 * s + 1]), "r"(y[s]));
#endif
        for (int s = 0; s < 2; ++s)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                         : "+r"(h[0]), "+r"(h[1]) : "r"(x[2 * s]), "r"(x[2 * s + 1]), "r"(y[s]));
    }
    for (int i = 0; i < 4; ++i) {
        const int at = (row + g + i / 2 * 8) * N + column + 2 * t + i % 2;
        c[at] = d[i];
        c16[at] = __ushort_as_half(static_cast<unsigned short>(h[i / 2] >> (16 * (i % 2))));
    }
}

// bf16: b by rows, so its fragments are transposed when loaded.
extern "C" __global__ void hmma_bf16(const int8_t* a, const int8_t* b, float* c) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    float d[4] = {};
#if __CUDA_ARCH__ >= 800
    __shared__ __align__(16) __nv_bfloat16 as[16][K], bs[K][8];
    for (int i = lane; i < 16 * K; i += 32) as[i / K][i % K] = __float2bfloat16_rn(static_cast<float>(a[(row + i / K) * K + i % K]));
    for (int i = lane; i < 8 * K; i += 32) bs[i % K][i / K] = __float2bfloat16_rn(static_cast<float>(b[(column + i / K) * K + i % K]));
    __syncwarp();
    for (int k = 0; k < K; k += 16) {
        uint32_t x[4], y[2];
        load_x4(x, &as[lane % 16][k + lane / 16 * 8]);
        load_x2_trans(y, &bs[k + lane % 16][0]);
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    }
#else
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < K; ++k) d[i] += static_cast<float>(a[(row + g + i / 2 * 8) * K + k] * b[(column + 2 * t + i % 2) * K + k]);
#endif
    for (int i = 0; i < 4; ++i) c[(row + g + i / 2 * 8) * N + column + 2 * t + i % 2] = d[i];
}

extern "C" __global__ void hmma_tf32(const int8_t* a, const int8_t* b, float* c) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    float d[4] = {};
#if __CUDA_ARCH__ >= 800
    for (int k = 0; k < K; k += 8) {
        uint32_t x[4], y[2];
        for (int i = 0; i < 4; ++i) x[i] = __float_as_uint(static_cast<float>(a[(row + g + i % 2 * 8) * K + k + t + i / 2 * 4]));
        for (int i = 0; i < 2; ++i) y[i] = __float_as_uint(static_cast<float>(b[(column + g) * K + k + t + i * 4]));
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    }
#else
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < K; ++k) d[i] += static_cast<float>(a[(row + g + i / 2 * 8) * K + k] * b[(column + 2 * t + i % 2) * K + k]);
#endif
    for (int i = 0; i < 4; ++i) c[(row + g + i / 2 * 8) * N + column + 2 * t + i % 2] = d[i];
}

extern "C" __global__ void imma(const int* a, const int* b, int* c) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    int d[4] = {0, 1, -1, 1000};
    for (int k = 0; k < K / 4; k += 8) {
        int x[4], y[2];
        for (int i = 0; i < 4; ++i) x[i] = a[(row + g + i % 2 * 8) * (K / 4) + k + t + i / 2 * 4];
        for (int i = 0; i < 2; ++i) y[i] = b[(column + g) * (K / 4) + k + t + i * 4];
#if __CUDA_ARCH__ >= 800
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#else
        for (int s = 0; s < 2; ++s)
            for (int half = 0; half < 2; ++half)
                asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                             : "+r"(d[2 * half]), "+r"(d[2 * half + 1]) : "r"(x[2 * s + half]), "r"(y[s]));
#endif
    }
    for (int i = 0; i < 4; ++i) c[(row + g + i / 2 * 8) * N + column + 2 * t + i % 2] = d[i];
}

// How many bits of two rows of 128 differ.
extern "C" __global__ void bmma(const int* a, const int* b, int* c) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 8, column = blockIdx.x * 8;
    int d[2] = {};
    asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1]) : "r"(a[(row + g) * 4 + t]), "r"(b[(column + g) * 4 + t]));
    for (int i = 0; i < 2; ++i) c[(row + g) * N + column + 2 * t + i] = d[i];
}

extern "C" __global__ void dmma(const int8_t* a, const int8_t* b, double* c) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 8, column = blockIdx.x * 8;
    double d[2] = {0.5, -0.5};
#if __CUDA_ARCH__ >= 800
    for (int k = 0; k < K; k += 4)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(d[0]), "+d"(d[1]) : "d"(static_cast<double>(a[(row + g) * K + k + t])), "d"(static_cast<double>(b[(column + g) * K + k + t])));
#else
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < K; ++k) d[i] += static_cast<double>(a[(row + g) * K + k] * b[(column + 2 * t + i) * K + k]);
#endif
    for (int i = 0; i < 2; ++i) c[(row + g) * N + column + 2 * t + i] = d[i];
}

// Sparse a: of four columns two are stored, the first and the one after next, or the second and the last, by row.
extern "C" __global__ void hmma_sparse(const int8_t* a, const int8_t* b, float* c) {
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    float d[4] = {};
#if __CUDA_ARCH__ >= 800
    const auto pack = [](int x, int y) {
        return static_cast<uint32_t>(__half_as_ushort(__int2half_rn(small(x)))) | static_cast<uint32_t>(__half_as_ushort(__int2half_rn(small(y)))) << 16;
    };
    const uint32_t even = 0x8888, odd = 0xdddd;  // 0, 2 and 1, 3
    const uint32_t meta = (g % 2 ? odd : even) * 0x10001;
    for (int k = 0; k < K; k += 32) {
        uint32_t x[4], y[4];
        for (int i = 0; i < 4; ++i) {
            const int8_t* from = a + (row + g + i % 2 * 8) * K + k + (t + i / 2 * 4) * 4 + g % 2;
            x[i] = pack(from[0], from[2]);
        }
        for (int i = 0; i < 4; ++i) {
            const int8_t* from = b + (column + g) * K + k + 8 * i + 2 * t;
            y[i] = pack(from[0], from[1]);
        }
        asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(meta));
    }
#else
    for (int i = 0; i < 4; ++i)
        for (int k = g % 2; k < K; k += 2)
            d[i] += static_cast<float>(small(a[(row + g + i / 2 * 8) * K + k]) * small(b[(column + 2 * t + i % 2) * K + k]));
#endif
    for (int i = 0; i < 4; ++i) c[(row + g + i / 2 * 8) * N + column + 2 * t + i % 2] = d[i];
}
