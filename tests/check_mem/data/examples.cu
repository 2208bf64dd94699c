// SPDX-License-Identifier: Apache-2.0
// What the manual of compute-sanitizer shows of its memcheck, initcheck and synccheck, as kernels of our
// own: each correct, and with -DBUG wrong in the one way that its name says. check_test.py runs both.
#include <cstdint>

#ifdef BUG
constexpr int bug = 1;
#else
constexpr int bug = 0;
#endif

// A store of four bytes to an address that is no multiple of four.
extern "C" __global__ void misaligned(char* out, int by) {
    *reinterpret_cast<int*>(out + 4 * threadIdx.x + bug * by) = 1;
}

// The last thread stores behind the end.
extern "C" __global__ void behind_the_end(int* out, int) { out[threadIdx.x + bug] = threadIdx.x; }

// A wild pointer, in a function that a function calls.
__device__ __noinline__ void poke(int* at) { *at = 42; }
__device__ __noinline__ void poke_at(int* out, long long far) { poke(out + threadIdx.x + far * bug); }
extern "C" __global__ void wild_in_a_function(int* out, int by) { poke_at(out, by * 0x10000000ll); }

extern "C" __global__ void behind_shared(int* out, int by) {
    extern __shared__ int tile[];
    tile[threadIdx.x + bug * by * 64 * 1024] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// An index beyond an array that is so large that what lies behind it is no stack any more.
extern "C" __global__ void behind_the_stack(int* out, int by) {
    int all[64];
    for (int i = 0; i < 64; ++i) all[i] = i * by;
    out[threadIdx.x] = all[(threadIdx.x + bug * by * 100000) % (bug ? 1 << 30 : 64)];
}

extern "C" __global__ void leaking_block(int* out, int by) {
    int* block = static_cast<int*>(malloc(64 * by));
    block[0] = threadIdx.x;
    out[threadIdx.x] = block[0];
    if (!bug || threadIdx.x) free(block);
}

extern "C" __global__ void freed_twice(int* out, int by) {
    int* block = static_cast<int*>(malloc(64 * by));
    block[0] = threadIdx.x;
    out[threadIdx.x] = block[0];
    free(block);
    if (bug) free(block);
}

extern "C" __global__ void used_after_free(int* out, int by) {
    volatile int* block = static_cast<volatile int*>(malloc(64 * by));
    block[0] = threadIdx.x;
    if (bug) free(const_cast<int*>(block));
    out[threadIdx.x] = block[0];
    if (!bug) free(const_cast<int*>(block));
}

// A block that nobody has filled.
extern "C" __global__ void unfilled_block(int* out, int by) {
    volatile int* block = static_cast<volatile int*>(malloc(64 * by));
    if (!bug) block[3] = 7;
    out[threadIdx.x] = block[3];
    free(const_cast<int*>(block));
}

// The plan leaves the last quarter of `in` without values.
extern "C" __global__ void partly_filled(int* out, const int* in, int) {
    if (!bug && threadIdx.x >= 48) return;
    out[threadIdx.x] = in[threadIdx.x] + 1;
}

// Half of the tile is filled, all of it is read, as an index.
extern "C" __global__ void unfilled_tile(int* out, int) {
    __shared__ int tile[64];
    if (!bug || threadIdx.x < 32) tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[tile[63 - threadIdx.x] & 63] = 1;
}

// Half of a warp comes to a barrier that is for all.
extern "C" __global__ void divided_barrier(int* out, int) {
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    if (!bug || threadIdx.x % 32 < 16) {
        __syncthreads();
        out[threadIdx.x] = tile[threadIdx.x ^ 1];
    } else {
        __syncthreads();
        out[threadIdx.x] = tile[threadIdx.x];
    }
}

// Some threads wait for others that wait elsewhere for them.
extern "C" __global__ void missed_barrier(int* out, int) {
    if (!bug || threadIdx.x >= 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}

extern "C" __global__ void no_mbarrier(int* out, int) {
    __shared__ alignas(8) uint64_t object;
    const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&object));
    if (threadIdx.x == 0 && !bug)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(at) : "memory");
    if (threadIdx.x == 0 && bug) object = 0xffffffffffffffffull;
    __syncthreads();
    uint64_t state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    out[threadIdx.x] = 1;
}

extern "C" __global__ void mbarrier_made_twice(int* out, int) {
    __shared__ alignas(8) uint64_t object;
    const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&object));
    for (int i = 0; i <= bug; ++i)
        if (threadIdx.x == 0)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(at) : "memory");
    __syncthreads();
    out[threadIdx.x] = 1;
}

// A bulk copy that reads 16 bytes more than there are.
extern "C" __global__ void behind_bulk(int* out, int) {
    __shared__ alignas(128) int tile[128];
    __shared__ alignas(8) uint64_t object;
    const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&object));
    const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
    constexpr int bytes = 256 + 16 * bug;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                     "l"(out), "r"(bytes), "r"(at)
                     : "memory");
    }
    __syncthreads();
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at)
                     : "memory");
    out[threadIdx.x] = tile[threadIdx.x] + 1;
}

// A word of another CTA's shared memory that is not there.
extern "C" __global__ void behind_another(int* out, int by) {
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    uint32_t there;
    const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&tile[threadIdx.x]));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(at));
    int value;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(there + bug * by * 0x80000) : "memory");
    out[threadIdx.x] = value;
}
