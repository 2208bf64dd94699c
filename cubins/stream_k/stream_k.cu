// archs: sm_90a
// Stream-K: a cluster of four CTAs divides the steps of all its tiles evenly, so that a tile's sum may be begun in one CTA and
// go on in the next. Who has its first step owns the tile; the other's part comes to it through distributed shared
// memory. C[m][n] = sum over k of A[m][k] B[n][k], bf16. BUG_<link>: the kernel without the link.
#include "../sync/warpgroup.h"

enum {
    none,
    full,     // the consumers wait for a stage to be filled
    empty,    // the producer waits for a stage to be used
    wait,     // a stage is released when the wgmma that read it are done
    init,     // the cluster's mbarriers are there before another CTA uses them
    ready,    // the owner waits for the other's part
    release,  // which hands it on in order,
    scope,    // to another CTA,
    acquire,  // whose threads take it in order
};

namespace {

constexpr int stages = 4, tile = 64, step_elements = 64, ctas = 4;
constexpr uint32_t bytes = tile * step_elements * 2;

// `steps` of each of the cluster's tiles, which lie side by side along n.
template <int WITHOUT>
__device__ void gemm(const TensorMap& a, const TensorMap& b, float* c, int steps, int tiles) {
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(8) uint64_t filled[stages], used[stages], arrived;
    uint8_t *const as = memory, *const bs = memory + stages * bytes;
    auto* const part = reinterpret_cast<float*>(bs + stages * bytes);  // of another CTA: [register][thread]
    const uint32_t t = threadIdx.x, rank = cluster_rank();
    const int each = steps * tiles / ctas, first = rank * each, end = first + each;
    const int cluster = blockIdx.x / ctas;
    if (t == 0) {
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(filled[s], 1);
            MBAR_INIT(used[s], 1);
        }
        MBAR_INIT(arrived, 128);
    }
    ASM("fence.mbarrier_init.release.cluster;" ::);
    LINK(init) CLUSTER_SYNC;
    if constexpr (WITHOUT == init) __syncthreads();
    if (t == 128)
        for (int i = first; i < end; ++i) {
            const int s = (i - first) % stages, k = i % steps * step_elements, turn = (i - first) / stages;
            if (turn) {
                LINK(empty) MBAR_WAIT("", used[s], (turn - 1) & 1);
            }
            MBAR_EXPECT(filled[s], 2 * bytes);
            TMA_LOAD(as + s * bytes, a, k, cluster * tile, filled[s]);
            TMA_LOAD(bs + s * bytes, b, k, i / steps * tile, filled[s]);
        }
    if (t < 128)
        for (int begin = first; begin < end;) {
            const int number = begin / steps, stop = min(end, (number + 1) * steps);
            float d[32];
            int i = begin;
            do {
                const int s = (i - first) % stages;
                LINK(full) MBAR_WAIT("", filled[s], (i - first) / stages & 1);
                const uint64_t da = rows_of_128(as + s * bytes), db = rows_of_128(bs + s * bytes);
                WGMMA_FENCE;
                for (int k = 0; k < 4; ++k)
                    WGMMA_64("m64n64k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0", d, da + 2 * k, db + 2 * k, i - begin + k);
                WGMMA_COMMIT;
                LINK(wait) WGMMA_WAIT(1);
                if (t == 0 && i > begin) MBAR_ARRIVE("release.cta", used[(i - 1 - first) % stages]);
            } while (++i < stop);
            WGMMA_WAIT(0);
            if (t == 0) MBAR_ARRIVE("release.cta", used[(stop - 1 - first) % stages]);
            if (begin > number * steps) {  // another CTA's
                for (int j = 0; j < 32; ++j) {
                    const uint32_t at = remote(part + 128 * j + t, rank - 1);
                    ST_REMOTE(at, __float_as_uint(d[j]));
                }
                if constexpr (WITHOUT == release)
                    MBAR_ARRIVE_REMOTE("relaxed.cluster", remote(&arrived, rank - 1));
                else if constexpr (WITHOUT == scope)
                    MBAR_ARRIVE_REMOTE("release.cta", remote(&arrived, rank - 1));
                else
                    MBAR_ARRIVE_REMOTE("release.cluster", remote(&arrived, rank - 1));
            } else {
                if (stop < (number + 1) * steps) {
                    if constexpr (WITHOUT == acquire)
                        MBAR_WAIT("", arrived, 0);
                    else LINK(ready)
                        MBAR_WAIT(".acquire.cluster", arrived, 0);
                    for (int j = 0; j < 32; ++j) d[j] += part[128 * j + t];
                }
                for (int j = 0; j < 32; ++j)
                    c[(cluster * tile + t / 32 * 16 + t % 32 / 4 + j / 2 % 2 * 8) * tiles * tile + number * tile + j / 4 * 8 +
                      t % 4 * 2 + j % 2] = d[j];
            }
            begin = stop;
        }
    CLUSTER_SYNC;
}

}  // namespace

#define KERNEL(name, WITHOUT)                                                                              \
    extern "C" __global__ void __cluster_dims__(4, 1, 1)                                                   \
        name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c, int steps, \
             int tiles) {                                                                                  \
        gemm<WITHOUT>(a, b, c, steps, tiles);                                                              \
    }
KERNEL(stream_k, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, link)
BUG(full)  // data-race UTMALDG HGMMA
BUG(empty)  // data-race UTMALDG UTMALDG
BUG(wait)  // async-reuse HGMMA UTMALDG
BUG(init)  // mbarrier-protocol SYNCS SYNCS
BUG(ready)  // data-race ST LDS
BUG(release)  // missing-release ST LDS
BUG(scope)  // scope-too-narrow ST LDS
BUG(acquire)  // scope-too-narrow ST LDS
#endif
