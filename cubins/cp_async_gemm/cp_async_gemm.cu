// archs: sm_80 sm_86 sm_89 sm_90 sm_100 sm_120
// C = A * B, 64x64 tiles of floats fed by cp.async in three stages with groups; and copies of every size with
// source sizes that leave zeros.
#include <cstdint>

namespace {

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void copy16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(address(to)), "l"(from) : "memory");
}

}  // namespace

extern "C" __global__ void gemm(int n, const float* a, const float* b, float* c) {
    constexpr int stages = 3, k_step = 16;
    __shared__ alignas(16) float as[stages][64][k_step], bs[stages][k_step][64];
    const int t = threadIdx.x, row = blockIdx.y * 64, column = blockIdx.x * 64;
    const auto load = [&](int s, int k) {
        if (k < n) {
            copy16(&as[s][t / 4][t % 4 * 4], a + (row + t / 4) * n + k + t % 4 * 4);
            copy16(&bs[s][t / 16][t % 16 * 4], b + (k + t / 16) * n + column + t % 16 * 4);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    float sum[4][4] = {};
    for (int s = 0; s < stages - 1; ++s) load(s, s * k_step);
    for (int k = 0, s = 0; k < n; k += k_step, s = (s + 1) % stages) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        load((s + stages - 1) % stages, k + (stages - 1) * k_step);
        for (int i = 0; i < k_step; ++i)
            for (int y = 0; y < 4; ++y)
                for (int x = 0; x < 4; ++x)
                    sum[y][x] = __fmaf_rn(as[s][t / 16 * 4 + y][i], bs[s][i][t % 16 * 4 + x], sum[y][x]);
    }
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x) c[(row + t / 16 * 4 + y) * n + column + t % 16 * 4 + x] = sum[y][x];
}

// Thread i copies 4, 8 or 16 bytes of which the first i % (size + 1) exist.
extern "C" __global__ void sizes(const uint8_t* in, uint32_t* out) {
    __shared__ alignas(16) uint8_t to[3][64 * 16];
    const uint32_t t = threadIdx.x;
    for (uint32_t i = t; i < sizeof to / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(to)[i] = 0xdddddddd;
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0],[%1],4,%2;" ::"r"(address(&to[0][t * 16])), "l"(in + t * 16), "r"(t % 5) : "memory");
    asm volatile("cp.async.ca.shared.global.L2::128B [%0],[%1],8,%2;" ::"r"(address(&to[1][t * 16])), "l"(in + t * 16), "r"(t % 9) : "memory");
    asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(address(&to[2][t * 16])), "l"(in + t * 16), "r"(t % 17) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (uint32_t i = t; i < sizeof to / 4; i += blockDim.x) out[i] = reinterpret_cast<uint32_t*>(to)[i];
}
