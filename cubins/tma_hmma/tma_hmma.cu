// archs: sm_90 sm_100 sm_120
// Tensor copies for tensor cores: a GEMM whose tiles come swizzled through four stages, and transpositions
// through every swizzle.
#include <cuda_fp16.h>

#include <cstdint>

namespace {

struct alignas(128) TensorMap {
    uint8_t bytes[128];
};

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint64_t* bar, uint32_t count) {
    asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(address(bar)), "r"(count) : "memory");
}
__device__ void expect(uint64_t* bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}
__device__ void arrive(uint64_t* bar) { asm volatile("mbarrier.arrive.shared.b64 _,[%0];" ::"r"(address(bar)) : "memory"); }
__device__ void wait(uint64_t* bar, uint32_t parity) {
    asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p,[%0],%1;\n@!p bra again;}" ::"r"(address(bar)), "r"(parity)
                 : "memory");
}
__device__ void load(void* to, const void* map, int x, int y, uint64_t* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(address(bar))
                 : "memory");
}
__device__ void store(const void* map, int x, int y, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0,{%1,%2}],[%3];" ::"l"(map), "r"(x), "r"(y),
                 "r"(address(from))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

// Byte offset in a tile whose rows are swizzled over `span` bytes (16: not at all).
template <int span>
__device__ uint32_t swizzled(uint32_t row, uint32_t byte) {
    const uint32_t at = row * span + byte;
    return at ^ (at >> 3 & (span - 1) & 0x70);
}

constexpr int stages = 4, tile = 64, step = 64;  // rows of 64 halves: 128 bytes

}  // namespace

// C = A * B (f16 in, f32 out); boxes of 64 x 64 with rows of 128 swizzled bytes. Warp 4 feeds, warps 0..3 multiply.
extern "C" __global__ void gemm(int n, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c) {
    extern __shared__ __align__(1024) uint8_t tiles_at[];
    __shared__ alignas(8) uint64_t full[stages], empty[stages];
    uint8_t(*as)[tile * 128] = reinterpret_cast<uint8_t(*)[tile * 128]>(tiles_at);
    uint8_t(*bs)[step * 128] = reinterpret_cast<uint8_t(*)[step * 128]>(tiles_at + stages * tile * 128);
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int row = blockIdx.y * tile, column = blockIdx.x * tile, tiles = n / step;
    if (t == 0) {
        for (int s = 0; s < stages; ++s) init(&full[s], 1), init(&empty[s], 128);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (warp == 4) {
        if (lane == 0)
            for (int i = 0; i < tiles; ++i) {
                const int s = i % stages;
                if (i >= stages) wait(&empty[s], (i / stages - 1) & 1);
                expect(&full[s], sizeof as[0] + sizeof bs[0]);
                load(as[s], &a, i * step, row, &full[s]);
                load(bs[s], &b, column, i * step, &full[s]);
            }
        return;
    }
    float sum[8][4] = {};
    for (int i = 0; i < tiles; ++i) {
        const int s = i % stages;
        wait(&full[s], i / stages & 1);
        for (int k = 0; k < step; k += 16) {
            uint32_t f[4], g[2];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
                         : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                         : "r"(address(as[s] + swizzled<128>(warp * 16 + lane % 16, (k + lane / 16 * 8) * 2))));
            for (int j = 0; j < 8; ++j) {
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1},[%2];"
                             : "=r"(g[0]), "=r"(g[1])
                             : "r"(address(bs[s] + swizzled<128>(k + lane % 16, j * 16))));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                             : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                             : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]));
            }
        }
        arrive(&empty[s]);
    }
    for (int j = 0; j < 8; ++j)
        for (int e = 0; e < 4; ++e)
            c[(row + warp * 16 + lane / 4 + e / 2 * 8) * n + column + j * 8 + lane % 4 * 2 + e % 2] = sum[j][e];
}

// out = in transposed, words, through tiles whose rows of `span` bytes are swizzled as the maps say. Square tiles of
// span / 4 words.
template <int span>
__device__ void transpose(const TensorMap& in, const TensorMap& out) {
    constexpr uint32_t side = span / 4;
    __shared__ alignas(1024) uint8_t from[side * span], to[side * span];
    __shared__ alignas(8) uint64_t full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        expect(&full, sizeof from);
        load(from, &in, blockIdx.x * side, blockIdx.y * side, &full);
    }
    __syncthreads();
    wait(&full, 0);
    for (uint32_t i = threadIdx.x; i < side * side; i += blockDim.x) {
        const uint32_t x = i % side, y = i / side;
        *reinterpret_cast<uint32_t*>(to + swizzled<span>(x, y * 4)) = *reinterpret_cast<const uint32_t*>(from + swizzled<span>(y, x * 4));
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) store(&out, blockIdx.y * side, blockIdx.x * side, to);
}
#define TRANSPOSE(span)                                                                                                          \
    extern "C" __global__ void transpose##span(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap out) {     \
        transpose<span>(in, out);                                                                                                \
    }
TRANSPOSE(16)
TRANSPOSE(32)
TRANSPOSE(64)
TRANSPOSE(128)
