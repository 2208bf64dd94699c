// archs: sm_90a
// A GEMM whose steps along k are divided among CTAs that add their parts to C by reducing tensor stores.
// C[m][n] += sum over k of A[m][k] B[n][k], bf16 (two parts, so that any order gives the same bits) and s8 (any number).
// BUG_<link>: the kernel of bf16 without the link.
#include "../sync/warpgroup.h"

enum {
    none,
    full,     // the consumers wait for a stage to be filled
    empty,    // the producer waits for a stage to be used
    wait,     // a stage is released when the wgmma that read it are done
    fence,    // the part is shown to the tensor store,
    barrier,  // is all there,
    done,     // and has been read before the CTA ends
};

namespace {

constexpr int stages = 3, tile = 64;
constexpr uint32_t bytes = tile * 128;

struct Bf16 {
    using D = float;
    static constexpr int elements = 64;  // of 128 bytes
    __device__ static void step(float (&d)[32], uint64_t a, uint64_t b, uint32_t add) {
        WGMMA_64("m64n64k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0", d, a, b, add);
    }
};
struct S8 {
    using D = int32_t;
    static constexpr int elements = 128;
    __device__ static void step(int32_t (&d)[32], uint64_t a, uint64_t b, uint32_t add) {
        WGMMA_64("m64n64k32.s32.s8.s8", "+r", "", d, a, b, add);
    }
};

// A CTA has `steps` of 128 bytes of the tile (x, y), from step z * steps on.
template <class T, int WITHOUT>
__device__ void gemm(const TensorMap& a, const TensorMap& b, const TensorMap& c, int steps) {
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(8) uint64_t filled[stages], used[stages];
    uint8_t *const as = memory, *const bs = memory + stages * bytes;
    auto* const part = reinterpret_cast<typename T::D*>(bs + stages * bytes);
    const uint32_t t = threadIdx.x, x = blockIdx.x * tile, y = blockIdx.y * tile;
    if (t == 0)
        for (int s = 0; s < stages; ++s) {
            MBAR_INIT(filled[s], 1);
            MBAR_INIT(used[s], 1);
        }
    PROXY_FENCE;
    __syncthreads();
    if (t == 128)
        for (int i = 0; i < steps; ++i) {
            const int s = i % stages, k = (blockIdx.z * steps + i) * T::elements;
            if (i >= stages) {
                LINK(empty) MBAR_WAIT("", used[s], (i / stages - 1) & 1);
            }
            MBAR_EXPECT(filled[s], 2 * bytes);
            TMA_LOAD(as + s * bytes, a, k, y, filled[s]);
            TMA_LOAD(bs + s * bytes, b, k, x, filled[s]);
        }
    if (t >= 128) return;
    typename T::D d[32];
    int i = 0;
    do {
        const int s = i % stages;
        LINK(full) MBAR_WAIT("", filled[s], i / stages & 1);
        const uint64_t da = rows_of_128(as + s * bytes), db = rows_of_128(bs + s * bytes);
        WGMMA_FENCE;
        for (int k = 0; k < 4; ++k) T::step(d, da + 2 * k, db + 2 * k, i + k);
        WGMMA_COMMIT;
        LINK(wait) WGMMA_WAIT(1);
        if (t == 0 && i) MBAR_ARRIVE("release.cta", used[(i - 1) % stages]);
    } while (++i < steps);
    WGMMA_WAIT(0);
    for (int j = 0; j < 32; ++j)
        part[(t / 32 * 16 + t % 32 / 4 + j / 2 % 2 * 8) * tile + j / 4 * 8 + t % 4 * 2 + j % 2] = d[j];
    LINK(fence) PROXY_FENCE;
    LINK(barrier) BAR_SYNC(1, 128);
    if (t == 0) {
        TMA_ADD(c, x, y, part);
        BULK_COMMIT;
        LINK(done) BULK_WAIT_READ;
    }
}

}  // namespace

#define KERNEL(name, T, WITHOUT)                                                                          \
    extern "C" __global__ void name(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, \
                                    const __grid_constant__ TensorMap c, int steps) {                     \
        gemm<T, WITHOUT>(a, b, c, steps);                                                                 \
    }
KERNEL(bf16, Bf16, none)
KERNEL(s8, S8, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, Bf16, link)
BUG(full)  // data-race UTMALDG HGMMA
BUG(empty)  // data-race UTMALDG UTMALDG
BUG(wait)  // async-reuse HGMMA UTMALDG
BUG(fence)  // missing-proxy-fence STS UTMAREDG
BUG(barrier)  // data-race STS UTMAREDG
BUG(done)  // async-reuse UTMAREDG
#endif
