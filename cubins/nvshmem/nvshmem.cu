// Kernels over the NVSHMEM API. Every PE runs the same; PE i is GPU i.
// nvcc: -lineinfo -Invshmem_headers
// archs: sm_80 sm_90
#include <nvshmem.h>
#include <nvshmemx.h>

// Ring all-reduce in two rounds of n - 1 steps: sums of pieces go round, then the sums themselves.
// data: n pieces of `piece` elements; inbox: one piece for each step; signals: one for each step.
extern "C" __global__ void ring_all_reduce(unsigned* data, unsigned* inbox, uint64_t* signals, int piece) {
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n;
    for (int step = 0; step < 2 * (n - 1); ++step) {
        const bool sums = step < n - 1;
        const int out = ((sums ? me - step : me + 1 - (step - (n - 1))) % n + n) % n, in = (out + n - 1) % n;
        nvshmemx_uint_put_signal_nbi_block(inbox + step * piece, data + out * piece, piece, signals + step, 1,
                                           NVSHMEM_SIGNAL_SET, next);
        nvshmem_signal_wait_until(signals + step, NVSHMEM_CMP_EQ, 1);
        __syncthreads();
        for (int i = threadIdx.x; i < piece; i += blockDim.x)
            data[in * piece + i] = inbox[step * piece + i] + (sums ? data[in * piece + i] : 0);
        __syncthreads();
    }
    nvshmem_quiet();
}

// Data and then a signal to the neighbour, who adds up what came.
extern "C" __global__ void put_signal(int* data, const int* source, uint64_t* signal, int* sum, int count) {
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    nvshmemx_int_put_signal_block(data, source, count, signal, 7, NVSHMEM_SIGNAL_ADD, (me + 1) % n);
    if (threadIdx.x == 0) {
        const uint64_t now = nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 7);
        int all = static_cast<int>(now) - 7;
        for (int i = 0; i < count; ++i) all += data[i];
        *sum = all;
    }
}

// Collectives of a CTA: each gets its part of `out`.
extern "C" __global__ void collectives(int* out, const int* source, int count, int root) {
    const int n = nvshmem_n_pes();
    nvshmemx_int_broadcast_block(NVSHMEM_TEAM_WORLD, out, source, count, root);
    out += count;
    nvshmemx_int_fcollect_block(NVSHMEM_TEAM_WORLD, out, source, count);
    out += count * n;
    nvshmemx_int_alltoall_block(NVSHMEM_TEAM_WORLD, out, source, count);
    out += count * n;
    nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, out, source, count * n);
    out += count * n;
    if (threadIdx.x < 32) nvshmemx_int_max_reduce_warp(NVSHMEM_TEAM_WORLD, out, source, count);
    out += count;
    if (threadIdx.x == 0) {
        nvshmem_int32_xor_reduce(NVSHMEM_TEAM_WORLD, out, source, count);
        nvshmem_barrier_all();
    }
}

// A ring all-reduce that checks itself: PE p begins with (p + 1) * (i + 1) everywhere.
extern "C" __global__ void fill(unsigned* data, int piece) {
    const int count = piece * nvshmem_n_pes();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        data[i] = (nvshmem_my_pe() + 1u) * (i + 1u);
}
extern "C" __global__ void differences(const unsigned* data, int piece, unsigned* different) {
    const unsigned n = nvshmem_n_pes(), sum = n * (n + 1) / 2;
    const int count = piece * nvshmem_n_pes();
    unsigned wrong = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) wrong += data[i] != sum * (i + 1u);
    if (wrong) atomicAdd(different, wrong);
}

// ---- what fence and quiet order (tests/nvshmem/order_test.cpp). PE 0 does `kind` to PE 1, then `sync`, then raises a flag
// at PE `told`; that one waits for the flag. What it then sees, or PE 0 at once for what it fetches, goes to out[0].
enum { store, put, put_nbi, amo, amo_nbi, get_nbi, fetched_nbi };
enum { nothing, fence, quiet };
static __device__ void order(int sync) {
    if (sync == fence) nvshmem_fence();
    if (sync == quiet) nvshmem_quiet();
}
extern "C" __global__ void cell(int kind, int sync, uint64_t* data, uint64_t* flag, uint64_t* out, int told, int fencer) {
    const int me = nvshmem_my_pe();
    volatile uint64_t* seen = out;
    if (me == 0) {
        if (threadIdx.x == 0) {
            out[1] = 0;
            out[2] = 7;
            if (kind == store) nvshmem_uint64_p(data, 7, 1);
            if (kind == put) nvshmem_uint64_put(data, out + 2, 1, 1);
            if (kind == put_nbi) nvshmem_uint64_put_nbi(data, out + 2, 1, 1);
            if (kind == amo) nvshmem_uint64_atomic_add(data, 7, 1);
            if (kind == amo_nbi || kind == fetched_nbi) nvshmem_uint64_atomic_fetch_add_nbi(out + 1, data, 7, 1);
            if (kind == get_nbi) nvshmem_uint64_get_nbi(out + 1, data + 1, 1, 1);
        }
        __syncthreads();
        if (threadIdx.x == fencer) {
            order(sync);
            if (kind == get_nbi || kind == fetched_nbi)
                seen[0] = seen[1];
            else
                nvshmem_uint64_p(flag, 1, told);
            nvshmem_quiet();
        }
    } else if (me == told && kind != get_nbi && kind != fetched_nbi && threadIdx.x == 0) {
        nvshmem_uint64_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        seen[0] = nvshmem_uint64_g(data, 1);
    }
}
// Over InfiniBand, what is complete is visible at its PE only: PE 0 puts to PE 1, and PE 2, then PE 1, is told so.
extern "C" __global__ void third(uint64_t* data, uint64_t* flag, uint64_t* out) {
    const int me = nvshmem_my_pe();
    if (me == 0) {
        nvshmem_uint64_p(data, 7, 1);
        nvshmem_quiet();
        nvshmem_uint64_p(flag, 1, 2);
    } else {
        nvshmem_uint64_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        *out = nvshmem_uint64_g(data, 1);
        if (me == 2) nvshmem_uint64_p(flag, 1, 1);
    }
}
// A put that nobody waits for.
extern "C" __global__ void only_put(uint64_t* data, uint64_t* source) {
    if (nvshmem_my_pe() == 0) {
        source[0] = 7;
        nvshmem_uint64_put_nbi(data, source, 1, 1);
    }
}

// ---- the examples that the specification of OpenSHMEM has for fence, quiet and a broadcast in a ring, in own words
// Two puts each to PE 1 and PE 2: the second to a PE is never there before the first.
extern "C" __global__ void fence_example(long* dest, int* target, const long* source, long* seen, int rounds) {
    const int me = nvshmem_my_pe();
    if (me == 0) {
        for (int r = 1; r <= rounds; ++r) {
            nvshmem_long_put(dest, source + 4 * r, 4, 1);
            nvshmem_long_put(dest, source + 4 * r, 4, 2);
            nvshmem_fence();
            nvshmem_int_p(target, r, 1);
            nvshmem_int_p(target, r, 2);
            nvshmem_int_wait_until(target, NVSHMEM_CMP_GE, 2 * r);
        }
    } else if (me < 3) {
        for (int r = 1; r <= rounds; ++r) {
            nvshmem_int_wait_until(target, NVSHMEM_CMP_EQ, r);
            for (int i = 0; i < 4; ++i) seen[4 * r + i] = nvshmem_long_g(dest + i, me);
            nvshmem_int_atomic_inc(target, 0);
        }
    }
}
// Puts to all others, quiet, and a word to one of them, which looks at what the others have.
extern "C" __global__ void quiet_example(int* dest, int* flag, int* wrong) {
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    if (me == 0) {
        for (int pe = 1; pe < n; ++pe) nvshmem_int_p(dest, 90 + pe, pe);
        nvshmem_quiet();
        nvshmem_int_p(flag, 1, n - 1);
    } else if (me == n - 1) {
        nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        for (int pe = 1; pe < n; ++pe) *wrong += nvshmem_int_g(dest, pe) != 90 + pe;
    }
}
// From neighbour to neighbour: the data, and behind a fence the word that says so.
extern "C" __global__ void ring_broadcast(int* data, int count, uint64_t* ready, int root) {
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes(), next = (me + 1) % n;
    if (me != root) nvshmem_signal_wait_until(ready, NVSHMEM_CMP_EQ, 1);
    if (next != root) {
        nvshmem_int_put(data, data, count, next);
        nvshmem_fence();
        nvshmem_uint64_p(ready, 1, next);
    }
}
