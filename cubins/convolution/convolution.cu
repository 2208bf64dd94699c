// archs: sm_90a
// A convolution as the product that it is: images of n, h, w and 64 channels, filters of r x s, 64 of them. The tensor unit
// gathers 64 pixels at a time, moved by the place in the filter (im2col), zeros outside; a ring of mbarriers feeds the
// warpgroup. bf16, stride 1. BUG_<link>: the kernel without the link.
#include "../sync/warpgroup.h"

enum {
    none,
    full,   // the consumers wait for a stage to be filled
    empty,  // the producer waits for a stage to be used
    wait,   // a stage is released when the wgmma that read it are done
};

namespace {

constexpr int stages = 3, tile = 64, channels = 64;
constexpr uint32_t bytes = tile * channels * 2;

#define IMAGE_LOAD(to, map, w, h, n, dw, dh, bar)                                                  \
    ASM("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], " \
        "[%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(address(to)),                              \
        "l"(&map), "r"(0), "r"(w), "r"(h), "r"(n), "r"(address(bar)), "h"(dw), "h"(dh))

// Of `pixels` results, h x w in each image; the filter reaches `pad` beyond its middle.
template <int WITHOUT>
__device__ void convolve(const TensorMap& images, const TensorMap& filters, float* out, int pixels, int h, int w, int r, int s, int pad) {
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ alignas(8) uint64_t filled[stages], used[stages];
    uint8_t *const as = memory, *const bs = memory + stages * bytes;
    const uint32_t t = threadIdx.x;
    const int first = blockIdx.x * tile, steps = r * s;
    if (t == 0)
        for (int i = 0; i < stages; ++i) {
            MBAR_INIT(filled[i], 1);
            MBAR_INIT(used[i], 1);
        }
    PROXY_FENCE;
    __syncthreads();
    if (t == 128)
        for (int i = 0; i < steps; ++i) {
            const int at = i % stages;
            if (i >= stages) {
                LINK(empty) MBAR_WAIT("", used[at], (i / stages - 1) & 1);
            }
            MBAR_EXPECT(filled[at], 2 * bytes);
            IMAGE_LOAD(as + at * bytes, images, first % w - pad, first / w % h - pad, first / (w * h), uint16_t(i % s), uint16_t(i / s),
                       &filled[at]);
            TMA_LOAD(bs + at * bytes, filters, i * channels, 0, filled[at]);
        }
    if (t >= 128) return;
    float d[32];
    int i = 0;
    do {
        const int at = i % stages;
        LINK(full) MBAR_WAIT("", filled[at], i / stages & 1);
        const uint64_t da = rows_of_128(as + at * bytes), db = rows_of_128(bs + at * bytes);
        WGMMA_FENCE;
        for (int k = 0; k < 4; ++k) WGMMA_64("m64n64k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0", d, da + 2 * k, db + 2 * k, i + k);
        WGMMA_COMMIT;
        LINK(wait) WGMMA_WAIT(1);
        if (t == 0 && i) MBAR_ARRIVE("release.cta", used[(i - 1) % stages]);
    } while (++i < steps);
    WGMMA_WAIT(0);
    for (int j = 0; j < 32; ++j) {
        const int pixel = first + t / 32 * 16 + t % 32 / 4 + j / 2 % 2 * 8;
        if (pixel < pixels) out[pixel * 64 + j / 4 * 8 + t % 4 * 2 + j % 2] = d[j];
    }
}

}  // namespace

#define KERNEL(name, WITHOUT)                                                                            \
    extern "C" __global__ void name(const __grid_constant__ TensorMap images,                            \
                                    const __grid_constant__ TensorMap filters, float* out, int pixels, int h, \
                                    int w, int r, int s, int pad) {                                      \
        convolve<WITHOUT>(images, filters, out, pixels, h, w, r, s, pad);                                \
    }
KERNEL(convolution, none)
#ifdef BUGS
#define BUG(link) KERNEL(BUG_##link, link)
BUG(full)  // data-race UTMALDG HGMMA
BUG(empty)  // data-race UTMALDG UTMALDG
BUG(wait)  // async-reuse HGMMA UTMALDG
#endif
