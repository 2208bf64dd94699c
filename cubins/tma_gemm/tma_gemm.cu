// archs: sm_90 sm_100 sm_120
// Tensor copies at work: a GEMM whose tiles come through three stages, the same with tiles multicast in a
// cluster, and a transposition through swizzled shared memory that is stored as a tensor again.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

namespace {

struct alignas(64) TensorMap {
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
__device__ void load(void* to, const TensorMap& map, int x, int y, uint64_t* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(address(to)),
                 "l"(&map), "r"(x), "r"(y), "r"(address(bar))
                 : "memory");
}
__device__ void load_for(uint16_t ranks, void* to, const TensorMap& map, int x, int y, uint64_t* bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0],[%1,{%2,%3}],[%4],%5;" ::"r"(
            address(to)),
        "l"(&map), "r"(x), "r"(y), "r"(address(bar)), "h"(ranks)
        : "memory");
}
__device__ void store(const TensorMap& map, int x, int y, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0,{%1,%2}],[%3];" ::"l"(&map), "r"(x), "r"(y),
                 "r"(address(from))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

constexpr int stages = 3, step = 16;

__device__ void multiply(float (&sum)[4][4], const float (&a)[64][step], const float (&b)[step][64]) {
    const int t = threadIdx.x;
    for (int i = 0; i < step; ++i)
        for (int y = 0; y < 4; ++y)
            for (int x = 0; x < 4; ++x) sum[y][x] = __fmaf_rn(a[t / 16 * 4 + y][i], b[i][t % 16 * 4 + x], sum[y][x]);
}
__device__ void store_tile(float* c, int n, int row, int column, const float (&sum)[4][4]) {
    const int t = threadIdx.x;
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x) c[(row + t / 16 * 4 + y) * n + column + t % 16 * 4 + x] = sum[y][x];
}

}  // namespace

// C = A * B, 64x64 tiles; a: boxes of 16 x 64, b: of 64 x 16.
extern "C" __global__ void gemm(int n, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c) {
    __shared__ alignas(128) float as[stages][64][step], bs[stages][step][64];
    __shared__ alignas(8) uint64_t full[stages], empty[stages];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64, tiles = n / step;
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) init(&full[s], 1), init(&empty[s], blockDim.x);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    const auto produce = [&](int i) {
        const int s = i % stages;
        if (i >= stages) wait(&empty[s], (i / stages - 1) & 1);
        expect(&full[s], sizeof as[0] + sizeof bs[0]);
        load(as[s], a, i * step, row, &full[s]);
        load(bs[s], b, column, i * step, &full[s]);
    };
    float sum[4][4] = {};
    if (threadIdx.x == 0)
        for (int i = 0; i < stages - 1 && i < tiles; ++i) produce(i);
    for (int i = 0; i < tiles; ++i) {
        if (threadIdx.x == 0 && i + stages - 1 < tiles) produce(i + stages - 1);
        wait(&full[i % stages], i / stages & 1);
        multiply(sum, as[i % stages], bs[i % stages]);
        arrive(&empty[i % stages]);
    }
    store_tile(c, n, row, column, sum);
}

// Two CTAs side by side share the rows of A: each loads half of them for both.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    gemm_multicast(int n, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c) {
    __shared__ alignas(128) float as[64][step], bs[step][64];
    __shared__ alignas(8) uint64_t full;
    cg::cluster_group cluster = cg::this_cluster();
    const int rank = cluster.block_rank(), row = blockIdx.y * 64, column = blockIdx.x * 64;
    if (threadIdx.x == 0) {
        init(&full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
    }
    cluster.sync();
    float sum[4][4] = {};
    for (int i = 0; i < n / step; ++i) {
        if (threadIdx.x == 0) {
            expect(&full, sizeof as + sizeof bs);
            load_for(3, as[rank * 32], a, i * step, row + rank * 32, &full);
            load(bs, b, column, i * step, &full);
        }
        wait(&full, i & 1);
        multiply(sum, as, bs);
        cluster.sync();  // both have read before the next tiles arrive
    }
    store_tile(c, n, row, column, sum);
}

// out = in transposed, words, 32x32 tiles with rows of 128 bytes that the copies swizzle; the tensors end inside
// of a tile.
extern "C" __global__ void transpose(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap out) {
    __shared__ alignas(1024) uint32_t from[32 * 32], to[32 * 32];
    __shared__ alignas(8) uint64_t full;
    const uint32_t x = threadIdx.x % 32, first = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        init(&full, 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        expect(&full, sizeof from);
        load(from, in, blockIdx.x * 32, blockIdx.y * 32, &full);
    }
    __syncthreads();
    wait(&full, 0);
    const auto swizzled = [](uint32_t row, uint32_t column) { return row * 32 + (column ^ (row % 8) * 4); };
    for (uint32_t y = first; y < 32; y += blockDim.x / 32) to[swizzled(x, y)] = from[swizzled(y, x)];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) store(out, blockIdx.y * 32, blockIdx.x * 32, to);
}
