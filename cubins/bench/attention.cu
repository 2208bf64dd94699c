// archs: sm_90a
// Benchmark: attention, forward, of bf16, with a head of 128: O = softmax(scale Q K^T) V. A producer warpgroup brings tiles of
// 64 keys and values through two stages each; two warpgroups have 64 queries each. (cubins/attention is the one with taking turns.)
#include "../sync/softmax.h"
#include "../sync/warpgroup.h"

namespace {

constexpr int stages = 2, tile = 64, head = 128;
constexpr uint32_t block = tile * 128, bytes = 2 * block;  // half a head of a tile: rows of 128 bytes; a tile
// 16 elements of k: those from 64 on are in the second block.
__device__ uint64_t along_head(uint64_t matrix, int j) { return matrix + j % 4 * 2 + j / 4 * (block / 16); }

}  // namespace

#define LOAD_TILE(to, map, row, bar)                         \
    do {                                                     \
        MBAR_EXPECT(bar, bytes);                             \
        TMA_LOAD(to, map, 0, row, bar);                      \
        TMA_LOAD((to) + block, map, 64, row, bar);           \
    } while (0)

// `scale`: with log2(e).
extern "C" __global__ void __launch_bounds__(384, 1)
    attention(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k, const __grid_constant__ TensorMap v, float* o, int tiles,
              float scale) {
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(8) uint64_t q_filled[2], k_filled[stages], k_used[stages], v_filled[stages], v_used[stages];
    uint8_t *const qs = memory, *const ks = qs + 2 * bytes, *const vs = ks + stages * bytes;
    const uint32_t t = threadIdx.x % 128, group = threadIdx.x / 128;
    if (threadIdx.x == 0)
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(q_filled[s], 1);
            MBAR_INIT(k_filled[s], 1);
            MBAR_INIT(k_used[s], 2);
            MBAR_INIT(v_filled[s], 1);
            MBAR_INIT(v_used[s], 2);
        }
    PROXY_FENCE;
    __syncthreads();
    if (group == 0) {
        FEWER_REGISTERS(40);
        if (t == 0) {
            for (int g = 0; g < 2; ++g) LOAD_TILE(qs + g * bytes, q, (blockIdx.x * 2 + g) * tile, q_filled[g]);
            for (int i = 0; i < tiles; ++i) {
                const int s = i % stages;
                const uint32_t before = (i / stages - 1) & 1;
                if (i >= stages) MBAR_WAIT("", k_used[s], before);
                LOAD_TILE(ks + s * bytes, k, i * tile, k_filled[s]);
                if (i >= stages) MBAR_WAIT("", v_used[s], before);
                LOAD_TILE(vs + s * bytes, v, i * tile, v_filled[s]);
            }
        }
        return;
    }
    MORE_REGISTERS(232);
    const uint32_t own = group - 1;
    float out[64] = {}, most[2] = {-INFINITY, -INFINITY}, weight[2] = {};
    MBAR_WAIT("", q_filled[own], 0);
    const uint64_t dq = rows_of_128(qs + own * bytes);
    for (int i = 0; i < tiles; ++i) {
        const int s = i % stages;
        const uint32_t parity = i / stages & 1;
        float score[32];
        MBAR_WAIT("", k_filled[s], parity);
        const uint64_t dk = rows_of_128(ks + s * bytes);
        WGMMA_FENCE;
        for (int j = 0; j < head / 16; ++j)
            WGMMA_64("m64n64k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0", score, along_head(dq, j), along_head(dk, j), j);
        WGMMA_COMMIT;
        WGMMA_WAIT(0);
        if (t == 0) MBAR_ARRIVE("release.cta", k_used[s]);
        uint32_t p[16];
        for (int h = 0; h < 2; ++h) {  // row, and the one eight below
            float top = most[h];
            for (int j = h * 2; j < 32; j += 4) top = fmaxf(top, fmaxf(score[j], score[j + 1]));
            top = largest(top);
            const float before = exp2_of((most[h] - top) * scale);
            most[h] = top;
            weight[h] *= before;
            for (int j = h * 2; j < 64; j += 4) {
                out[j] *= before;
                out[j + 1] *= before;
            }
            for (int j = h * 2; j < 32; j += 4) {
                const float x = exp2_of((score[j] - top) * scale), y = exp2_of((score[j + 1] - top) * scale);
                weight[h] += x + y;
                p[j / 8 * 4 + j / 4 % 2 * 2 + h] = two(x, y);
            }
        }
        MBAR_WAIT("", v_filled[s], parity);
        // Columns across rows of 128 bytes: the second 64 of them lie a block further.
        const uint64_t dv = rows_of_128(vs + s * bytes) - (uint64_t{1} << 16) + (uint64_t{block / 16} << 16);
        WGMMA_FENCE;
        for (int j = 0; j < 4; ++j) WGMMA_OF_128("m64n128k16.f32.bf16.bf16", "+f", ", 1, 1, 1", out, p, 4 * j, dv + 128 * j, 1);
        WGMMA_COMMIT;
        WGMMA_WAIT(0);
        if (t == 0) MBAR_ARRIVE("release.cta", v_used[s]);
    }
    for (int h = 0; h < 2; ++h) {
        const float total = sum(weight[h]);
        const uint32_t row = (blockIdx.x * 2 + own) * tile + t / 32 * 16 + t % 32 / 4 + h * 8;
        for (int j = h * 2; j < 64; j += 4)
            *reinterpret_cast<float2*>(o + row * head + j / 4 * 8 + t % 4 * 2) = make_float2(out[j] / total, out[j + 1] / total);
    }
}
