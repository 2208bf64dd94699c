// archs: sm_90a
// A persistent GEMM: clusters of two CTAs share the tiles of B (each loads half of one for both), a producer warpgroup
// feeds a ring of four stages and gives its registers to two consumer warpgroups of 64 rows, tiles of results leave by
// tensor stores while the next are computed. C[m][n] = sum over k of A[m][k] B[n][k], in every type of the warpgroup's
// tensor core. BUG_<link>: the kernel of bf16 without the link.
#include "../sync/warpgroup.h"

enum {
    none,
    full,      // consumers wait for a stage to be filled
    empty,     // the producer waits for a stage to be used
    peer,      // and for the other CTA's consumers, into whose stages half of B goes
    wait,      // a stage is released when the wgmma that read it are done
    init,      // the mbarriers of the cluster are there before the other CTA uses them
    store_fence,    // results are shown to the tensor store,
    store_barrier,  // are all there,
    store_read,     // and have been read before the next take their place
    done,           // the last tensor store has read them before the CTA ends
};

namespace {

constexpr int stages = 4, rows = 64, columns = 64, step_bytes = 128;

template <class Result, int Elements>
struct Dense {
    using D = Result;
    static constexpr int elements = Elements;  // of 128 bytes, as the tensor maps count them
    static constexpr int blocks_of_b = 1;
};
#define DENSE(name, result, elements, form, C, tail)                                                 \
    struct name : Dense<result, elements> {                                                       \
        __device__ static void step(result (&d)[32], uint64_t a, uint64_t b, int k,        \
                                    const uint32_t*, uint32_t add) {                       \
            WGMMA_64(form, C, tail, d, a + 2 * k, b + 2 * k, add);                         \
        }                                                                                  \
    }
DENSE(Bf16, float, 64, "m64n64k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0");
DENSE(F16, float, 64, "m64n64k16.f32.f16.f16", "+f", ", 1, 1, 0, 0");
DENSE(Tf32, float, 32, "m64n64k8.f32.tf32.tf32", "+f", ", 1, 1");
DENSE(E4m3, float, 128, "m64n64k32.f32.e4m3.e4m3", "+f", ", 1, 1");
DENSE(E5m2, float, 128, "m64n64k32.f32.e5m2.e5m2", "+f", ", 1, 1");
DENSE(S8, int32_t, 128, "m64n64k32.s32.s8.s8", "+r", "");
DENSE(B1, int32_t, 128, "m64n64k256.s32.b1.b1.and.popc", "+r", "");

// Two of four elements of A are there; its stage has the k of two stages of B.
struct SparseF16 {
    using D = float;
    static constexpr int elements = 64;
    static constexpr int blocks_of_b = 2;
    // Two different places of four from four random bits: the pairs in order.
    __device__ static uint32_t places(uint32_t random) {
        uint32_t e = 0;
        for (int i = 0; i < 32; i += 4) e |= (0x00edc984u >> (random >> i & 15) % 6 * 4 & 15) << i;
        return e;
    }
    __device__ static void step(float (&d)[32], uint64_t a, uint64_t b, int k,
                                const uint32_t* metadata, uint32_t add) {
        WGMMA_SPARSE_64("m64n64k32.f32.f16.f16", "+f", ", 1, 1, 0, 0", d, a + 2 * k,
                        b + k % 2 * 4 + k / 2 * (columns * step_bytes / 16),
                        places(metadata[128 * k]), add);
    }
};

// `steps`: of 128 bytes of A along k; `tiles`: along n. Metadata: a word for each thread of four wgmma, of each step, of
// each 64 rows.
template <class T, int WITHOUT>
__device__ void gemm(const TensorMap& a, const TensorMap& b, const TensorMap& c,
                     const uint32_t* metadata, int steps, int tiles) {
    constexpr uint32_t a_bytes = 2 * rows * step_bytes,
                       b_bytes = T::blocks_of_b * columns * step_bytes;
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(8) uint64_t filled[stages], used[stages];
    uint8_t* const as = memory;
    uint8_t* const bs = memory + stages * a_bytes;
    auto* const results = reinterpret_cast<typename T::D*>(bs + stages * b_bytes);
    const uint32_t t = threadIdx.x % 128, group = threadIdx.x / 128, rank = cluster_rank();
    const int first = blockIdx.x / 2, clusters = gridDim.x / 2;
    if (threadIdx.x == 0)
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(filled[s], 1);
            MBAR_INIT(used[s], WITHOUT == peer ? 2 : 4);
        }
    ASM("fence.mbarrier_init.release.cluster;" ::);
    LINK(init) CLUSTER_SYNC;
    if constexpr (WITHOUT == init) __syncthreads();
    if (group == 0) {
        FEWER_REGISTERS(40);
        if (t == 0)
            for (int tile = first, i = 0; tile < tiles; tile += clusters)
                for (int k = 0; k < steps; ++k, ++i) {
                    const int s = i % stages;
                    if (i >= stages) {
                        LINK(empty) MBAR_WAIT(".acquire.cluster", used[s], (i / stages - 1) & 1);
                    }
                    MBAR_EXPECT(filled[s], a_bytes + b_bytes);
                    TMA_LOAD(as + s * a_bytes, a, k * T::elements, rank * 2 * rows, filled[s]);
                    for (int j = 0; j < T::blocks_of_b; ++j)
                        TMA_MULTICAST(bs + s * b_bytes + j * columns * step_bytes + rank * (columns / 2 * step_bytes), b,
                                      (k * T::blocks_of_b + j) * T::elements, tile * columns + rank * (columns / 2),
                                      filled[s], uint16_t{3});
                }
    } else {
        MORE_REGISTERS(232);
        const uint32_t own = group - 1, row = (rank * 2 + own) * rows;
        auto* const result = results + own * rows * columns;
        const auto release = [&](int s) {
            if (t < 2 && (WITHOUT != peer || t == rank))
                MBAR_ARRIVE_REMOTE("release.cluster", remote(&used[s], t));
        };
        for (int tile = first, i = 0; tile < tiles; tile += clusters) {
            typename T::D d[32];
            for (int k = 0; k < steps; ++k, ++i) {
                const int s = i % stages;
                LINK(full) MBAR_WAIT("", filled[s], i / stages & 1);
                const uint64_t da = rows_of_128(as + s * a_bytes + own * rows * step_bytes), db = rows_of_128(bs + s * b_bytes);
                WGMMA_FENCE;
                for (int j = 0; j < 4; ++j)
                    T::step(d, da, db, j, metadata + ((row / rows * steps + k) * 4) * 128 + t, k + j);
                WGMMA_COMMIT;
                LINK(wait) WGMMA_WAIT(1);
                if (k) release((i - 1) % stages);
            }
            WGMMA_WAIT(0);
            release((i - 1) % stages);
            LINK(store_read) {
                if (t == 0) BULK_WAIT_READ;
                BAR_SYNC(1 + own, 128);
            }
            for (int j = 0; j < 32; ++j)
                result[(t / 32 * 16 + t % 32 / 4 + j / 2 % 2 * 8) * columns + j / 4 * 8 + t % 4 * 2 + j % 2] = d[j];
            LINK(store_fence) PROXY_FENCE;
            LINK(store_barrier) BAR_SYNC(1 + own, 128);
            if (t == 0) {
                TMA_STORE(c, tile * columns, row, result);
                BULK_COMMIT;
            }
        }
        LINK(done) if (t == 0) BULK_WAIT;
    }
    CLUSTER_SYNC;
}

}  // namespace

#define KERNEL(name, T, WITHOUT)                                                               \
    extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)             \
        name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,         \
             const __grid_constant__ TensorMap c, const uint32_t* metadata, int steps,         \
             int tiles) {                                                                      \
        gemm<T, WITHOUT>(a, b, c, metadata, steps, tiles);                                     \
    }
KERNEL(bf16, Bf16, none)
KERNEL(f16, F16, none)
KERNEL(tf32, Tf32, none)
KERNEL(e4m3, E4m3, none)
KERNEL(e5m2, E5m2, none)
KERNEL(s8, S8, none)
KERNEL(b1, B1, none)
KERNEL(sparse_f16, SparseF16, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, Bf16, link)
BUG(full)  // data-race UTMALDG HGMMA
BUG(empty)  // mbarrier-protocol SYNCS
BUG(peer)  // async-reuse HGMMA UTMALDG
BUG(wait)  // async-reuse HGMMA UTMALDG
BUG(init)  // mbarrier-protocol SYNCS SYNCS
BUG(store_fence)  // missing-proxy-fence STS UTMASTG
BUG(store_barrier)  // data-race STS UTMASTG
BUG(store_read)  // async-reuse UTMASTG STS
BUG(done)  // async-reuse UTMASTG
#endif
