// archs: sm_90a
// Warpgroup tensor cores at work: GEMMs whose swizzled tiles come through four stages, from a producer warp to a
// consumer warpgroup that lets one wgmma group run on while it waits for the next tiles.
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

// Rows of 128 swizzled bytes, in groups of eight.
__device__ uint64_t descriptor(const void* p) {
    return (address(p) & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

// One k of 64 x 64 results: A and B in rows of 128 bytes, of k; of bf16 B in rows of columns.
struct Bf16 {
    static constexpr int elements = 64;
    __device__ static void step(float (&d)[32], uint64_t a, uint64_t b, int k) {
        asm volatile(
            "{wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
            "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 1;}"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
              "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),
              "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
              "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
            : "l"(a + 2 * k), "l"(b + 128 * k)
            : "memory");
    }
};
struct E4m3 {
    static constexpr int elements = 128;
    __device__ static void step(float (&d)[32], uint64_t a, uint64_t b, int k) {
        asm volatile(
            "{wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
            "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1;}"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
              "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),
              "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
              "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
            : "l"(a + 2 * k), "l"(b + 2 * k)
            : "memory");
    }
};

constexpr int stages = 4, tile = 64;

// Warp 4 feeds, warps 0..3 multiply. B by rows of k, boxes of 64 columns; or by rows of n, boxes of 64 rows.
template <class T, bool RowsOfK>
__device__ void gemm(int n, const TensorMap& a, const TensorMap& b, float* c) {
    extern __shared__ __align__(1024) uint8_t tiles_at[];
    __shared__ alignas(8) uint64_t full[stages], empty[stages];
    uint8_t(*as)[tile * 128] = reinterpret_cast<uint8_t(*)[tile * 128]>(tiles_at);
    uint8_t(*bs)[tile * 128] = reinterpret_cast<uint8_t(*)[tile * 128]>(tiles_at + stages * tile * 128);
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int row = blockIdx.y * tile, column = blockIdx.x * tile, tiles = n / T::elements;
    if (t == 0) {
        for (int s = 0; s < stages; ++s) init(&full[s], 1), init(&empty[s], 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (warp == 4) {
        if (lane == 0)
            for (int i = 0; i < tiles; ++i) {
                const int s = i % stages;
                if (i >= stages) wait(&empty[s], (i / stages - 1) & 1);
                expect(&full[s], sizeof as[0] + sizeof bs[0]);
                load(as[s], &a, i * T::elements, row, &full[s]);
                if (RowsOfK)
                    load(bs[s], &b, column, i * T::elements, &full[s]);
                else
                    load(bs[s], &b, i * T::elements, column, &full[s]);
            }
        return;
    }
    float d[32] = {};
    for (int i = 0; i < tiles; ++i) {
        const int s = i % stages;
        wait(&full[s], i / stages & 1);
        const uint64_t da = descriptor(as[s]), db = descriptor(bs[s]);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < 4; ++k) T::step(d, da, db, k);
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory");
        // The group before is done, in all warps: one thread says so.
        if (i && t == 0) arrive(&empty[(i - 1) % stages]);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int j = 0; j < 8; ++j)
        for (int e = 0; e < 4; ++e)
            c[(row + warp * 16 + lane / 4 + e / 2 * 8) * gridDim.x * tile + column + j * 8 + lane % 4 * 2 + e % 2] = d[4 * j + e];
}

}  // namespace

extern "C" __global__ void gemm_bf16(int n, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c) {
    gemm<Bf16, true>(n, a, b, c);
}
extern "C" __global__ void gemm_e4m3(int n, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c) {
    gemm<E4m3, false>(n, a, b, c);
}
