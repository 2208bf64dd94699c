// archs: sm_90 sm_100 sm_107a sm_120
// A ring of CTAs: each round every CTA hands a tile to its neighbour and waits for the one of its other
// neighbour. `stores`: with st.async, which reports every store to the receiver's mbarrier. `bulk`: with
// cp.async.bulk between shared memories. A second mbarrier, arrived at from afar, says that the neighbour has read
// its slot: only then is the tile that a bulk copy reads free.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

namespace {

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ uint32_t remote(uint32_t at, uint32_t rank) {
    uint32_t r;
    asm("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(r) : "r"(at), "r"(rank));
    return r;
}
__device__ void init(uint32_t bar, uint32_t count) {
    asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ void expect(uint32_t bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ void wait(uint32_t bar, uint32_t parity) {
    asm volatile(
        "{.reg .pred p;\nagain: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p,[%0],%1;\n@!p bra again;}" ::"r"(bar),
        "r"(parity)
        : "memory");
}
__device__ void arrive_remote(uint32_t bar) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%0];" ::"r"(bar) : "memory");
}

template <bool Bulk>
__device__ void ring(uint32_t* out, uint32_t rounds) {
    __shared__ alignas(128) uint32_t slot[2][128], tile[128];
    __shared__ alignas(8) uint64_t full[2], empty[2];
    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t rank = cluster.block_rank(), size = cluster.num_blocks(), t = threadIdx.x;
    const uint32_t next = (rank + 1) % size, previous = (rank + size - 1) % size;
    if (t == 0)
        for (int s = 0; s < 2; ++s) init(address(&full[s]), 1), init(address(&empty[s]), 128);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    tile[t] = blockIdx.x * 1000 + t;
    cluster.sync();
    for (uint32_t i = 0; i < rounds; ++i) {
        const uint32_t s = i & 1, parity = i >> 1 & 1;
        if (t == 0) expect(address(&full[s]), 512);
        const uint32_t to = remote(address(slot[s]), next), bar = remote(address(&full[s]), next);
        if (Bulk) {
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncthreads();
            if (t == 0)
                asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::"r"(to),
                             "r"(address(tile)), "r"(512), "r"(bar)
                             : "memory");
        } else {
            asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0],%1,[%2];" ::"r"(to + t * 4),
                         "r"(tile[t]), "r"(bar)
                         : "memory");
        }
        wait(address(&full[s]), parity);
        const uint32_t got = slot[s][(t + 1) % 128];
        arrive_remote(remote(address(&empty[s]), previous));
        wait(address(&empty[s]), parity);
        __syncthreads();
        tile[t] = got * 5 + rank + i;
        __syncthreads();
    }
    out[blockIdx.x * 128 + t] = tile[t];
    cluster.sync();
}

}  // namespace

extern "C" __global__ void stores(uint32_t* out, uint32_t rounds) { ring<false>(out, rounds); }
extern "C" __global__ void bulk(uint32_t* out, uint32_t rounds) { ring<true>(out, rounds); }

// red.async: 128 threads of every CTA add to words of the last rank, which waits for all the bytes.
extern "C" __global__ void reduce(uint32_t* out) {
    __shared__ alignas(16) uint32_t sum[4];
    __shared__ alignas(8) uint64_t done;
    cg::cluster_group cluster = cg::this_cluster();
    const uint32_t rank = cluster.block_rank(), size = cluster.num_blocks(), t = threadIdx.x;
    if (t == 0) {
        init(address(&done), 1);
        sum[0] = 0, sum[1] = 7, sum[2] = 0xffffffff, sum[3] = 0;
        expect(address(&done), size * 128 * 4 * 4);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    cluster.sync();
    const uint32_t to = remote(address(sum), size - 1), bar = remote(address(&done), size - 1), v = (rank * 128 + t) * 0x9E3779B1u;
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0],%1,[%2];" ::"r"(to), "r"(v), "r"(bar) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%0],%1,[%2];" ::"r"(to + 4), "r"(v), "r"(bar) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u32 [%0],%1,[%2];" ::"r"(to + 8), "r"(v), "r"(bar) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%0],%1,[%2];" ::"r"(to + 12), "r"(v), "r"(bar) : "memory");
    if (rank == size - 1) {
        wait(address(&done), 0);
        if (t < 4) out[blockIdx.x / size * 4 + t] = sum[t];
    }
    cluster.sync();
}
