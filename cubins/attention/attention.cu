// archs: sm_90a
// Attention, forward: a producer warpgroup brings tiles of K and V through two stages each, two consumer warpgroups have
// 64 queries each and take turns (named barriers), so that the tensor core works for one while the other makes its
// softmax. Head of 64, bf16. O = softmax(scale Q K^T) V. BUG_<link>: the kernel without the link.
#include "../sync/softmax.h"
#include "../sync/warpgroup.h"

enum {
    none,
    queries,     // the consumers wait for Q,
    keys,        // for a stage of K,
    values,      // and for one of V
    keys_free,   // the producer waits for the wgmma that read a stage of K,
    values_free, // and those that read one of V
    keys_wait,   // a stage of K is released when they are done,
    values_wait, // and one of V
};

namespace {

constexpr int stages = 2, tile = 64, head = 64;
constexpr uint32_t bytes = tile * head * 2;

// `scale`: with log2(e).
template <int WITHOUT>
__device__ void forward(const TensorMap& q, const TensorMap& k, const TensorMap& v, float* o, int tiles, float scale) {
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(8) uint64_t q_filled, k_filled[stages], k_used[stages], v_filled[stages], v_used[stages];
    uint8_t *const qs = memory, *const ks = qs + 2 * bytes, *const vs = ks + stages * bytes;
    const uint32_t t = threadIdx.x % 128, group = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        MBAR_INIT(q_filled, 1);
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(k_filled[s], 1);
            MBAR_INIT(k_used[s], 2);
            MBAR_INIT(v_filled[s], 1);
            MBAR_INIT(v_used[s], 2);
        }
    }
    PROXY_FENCE;
    __syncthreads();
    if (group == 0) {
        FEWER_REGISTERS(40);
        if (t == 0) {
            MBAR_EXPECT(q_filled, 2 * bytes);
            TMA_LOAD(qs, q, 0, blockIdx.x * 2 * tile, q_filled);
            for (int i = 0; i < tiles; ++i) {
                const int s = i % stages;
                const uint32_t before = (i / stages - 1) & 1;
                if (i >= stages) {
                    LINK(keys_free) MBAR_WAIT("", k_used[s], before);
                }
                MBAR_EXPECT(k_filled[s], bytes);
                TMA_LOAD(ks + s * bytes, k, 0, i * tile, k_filled[s]);
                if (i >= stages) {
                    LINK(values_free) MBAR_WAIT("", v_used[s], before);
                }
                MBAR_EXPECT(v_filled[s], bytes);
                TMA_LOAD(vs + s * bytes, v, 0, i * tile, v_filled[s]);
            }
        }
        return;
    }
    MORE_REGISTERS(232);
    const uint32_t own = group - 1;
    float out[32] = {}, most[2] = {-INFINITY, -INFINITY}, weight[2] = {};
    if (own) BAR_ARRIVE(1, 256);  // the first one's turn
    LINK(queries) MBAR_WAIT("", q_filled, 0);
    for (int i = 0; i < tiles; ++i) {
        const int s = i % stages;
        const uint32_t parity = i / stages & 1;
        float score[32];
        LINK(keys) MBAR_WAIT("", k_filled[s], parity);
        BAR_SYNC(1 + own, 256);
        WGMMA_FENCE;
        const uint64_t dq = rows_of_128(qs + own * bytes), dk = rows_of_128(ks + s * bytes), dv = rows_of_128(vs + s * bytes);
        for (int j = 0; j < 4; ++j)
            WGMMA_64("m64n64k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0", score, dq + 2 * j, dk + 2 * j, j);
        WGMMA_COMMIT;
        if (!own || i + 1 < tiles) BAR_ARRIVE(2 - own, 256);
        if constexpr (WITHOUT == keys_wait)
            if (t == 0) MBAR_ARRIVE("release.cta", k_used[s]);
        WGMMA_WAIT(0);
        LINK(keys_wait) if (t == 0) MBAR_ARRIVE("release.cta", k_used[s]);
        uint32_t p[16];
        for (int h = 0; h < 2; ++h) {  // row, and the one eight below
            float top = most[h];
            for (int j = h * 2; j < 32; j += 4) top = fmaxf(top, fmaxf(score[j], score[j + 1]));
            top = largest(top);
            const float before = exp2_of((most[h] - top) * scale);
            most[h] = top;
            weight[h] *= before;
            for (int j = h * 2; j < 32; j += 4) {
                out[j] *= before;
                out[j + 1] *= before;
                const float x = exp2_of((score[j] - top) * scale), y = exp2_of((score[j + 1] - top) * scale);
                weight[h] += x + y;
                p[j / 8 * 4 + j / 4 % 2 * 2 + h] = two(x, y);
            }
        }
        LINK(values) MBAR_WAIT("", v_filled[s], parity);
        WGMMA_FENCE;
        for (int j = 0; j < 4; ++j)
            WGMMA_OF_64("m64n64k16.f32.bf16.bf16", "+f", ", 1, 1, 1", out, p, 4 * j, dv + 128 * j, 1);
        WGMMA_COMMIT;
        if constexpr (WITHOUT == values_wait)
            if (t == 0) MBAR_ARRIVE("release.cta", v_used[s]);
        WGMMA_WAIT(0);
        LINK(values_wait) if (t == 0) MBAR_ARRIVE("release.cta", v_used[s]);
    }
    for (int h = 0; h < 2; ++h) {
        const float total = sum(weight[h]);
        const uint32_t row = (blockIdx.x * 2 + own) * tile + t / 32 * 16 + t % 32 / 4 + h * 8;
        for (int j = h * 2; j < 32; j += 4)
            for (int e = 0; e < 2; ++e) o[row * head + j / 4 * 8 + t % 4 * 2 + e] = out[j + e] / total;
    }
}

}  // namespace

#define KERNEL(name, WITHOUT)                                                                     \
    extern "C" __global__ void __launch_bounds__(384, 1)                                          \
        name(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,            \
             const __grid_constant__ TensorMap v, float* o, int tiles, float scale) {             \
        forward<WITHOUT>(q, k, v, o, tiles, scale);                                               \
    }
KERNEL(attention, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, link)
BUG(queries)  // data-race UTMALDG HGMMA
BUG(keys)  // data-race UTMALDG HGMMA
BUG(values)  // data-race UTMALDG HGMMA
BUG(keys_free)  // data-race UTMALDG UTMALDG
BUG(values_free)  // async-reuse HGMMA UTMALDG
BUG(keys_wait)  // async-reuse HGMMA UTMALDG
BUG(values_wait)  // async-reuse HGMMA UTMALDG
#endif
