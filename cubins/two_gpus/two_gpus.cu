// SPDX-License-Identifier: Apache-2.0
// What two GPUs with peer access do to each other's memory: exchanges whose results are the same in every run, and
// litmus tests that count outcomes. tests/hardware/two_gpus.py runs them on two GPUs.
// nvcc: -lineinfo
// archs: sm_90
#include <cuda/atomic>
#include <cstdint>

using System = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
using Device = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed, acquire = cuda::memory_order_acquire, release = cuda::memory_order_release;

__device__ void wait_for(unsigned* flag, unsigned value) {
    while (System(*flag).load(acquire) < value) {
    }
}

// Both GPUs and the host add; nothing is lost.
extern "C" __global__ void count(unsigned* sum, unsigned long long* wide) {
    System(*sum).fetch_add(1, relaxed);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_system>(*wide).fetch_max(threadIdx.x * 1000003ull + blockIdx.x, relaxed);
}

// A line of cells of which each GPU has a half; the cells at the border go to the other one in every step. `edge[k % 2]`
// is what came from there for step k, `told` how far it is.
extern "C" __global__ void halo(unsigned* cells, unsigned* edge, unsigned* told, unsigned* edge_there, unsigned* told_there,
                                int count, int left, int steps) {
    __shared__ unsigned now[258];
    const int i = threadIdx.x + 1;
    now[i] = cells[threadIdx.x];
    for (int k = 0; k < steps; ++k) {
        if (threadIdx.x == (left ? count - 1 : 0)) {
            edge_there[k % 2] = now[i];
            System(*told_there).store(k + 1, release);
            wait_for(told, k + 1);
            now[left ? count + 1 : 0] = edge[k % 2];
        }
        if (threadIdx.x == (left ? 0 : count - 1)) now[left ? 0 : count + 1] = 7;
        __syncthreads();
        const unsigned next = now[i - 1] * 3 + now[i] * 5 + now[i + 1];
        __syncthreads();
        now[i] = next;
        __syncthreads();
    }
    cells[threadIdx.x] = now[i];
}

// All-reduce of two: each sends the half that the other sums, then the sum comes back.
extern "C" __global__ void reduce_both(unsigned* data, unsigned* inbox, unsigned* told, unsigned* inbox_there,
                                       unsigned* told_there, int half, int me) {
    for (int round = 0; round < 2; ++round) {
        const int out = (round == 0 ? 1 - me : me) * half, in = (round == 0 ? me : 1 - me) * half;
        for (int i = threadIdx.x; i < half; i += blockDim.x) inbox_there[round * half + i] = data[out + i];
        __syncthreads();
        if (threadIdx.x == 0) {
            System(*told_there).store(round + 1, release);
            wait_for(told, round + 1);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < half; i += blockDim.x)
            data[in + i] = inbox[round * half + i] + (round == 0 ? data[in + i] : 0);
        __syncthreads();
    }
}

// A queue of eight places between two GPUs.
extern "C" __global__ void produce(unsigned* places, unsigned* filled, unsigned* emptied, int items) {
    for (int n = 0; n < items; ++n) {
        if (n >= 8) wait_for(emptied, n - 7);
        places[n % 8] = n * 2654435761u;
        System(*filled).store(n + 1, release);
    }
}
extern "C" __global__ void consume(const unsigned* places, unsigned* filled, unsigned* emptied, unsigned* sum, int items) {
    unsigned all = 0;
    for (int n = 0; n < items; ++n) {
        wait_for(filled, n + 1);
        all = all * 31 + reinterpret_cast<const volatile unsigned*>(places)[n % 8];
        System(*emptied).store(n + 1, release);
    }
    *sum = all;
}

// Bulk copies by the async proxy: from a peer into shared memory, and from there to a peer.
extern "C" __global__ void bulk(const uint4* from, uint4* to) {
    __shared__ alignas(128) uint4 tile[64];
    __shared__ alignas(8) uint64_t bar;
    const auto shared = [](const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared(&bar)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(shared(&bar)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(shared(tile)),
                     "l"(from), "r"(shared(&bar))
                     : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; wait: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra wait; }" ::"r"(shared(&bar)) : "memory");
    tile[threadIdx.x].x ^= threadIdx.x;
    tile[threadIdx.x].w += 5;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(to), "r"(shared(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// Stream order: takes what a waited value says, and leaves an answer.
extern "C" __global__ void answer(const unsigned* question, unsigned* to) { *to = *question * 3 + 1; }

// ---- litmus: rounds of two threads, one on each GPU, that begin together (as nearly as they can). counts[2 * a + b].

__device__ void together(unsigned* meeting, unsigned round) {
    System(*meeting).fetch_add(1, cuda::memory_order_acq_rel);
    wait_for(meeting, 2 * round + 2);
}
template <class Scoped, bool orders>
__device__ void pass_message(unsigned* data, unsigned* flag, unsigned* meeting, unsigned* counts, int me, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        unsigned *x = data + 32 * r, *y = flag + 32 * r;
        together(meeting, r);
        if (me == 0) {
            System(*x).store(1, relaxed);
            Scoped(*y).store(1, orders ? release : relaxed);
        } else {
            const unsigned f = Scoped(*y).load(orders ? acquire : relaxed), d = System(*x).load(relaxed);
            ++counts[2 * f + d];
        }
    }
}
#define MESSAGE(name, scope, orders)                                                                                          \
    extern "C" __global__ void name(unsigned* data, unsigned* flag, unsigned* meeting, unsigned* counts, int me, int rounds) { \
        pass_message<scope, orders>(data, flag, meeting, counts, me, rounds);                                                 \
    }
MESSAGE(message_sys, System, true)
MESSAGE(message_gpu, Device, true)
MESSAGE(message_relaxed, System, false)

template <bool fenced>
__device__ void buffer_stores(unsigned* data, unsigned* flag, unsigned* meeting, unsigned* seen, int me, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        unsigned *mine = (me ? flag : data) + 32 * r, *other = (me ? data : flag) + 32 * r;
        together(meeting, r);
        System(*mine).store(1, relaxed);
        if (fenced) __threadfence_system();
        seen[r] = System(*other).load(relaxed);
    }
}
extern "C" __global__ void stores_fenced(unsigned* data, unsigned* flag, unsigned* meeting, unsigned* seen, int me, int rounds) {
    buffer_stores<true>(data, flag, meeting, seen, me, rounds);
}
extern "C" __global__ void stores_relaxed(unsigned* data, unsigned* flag, unsigned* meeting, unsigned* seen, int me, int rounds) {
    buffer_stores<false>(data, flag, meeting, seen, me, rounds);
}
