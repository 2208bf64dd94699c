// What cooperative groups and the cuda:: headers make of synchronisation, each link of it once. One
// module: the headers are dear to compile. WITHOUT is a parameter of the templates here.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

#include "../sync.h"

namespace cg = cooperative_groups;
#define KERNEL template <int WITHOUT> __global__ void
#define ARGS const uint32_t *in, uint32_t *data, uint32_t *out
#define MAKE(kernel, without) template __global__ void kernel<without>(ARGS)
enum { none, full, empty, wait, release, acquire, lock };

KERNEL cg_block(ARGS) {
    __shared__ uint32_t tile[2 * W];
    const cg::thread_block block = cg::this_thread_block();
    const uint32_t t = block.thread_rank();
    for (uint32_t i = 0; i < 3; ++i) {
        tile[t] = in[i * 2 * W + t];  // @write
        LINK(full) block.sync();
        out[i * 2 * W + t] = tile[t ^ (W | 1)];  // @read
        LINK(empty) block.sync();
    }
}
MAKE(cg_block, none);
MAKE(cg_block, full);
MAKE(cg_block, empty);

KERNEL cg_block_split(ARGS) {
    __shared__ uint32_t tile[2 * W];
    cg::thread_block block = cg::this_thread_block();
    const uint32_t t = block.thread_rank();
    tile[t] = in[t];  // @split_write
    auto token = block.barrier_arrive();
    const uint32_t other = in[t ^ 1];
    LINK(wait) block.barrier_wait(std::move(token));
    out[t] = tile[t ^ (W | 1)] + other;  // @split_read
}
MAKE(cg_block_split, none);

KERNEL cg_tile(ARGS) {
    __shared__ uint32_t tile[2 * W];
    const auto group = cg::tiled_partition<16>(cg::this_thread_block());
    const uint32_t t = threadIdx.x;
    tile[t] = in[t];  // @tile_write
    LINK(full) group.sync();
    out[t] = tile[t ^ 9];  // @tile_read
}
MAKE(cg_tile, none);
MAKE(cg_tile, full);

// A group of two warps: their barrier is made of atomics in shared memory.
KERNEL cg_wide_tile(ARGS) {
    __shared__ cg::block_tile_memory<4 * W> memory;
    __shared__ uint32_t tile[4 * W];
    const auto group = cg::tiled_partition<2 * W>(cg::this_thread_block(memory));
    const uint32_t t = threadIdx.x;
    for (uint32_t i = 0; i < 2; ++i) {
        tile[t] = in[i * 4 * W + t];  // @wide_write
        LINK(full) group.sync();
        out[i * 4 * W + t] = tile[t ^ (W | 1)];  // @wide_read
        LINK(empty) group.sync();
    }
}
MAKE(cg_wide_tile, none);
MAKE(cg_wide_tile, full);
MAKE(cg_wide_tile, empty);

KERNEL cg_coalesced(ARGS) {
    __shared__ uint32_t tile[W];
    const uint32_t t = threadIdx.x;
    out[t] = 0;
    if (in[t] & 1) {
        const cg::coalesced_group group = cg::coalesced_threads();
        tile[group.thread_rank()] = in[t];  // @coalesced_write
        LINK(full) group.sync();
        out[t] = tile[group.size() - 1 - group.thread_rank()];  // @coalesced_read
    }
}
MAKE(cg_coalesced, none);
MAKE(cg_coalesced, full);

KERNEL cg_grid(ARGS) {
    const cg::grid_group grid = cg::this_grid();
    const uint32_t t = threadIdx.x, cta = blockIdx.x;
    for (uint32_t i = 0; i < 2; ++i) {
        data[cta * 2 * W + t] = in[cta * 2 * W + t] + i;  // @grid_write
        LINK(full) grid.sync();
        out[(i * gridDim.x + cta) * 2 * W + t] = data[(cta + 1) % gridDim.x * 2 * W + (2 * W - 1 - t)];  // @grid_read
        LINK(empty) grid.sync();
    }
}
MAKE(cg_grid, none);
MAKE(cg_grid, full);
MAKE(cg_grid, empty);

#if __CUDA_ARCH__ >= 900
KERNEL cg_cluster(ARGS) {
    __shared__ uint32_t tile[W];
    const cg::cluster_group cluster = cg::this_cluster();
    const uint32_t t = threadIdx.x, r = cluster.block_rank();
    tile[t] = in[r * W + t];  // @cluster_write
    LINK(full) cluster.sync();
    out[r * W + t] = cluster.map_shared_rank(tile, r ^ 1)[W - 1 - t];  // @cluster_read
    LINK(empty) cluster.sync();
    tile[t] = t;  // @cluster_again
    if constexpr (WITHOUT == empty) cluster.sync();  // the other CTA's memory must still be there
}
MAKE(cg_cluster, none);
MAKE(cg_cluster, full);
MAKE(cg_cluster, empty);
#endif

// cooperative_groups::memcpy_async: LDGSTS where the chip has it.
KERNEL cg_memcpy(ARGS) {
    __shared__ alignas(16) uint32_t tile[8 * W];
    const cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(sizeof tile));  // @memcpy
    LINK(wait) cg::wait(block);
    for (uint32_t i = block.thread_rank(); i < 8 * W; i += block.size()) out[i] = tile[8 * W - 1 - i];  // @memcpy_read
}
MAKE(cg_memcpy, none);
MAKE(cg_memcpy, wait);

using Barrier = cuda::barrier<cuda::thread_scope_block>;
using Object = cuda::std::aligned_storage<sizeof(Barrier), alignof(Barrier)>::type;

// As cuda_pipeline_roles, the twins of this one and the next wait too late: threads that never wait arrive twice in a
// phase, and others then wait for one that does not come.
KERNEL cuda_barrier(ARGS) {
    __shared__ Object object;
    __shared__ uint32_t tile[2 * W];
    Barrier& bar = reinterpret_cast<Barrier&>(object);
    const uint32_t t = threadIdx.x;
    if (t == 0) init(&bar, 2 * W);
    __syncthreads();
    for (uint32_t i = 0; i < 3; ++i) {
        tile[t] = in[i * 2 * W + t];  // @barrier_write
        Barrier::arrival_token token = bar.arrive();
        LINK(full) bar.wait(std::move(token));
        out[i * 2 * W + t] = tile[t ^ (W | 1)];  // @barrier_read
        if constexpr (WITHOUT == full) bar.wait(std::move(token));
        LINK(empty) bar.arrive_and_wait();
    }
}
MAKE(cuda_barrier, none);
MAKE(cuda_barrier, full);
MAKE(cuda_barrier, empty);

// Producers that only arrive, consumers that wait by parity. (Where a mark has the number of a line of a header that is
// inlined beside it, here barrier_block_scope.h's 169, ptxas 13.0 gives the instruction to the header.)
KERNEL cuda_barrier_parity(ARGS) {
    __shared__ Object object;
    __shared__ uint32_t tile[W];
    Barrier& bar = reinterpret_cast<Barrier&>(object);
    const uint32_t t = threadIdx.x % W;
    if (threadIdx.x == 0) init(&bar, W);
    __syncthreads();
    if (threadIdx.x < W) {
        tile[t] = in[t];  // @parity_write
        (void)bar.arrive();
    } else {
        LINK(wait) bar.wait_parity(false);
        out[t] = tile[W - 1 - t];  // @parity_read
    }
}
MAKE(cuda_barrier_parity, none);
MAKE(cuda_barrier_parity, wait);

KERNEL cuda_barrier_copy(ARGS) {
    __shared__ Object object;
    __shared__ alignas(16) uint32_t tile[8 * W];
    Barrier& bar = reinterpret_cast<Barrier&>(object);
    const cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, 2 * W);
    block.sync();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(sizeof tile), bar);  // @copy
    LINK(wait) bar.arrive_and_wait();
    for (uint32_t i = block.thread_rank(); i < 8 * W; i += block.size()) out[i] = tile[8 * W - 1 - i];  // @copy_read
}
MAKE(cuda_barrier_copy, none);
MAKE(cuda_barrier_copy, wait);

// Two stages for the whole CTA. Without any wait the threads arrive again at the object of a stage whose copies may
// still be on their way: one arrival too many, where the chip counts bytes.
KERNEL cuda_pipeline(ARGS) {
    constexpr uint32_t n = 4;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ alignas(16) uint32_t tile[2][8 * W];
    const cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    const auto load = [&](uint32_t i) {
        LINK(empty) pipe.producer_acquire();
        cuda::memcpy_async(block, tile[i % 2], in + i * 8 * W, cuda::aligned_size_t<16>(sizeof tile[0]), pipe);
        pipe.producer_commit();
    };
    load(0);  // @pipe_first
    for (uint32_t i = 0; i < n; ++i) {
        if (i + 1 < n) load(i + 1);  // @pipe_copy
        if constexpr (WITHOUT != full && WITHOUT != wait) pipe.consumer_wait();
        for (uint32_t k = block.thread_rank(); k < 8 * W; k += block.size()) out[i * 8 * W + k] = tile[i % 2][8 * W - 1 - k];  // @pipe_read
        if constexpr (WITHOUT == full) pipe.consumer_wait();
        pipe.consumer_release();  // @pipe_release
    }
}
MAKE(cuda_pipeline, none);
MAKE(cuda_pipeline, full);
#if __CUDA_ARCH__ >= 900
MAKE(cuda_pipeline, wait);
#endif
MAKE(cuda_pipeline, empty);

// The first warp copies, the others read. The twins wait too late: were a wait left out, one side would come a phase
// ahead of the other, and the parity that this waits for would be over for good.
KERNEL cuda_pipeline_roles(ARGS) {
    constexpr uint32_t n = 4;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ alignas(16) uint32_t tile[2][4 * W];
    const cg::thread_block block = cg::this_thread_block();
    const auto role = threadIdx.x < W ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    if (role == cuda::pipeline_role::producer) {
        for (uint32_t i = 0; i < n; ++i) {
            LINK(empty) pipe.producer_acquire();
            cuda::memcpy_async(&tile[i % 2][4 * threadIdx.x], in + i * 4 * W + 4 * threadIdx.x, cuda::aligned_size_t<16>(16), pipe);  // @role_copy
            if constexpr (WITHOUT == empty) pipe.producer_acquire();
            pipe.producer_commit();
        }
    } else {
        for (uint32_t i = 0; i < n; ++i) {
            LINK(full) pipe.consumer_wait();
            for (uint32_t k = threadIdx.x - W; k < 4 * W; k += W) out[i * 4 * W + k] = tile[i % 2][4 * W - 1 - k];  // @role_read
            if constexpr (WITHOUT == full) pipe.consumer_wait();
            pipe.consumer_release();
        }
    }
}
MAKE(cuda_pipeline_roles, none);
MAKE(cuda_pipeline_roles, full);
MAKE(cuda_pipeline_roles, empty);

KERNEL cuda_pipeline_thread(ARGS) {
    __shared__ alignas(16) uint32_t tile[8 * W];
    auto pipe = cuda::make_pipeline();
    const uint32_t t = threadIdx.x;
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[4 * t], in + 4 * t, cuda::aligned_size_t<16>(16), pipe);  // @thread_copy
    pipe.producer_commit();
    LINK(wait) pipe.consumer_wait();
    LINK(full) __syncthreads();
    for (uint32_t i = 0; i < 4; ++i) out[i * 2 * W + t] = tile[8 * W - 1 - i * 2 * W - t];  // @thread_read
    pipe.consumer_release();
}
MAKE(cuda_pipeline_thread, none);
MAKE(cuda_pipeline_thread, wait);
MAKE(cuda_pipeline_thread, full);

KERNEL cuda_atomic_ref(ARGS) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> flag(data[2 * W]);
    const uint32_t t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t];  // @ref_write
        LINK(full) __syncthreads();
        if (t == 0) flag.store(1, WITHOUT == release ? cuda::std::memory_order_relaxed : cuda::std::memory_order_release);
    } else {
        if (t == 0)
            while (!flag.load(WITHOUT == acquire ? cuda::std::memory_order_relaxed : cuda::std::memory_order_acquire)) {}
        LINK(empty) __syncthreads();
        out[t] = data[2 * W - 1 - t];  // @ref_read
    }
}
MAKE(cuda_atomic_ref, none);
MAKE(cuda_atomic_ref, full);
MAKE(cuda_atomic_ref, release);
MAKE(cuda_atomic_ref, acquire);
MAKE(cuda_atomic_ref, empty);

// atomic::wait and notify, from a sequentially consistent store.
KERNEL cuda_atomic_wait(ARGS) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> flag(data[2 * W]);
    const uint32_t t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t];  // @wait_write
        __syncthreads();
        if (t == 0) {
            flag.store(1);
            flag.notify_all();
        }
    } else {
        LINK(wait) flag.wait(0);
        out[t] = data[2 * W - 1 - t];  // @wait_read
    }
}
MAKE(cuda_atomic_wait, none);
MAKE(cuda_atomic_wait, wait);

KERNEL cuda_semaphore(ARGS) {
    using Semaphore = cuda::binary_semaphore<cuda::thread_scope_device>;
    Semaphore& turn = *reinterpret_cast<Semaphore*>(data);
    if (threadIdx.x == 0) {
        LINK(lock) turn.acquire();
        out[0] += in[blockIdx.x];  // @turn
        LINK(lock) turn.release();
    }
}
MAKE(cuda_semaphore, none);
MAKE(cuda_semaphore, lock);

KERNEL cuda_latch(ARGS) {
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ cuda::std::aligned_storage<sizeof(Latch), alignof(Latch)>::type object;
    __shared__ uint32_t tile[2 * W];
    Latch& gate = reinterpret_cast<Latch&>(object);
    const uint32_t t = threadIdx.x;
    if (t == 0) new (&gate) Latch(2 * W);
    __syncthreads();
    tile[t] = in[t];  // @latch_write
    gate.count_down();
    LINK(wait) gate.wait();
    out[t] = tile[t ^ (W | 1)];  // @latch_read
}
MAKE(cuda_latch, none);
MAKE(cuda_latch, wait);
