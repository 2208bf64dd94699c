// archs: sm_90a
// A grouped GEMM: problems of different sizes at different places, which only the device knows. Where a CTA comes to the
// next one it makes tensor maps for it in shared memory, out of one that it was given, and publishes them for the copies
// that follow. C[m][n] = sum over k of A[m][k] B[n][k] with 64 columns, bf16. BUG_<link>: the kernel without the link.
#include "../sync/warpgroup.h"

enum {
    none,
    full,     // the consumers wait for a stage to be filled
    empty,    // the producer waits for a stage to be used
    wait,     // a stage is released when the wgmma that read it are done
    release,  // maps are published: release
    acquire,  // and acquire
};

struct Problem {
    const void *a, *b;
    float* c;
    uint32_t m, k;
};

namespace {

constexpr int stages = 3, tile = 64, step_elements = 64;
constexpr uint32_t bytes = tile * step_elements * 2;

// For `rows` rows of k elements at `data`; by one thread.
__device__ void replace(TensorMap& map, const void* data, uint32_t rows, uint32_t k) {
    const uint32_t m = address(&map);
    ASM("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(m), "l"(data));
    ASM("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(m), "r"(k));
    ASM("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(m), "r"(rows));
    ASM("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(m), "l"(uint64_t{k} * 2));
}

template <int WITHOUT>
__device__ void gemm(const TensorMap& given, const Problem* problems, int count, TensorMap* published) {
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(8) uint64_t filled[stages], used[stages];
    __shared__ alignas(128) TensorMap maps[2];
    uint8_t *const as = memory, *const bs = memory + stages * bytes;
    const uint32_t t = threadIdx.x, lane = t % 32;
    if (t == 0)
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(filled[s], 1);
            MBAR_INIT(used[s], 1);
        }
    PROXY_FENCE;
    __syncthreads();
    const bool producer = t >= 128;
    TensorMap* const own = published + 2 * blockIdx.x;
    int step = 0, number = 0;  // steps of all tiles of this CTA; tiles of all problems
    for (int p = 0; p < count; ++p) {
        const Problem problem = problems[p];
        const int steps = problem.k / step_elements, tiles = (problem.m + tile - 1) / tile;
        bool fresh = true;
        for (int i = 0; i < tiles; ++i, ++number) {
            if (number % gridDim.x != blockIdx.x) continue;
            if (producer) {
                if (fresh) {
                    // No copy reads the maps of the problem before any more.
                    if (step) MBAR_WAIT("", used[(step - 1) % stages], (step - 1) / stages & 1);
                    __syncwarp();
                    for (int m = 0; m < 2; ++m)
                        reinterpret_cast<uint32_t*>(maps[m].bytes)[lane] = reinterpret_cast<const uint32_t*>(given.bytes)[lane];
                    __syncwarp();
                    if (lane == 0) {
                        replace(maps[0], problem.a, problem.m, problem.k);
                        replace(maps[1], problem.b, tile, problem.k);
                    }
                    __syncwarp();
                    for (int m = 0; m < 2; ++m) {
                        LINK(release)
                            ASM("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(own + m),
                                "r"(address(maps + m)));
                        if constexpr (WITHOUT == release)
                            reinterpret_cast<uint32_t*>(own[m].bytes)[lane] = reinterpret_cast<const uint32_t*>(maps[m].bytes)[lane];
                        LINK(acquire) ASM("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(own + m));
                    }
                    __syncwarp();
                }
                if (lane == 0)
                    for (int k = 0; k < steps; ++k) {
                        const int s = (step + k) % stages, turn = (step + k) / stages;
                        if (turn) {
                            LINK(empty) MBAR_WAIT("", used[s], (turn - 1) & 1);
                        }
                        MBAR_EXPECT(filled[s], 2 * bytes);
                        TMA_LOAD(as + s * bytes, own[0], k * step_elements, i * tile, filled[s]);
                        TMA_LOAD(bs + s * bytes, own[1], k * step_elements, 0, filled[s]);
                    }
                __syncwarp();
            } else {
                float d[32];
                int k = 0;
                do {
                    const int s = (step + k) % stages;
                    LINK(full) MBAR_WAIT("", filled[s], (step + k) / stages & 1);
                    const uint64_t da = rows_of_128(as + s * bytes), db = rows_of_128(bs + s * bytes);
                    WGMMA_FENCE;
                    for (int j = 0; j < 4; ++j)
                        WGMMA_64("m64n64k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0", d, da + 2 * j, db + 2 * j, k + j);
                    WGMMA_COMMIT;
                    LINK(wait) WGMMA_WAIT(1);
                    if (t == 0 && k) MBAR_ARRIVE("release.cta", used[(step + k - 1) % stages]);
                } while (++k < steps);
                WGMMA_WAIT(0);
                if (t == 0) MBAR_ARRIVE("release.cta", used[(step + steps - 1) % stages]);
                for (int j = 0; j < 32; ++j) {
                    const uint32_t row = i * tile + t / 32 * 16 + t % 32 / 4 + j / 2 % 2 * 8;
                    if (row < problem.m) problem.c[row * tile + j / 4 * 8 + t % 4 * 2 + j % 2] = d[j];
                }
            }
            fresh = false;
            step += steps;
        }
    }
}

}  // namespace

#define KERNEL(name, WITHOUT)                                                                          \
    extern "C" __global__ void name(const __grid_constant__ TensorMap given, const Problem* problems,  \
                                    int count, TensorMap* published) {                                 \
        gemm<WITHOUT>(given, problems, count, published);                                              \
    }
KERNEL(grouped_gemm, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, link)
BUG(full)  // data-race UTMALDG HGMMA
BUG(empty)  // data-race UTMALDG UTMALDG
BUG(wait)  // async-reuse HGMMA UTMALDG
BUG(release)  // missing-tensormap-fence STG UTMALDG
BUG(acquire)  // missing-tensormap-fence ATOMG UTMALDG
#endif
