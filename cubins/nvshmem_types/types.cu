// The NVSHMEM API in every type and form, a kernel for each family of functions; `which` is the type's place in the list of
// types. Every PE works on the next one; what must come out is computed in tests/nvshmem.
// nvcc: -Invshmem_headers
// archs: sm_90
#include <nvshmem.h>
#include <nvshmemx.h>

// to + f * count: where form f puts, or gets, its `count` elements. A and B are what stands before and behind the verb.
#define RMA(NAME, A, B, T)                                                                                        \
    static __device__ __noinline__ void rma_##NAME(T* to, const T* source, uint64_t* signals, int count) {                 \
        const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();                                                 \
        const bool one = threadIdx.x == 0, warp = threadIdx.x < 32;                                               \
        if (one) nvshmem##A##put##B(to, source, count, next);                                                     \
        if (one) nvshmem##A##put##B##_nbi(to + count, source, count, next);                                       \
        if (warp) nvshmemx##A##put##B##_warp(to + 2 * count, source, count, next);                                \
        if (warp) nvshmemx##A##put##B##_nbi_warp(to + 3 * count, source, count, next);                            \
        nvshmemx##A##put##B##_block(to + 4 * count, source, count, next);                                         \
        nvshmemx##A##put##B##_nbi_block(to + 5 * count, source, count, next);                                     \
        if (one) nvshmem##A##put##B##_signal(to + 6 * count, source, count, signals, 1, NVSHMEM_SIGNAL_ADD, next); \
        if (one) nvshmem##A##put##B##_signal_nbi(to + 7 * count, source, count, signals, 2, NVSHMEM_SIGNAL_ADD, next); \
        if (warp) nvshmemx##A##put##B##_signal_warp(to + 8 * count, source, count, signals, 4, NVSHMEM_SIGNAL_ADD, next); \
        if (warp) nvshmemx##A##put##B##_signal_nbi_warp(to + 9 * count, source, count, signals, 8, NVSHMEM_SIGNAL_ADD, next); \
        nvshmemx##A##put##B##_signal_block(to + 10 * count, source, count, signals, 16, NVSHMEM_SIGNAL_ADD, next); \
        nvshmemx##A##put##B##_signal_nbi_block(to + 11 * count, source, count, signals + 1, 5, NVSHMEM_SIGNAL_SET, next); \
        if (one) nvshmem##A##iput##B(to + 12 * count, source, 2, 3, count / 4, next);                             \
        if (warp) nvshmemx##A##iput##B##_warp(to + 13 * count, source, 3, 2, count / 4, next);                    \
        nvshmemx##A##iput##B##_block(to + 14 * count, source, 1, 4, count / 4, next);                             \
        to += 15 * count;                                                                                         \
        if (one) nvshmem##A##get##B(to, source, count, next);                                                     \
        if (one) nvshmem##A##get##B##_nbi(to + count, source, count, next);                                       \
        if (warp) nvshmemx##A##get##B##_warp(to + 2 * count, source, count, next);                                \
        if (warp) nvshmemx##A##get##B##_nbi_warp(to + 3 * count, source, count, next);                            \
        nvshmemx##A##get##B##_block(to + 4 * count, source, count, next);                                         \
        nvshmemx##A##get##B##_nbi_block(to + 5 * count, source, count, next);                                     \
        if (one) nvshmem##A##iget##B(to + 6 * count, source, 2, 3, count / 4, next);                              \
        if (warp) nvshmemx##A##iget##B##_warp(to + 7 * count, source, 3, 2, count / 4, next);                     \
        nvshmemx##A##iget##B##_block(to + 8 * count, source, 1, 4, count / 4, next);                              \
        nvshmemx_barrier_all_block();                                                                             \
    }
#define P_AND_G(NAME, T)                                                                      \
    static __device__ __noinline__ void pg_##NAME(T* to, const T* source, uint64_t*, int count) {      \
        const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();                             \
        for (int i = threadIdx.x; i < count; i += blockDim.x) {                               \
            nvshmem_##NAME##_p(to + i, source[i], next);                                      \
            to[count + i] = nvshmem_##NAME##_g(source + i, next);                             \
        }                                                                                     \
        nvshmemx_barrier_all_block();                                                         \
    }
#define TYPED(NAME, T) RMA(NAME, _##NAME##_, , T) P_AND_G(NAME, T)
SASSEMU_NVSHMEM_RMA_TYPES(TYPED)
#define SIZED(NAME, T) RMA(NAME, _, NAME, T)
SASSEMU_NVSHMEM_BIT_SIZES(SIZED)
// Bytes have no strided forms.
#define nvshmem_iputmem(...)
#define nvshmemx_iputmem_warp(...)
#define nvshmemx_iputmem_block(...)
#define nvshmem_igetmem(...)
#define nvshmemx_igetmem_warp(...)
#define nvshmemx_igetmem_block(...)
RMA(mem, _, mem, char)

// Collectives of a type, by a thread, a warp and a CTA.
#define COLLECTIVES(NAME, T)                                                                              \
    static __device__ __noinline__ void collectives_##NAME(T* to, const T* source, uint64_t*, int count) {         \
        const int n = nvshmem_n_pes();                                                                    \
        if (threadIdx.x == 0) nvshmem_##NAME##_broadcast(NVSHMEM_TEAM_WORLD, to, source, count, 1 % n);   \
        if (threadIdx.x < 32)                                                                             \
            nvshmemx_##NAME##_fcollect_warp(NVSHMEM_TEAM_WORLD, to + count, source, count);               \
        __syncthreads();                                                                                  \
        nvshmemx_##NAME##_alltoall_block(NVSHMEM_TEAM_WORLD, to + count + n * count, source, count);      \
    }
SASSEMU_NVSHMEM_RMA_TYPES(COLLECTIVES)
#define REDUCE(NAME, T)                                                                                 \
    static __device__ __noinline__ void reduce_##NAME(T* to, const T* source, uint64_t*, int count) {            \
        if (threadIdx.x == 0) nvshmem_##NAME##_min_reduce(NVSHMEM_TEAM_WORLD, to, source, count);       \
        if (threadIdx.x < 32)                                                                           \
            nvshmemx_##NAME##_max_reduce_warp(NVSHMEM_TEAM_WORLD, to + count, source, count);           \
        __syncthreads();                                                                                \
        nvshmemx_##NAME##_sum_reduce_block(NVSHMEM_TEAM_WORLD, to + 2 * count, source, count);          \
        nvshmemx_##NAME##_prod_reduce_block(NVSHMEM_TEAM_WORLD, to + 3 * count, source, count);         \
    }
SASSEMU_NVSHMEM_REDUCE_TYPES(REDUCE)
#define BITWISE(NAME, T)                                                                                \
    static __device__ __noinline__ void bitwise_##NAME(T* to, const T* source, uint64_t*, int count) {           \
        if (threadIdx.x == 0) nvshmem_##NAME##_and_reduce(NVSHMEM_TEAM_WORLD, to, source, count);       \
        if (threadIdx.x < 32)                                                                           \
            nvshmemx_##NAME##_or_reduce_warp(NVSHMEM_TEAM_WORLD, to + count, source, count);            \
        __syncthreads();                                                                                \
        nvshmemx_##NAME##_xor_reduce_block(NVSHMEM_TEAM_WORLD, to + 2 * count, source, count);          \
    }
SASSEMU_NVSHMEM_BITWISE_REDUCE_TYPES(BITWISE)

// to[0]: the word that the PE before works on; to + 1: what it fetched, in order; all words are 0 at first.
#define AMO(NAME, T)                                                                         \
    static __device__ __noinline__ void amo_##NAME(T* to, const T*, uint64_t*, int) {                 \
        const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();                            \
        T* got = to + 1;                                                                     \
        nvshmem_##NAME##_atomic_add(to, (T)(5), next);                                         \
        *got++ = nvshmem_##NAME##_atomic_fetch_add(to, (T)(7), next);              /* 5 */     \
        nvshmem_##NAME##_atomic_inc(to, next);                                               \
        *got++ = nvshmem_##NAME##_atomic_fetch_inc(to, next);                    /* 13 */    \
        *got++ = nvshmem_##NAME##_atomic_compare_swap(to, (T)(14), (T)(20), next);   /* 14 */    \
        *got++ = nvshmem_##NAME##_atomic_compare_swap(to, (T)(14), (T)(30), next);   /* 20 */    \
        nvshmem_##NAME##_atomic_fetch_add_nbi(got++, to, (T)(2), next);            /* 20 */    \
        nvshmem_##NAME##_atomic_fetch_inc_nbi(got++, to, next);                  /* 22 */    \
        nvshmem_##NAME##_atomic_compare_swap_nbi(got++, to, (T)(23), (T)(40), next); /* 23 */    \
        nvshmem_quiet();                                                                     \
        nvshmem_barrier_all();                                                               \
    }
SASSEMU_NVSHMEM_AMO_TYPES(AMO)
#define EXTENDED(NAME, T)                                                                    \
    static __device__ __noinline__ void extended_##NAME(T* to, const T*, uint64_t*, int) {            \
        const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();                            \
        T* got = to + 1;                                                                     \
        nvshmem_##NAME##_atomic_set(to, (T)(9), next);                                         \
        *got++ = nvshmem_##NAME##_atomic_fetch(to, next);            /* 9 */                 \
        *got++ = nvshmem_##NAME##_atomic_swap(to, (T)(11), next);      /* 9 */                 \
        nvshmem_##NAME##_atomic_swap_nbi(got++, to, (T)(12), next);    /* 11 */                \
        nvshmem_##NAME##_atomic_fetch_nbi(got++, to, next);          /* 12 */                \
        nvshmem_quiet();                                                                     \
        nvshmem_barrier_all();                                                               \
    }
SASSEMU_NVSHMEM_EXTENDED_AMO_TYPES(EXTENDED)
#define BITS(NAME, T)                                                                        \
    static __device__ __noinline__ void bits_##NAME(T* to, const T*, uint64_t*, int) {                \
        const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();                            \
        T* got = to + 1;                                                                     \
        nvshmem_##NAME##_atomic_or(to, (T)(15), next);                                         \
        nvshmem_##NAME##_atomic_and(to, (T)(6), next);                                         \
        nvshmem_##NAME##_atomic_xor(to, (T)(3), next);                                         \
        *got++ = nvshmem_##NAME##_atomic_fetch_or(to, (T)(8), next);          /* 5 */          \
        *got++ = nvshmem_##NAME##_atomic_fetch_and(to, (T)(9), next);         /* 13 */         \
        *got++ = nvshmem_##NAME##_atomic_fetch_xor(to, (T)(1), next);         /* 9 */          \
        nvshmem_##NAME##_atomic_fetch_or_nbi(got++, to, (T)(3), next);        /* 8 */          \
        nvshmem_##NAME##_atomic_fetch_and_nbi(got++, to, (T)(10), next);      /* 11 */         \
        nvshmem_##NAME##_atomic_fetch_xor_nbi(got++, to, (T)(1), next);       /* 10 */         \
        nvshmem_quiet();                                                                     \
        nvshmem_barrier_all();                                                               \
    }
SASSEMU_NVSHMEM_BITWISE_AMO_TYPES(BITS)

// words: `count` words that the PE before writes, word i gets i + 1, the last first; got: what the waits say.
#define WAITS(NAME, T)                                                                                               \
    static __device__ __noinline__ void waits_##NAME(T* words, const T* status_bytes, uint64_t* got_words, int count) {                         \
        const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();                                                    \
        auto* got = reinterpret_cast<size_t*>(got_words);                                                            \
        auto* status = reinterpret_cast<int*>(const_cast<T*>(status_bytes));                                         \
        __shared__ T want[64];                                                                                       \
        if (threadIdx.x < 64) want[threadIdx.x] = (T)(threadIdx.x + 1);                                                \
        __syncthreads();                                                                                             \
        if (threadIdx.x) return;                                                                                     \
        got[0] = nvshmem_##NAME##_test(words, NVSHMEM_CMP_LT, (T)(0));                                                 \
        got[1] = nvshmem_##NAME##_test_all(words, 0, nullptr, NVSHMEM_CMP_EQ, (T)(9));                                 \
        got[2] = nvshmem_##NAME##_test_any(words, count, nullptr, NVSHMEM_CMP_GT, (T)(200)) == SIZE_MAX;               \
        got[3] = nvshmem_##NAME##_test_some(words, count, got + 20, nullptr, NVSHMEM_CMP_GE, (T)(200));                \
        nvshmem_sync_all();                                                                                          \
        for (int i = count; i-- > 0;) nvshmem_##NAME##_p(words + i, (T)(i + 1), next);                                 \
        got[4] = nvshmem_##NAME##_wait_until_any(words, count, nullptr, NVSHMEM_CMP_NE, (T)(0)) < size_t(count);       \
        status[0] = 1; /* leaves out the first */                                                                    \
        got[5] = nvshmem_##NAME##_wait_until_some(words, count, got + 20, status, NVSHMEM_CMP_NE, (T)(0)) >= 1;        \
        got[6] = got[20] != 0;                                                                                       \
        nvshmem_##NAME##_wait_until_all_vector(words, count, nullptr, NVSHMEM_CMP_EQ, want);                         \
        nvshmem_##NAME##_wait_until_all(words, count, nullptr, NVSHMEM_CMP_GE, (T)(1));                                \
        nvshmem_##NAME##_wait_until(words + count - 1, NVSHMEM_CMP_EQ, (T)(count));                                    \
        got[7] = nvshmem_##NAME##_wait_until_any_vector(words, count, status, NVSHMEM_CMP_EQ, want);                 \
        got[8] = nvshmem_##NAME##_wait_until_some_vector(words, count, got + 20, status, NVSHMEM_CMP_LE, want);      \
        got[9] = nvshmem_##NAME##_test_all_vector(words, count, nullptr, NVSHMEM_CMP_EQ, want);                      \
        got[10] = nvshmem_##NAME##_test_any_vector(words, count, status, NVSHMEM_CMP_EQ, want);                      \
        got[11] = nvshmem_##NAME##_test_some_vector(words, count, got + 20, nullptr, NVSHMEM_CMP_EQ, want);          \
        got[12] = nvshmem_##NAME##_test_all(words, count, nullptr, NVSHMEM_CMP_GT, (T)(1));                            \
        got[13] = nvshmem_##NAME##_wait_until_any(words, 0, nullptr, NVSHMEM_CMP_EQ, (T)(9)) == SIZE_MAX;              \
        got[14] = nvshmem_##NAME##_test_any(words, count, nullptr, NVSHMEM_CMP_GT, (T)(count - 1));                    \
        got[15] = nvshmem_##NAME##_test_some(words, count, got + 20, nullptr, NVSHMEM_CMP_LE, (T)(2));                 \
        nvshmem_barrier_all();                                                                                       \
    }
SASSEMU_NVSHMEM_WAIT_TYPES(WAITS)

// One kernel for a list of types.
#define CASE_OF(FAMILY, NAME, T)                                                                          \
    if (which == at++)                                                                                    \
        FAMILY##_##NAME(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(source), signals, count);
#define KERNEL(FAMILY, CASES)                                                                             \
    extern "C" __global__ void FAMILY(int which, char* to, const char* source, uint64_t* signals, int count) { \
        int at = 0;                                                                                       \
        CASES                                                                                             \
    }
#define RMA_CASE(NAME, T) CASE_OF(rma, NAME, T)
KERNEL(rma, SASSEMU_NVSHMEM_RMA_TYPES(RMA_CASE) SASSEMU_NVSHMEM_BIT_SIZES(RMA_CASE) RMA_CASE(mem, char))
#define PG_CASE(NAME, T) CASE_OF(pg, NAME, T)
KERNEL(pg, SASSEMU_NVSHMEM_RMA_TYPES(PG_CASE))
#define COLLECTIVES_CASE(NAME, T) CASE_OF(collectives, NAME, T)
KERNEL(collectives, SASSEMU_NVSHMEM_RMA_TYPES(COLLECTIVES_CASE))
#define REDUCE_CASE(NAME, T) CASE_OF(reduce, NAME, T)
KERNEL(reduce, SASSEMU_NVSHMEM_REDUCE_TYPES(REDUCE_CASE))
#define BITWISE_CASE(NAME, T) CASE_OF(bitwise, NAME, T)
KERNEL(bitwise, SASSEMU_NVSHMEM_BITWISE_REDUCE_TYPES(BITWISE_CASE))
#define AMO_CASE(NAME, T) CASE_OF(amo, NAME, T)
KERNEL(amo, SASSEMU_NVSHMEM_AMO_TYPES(AMO_CASE))
#define EXTENDED_CASE(NAME, T) CASE_OF(extended, NAME, T)
KERNEL(extended, SASSEMU_NVSHMEM_EXTENDED_AMO_TYPES(EXTENDED_CASE))
#define BITS_CASE(NAME, T) CASE_OF(bits, NAME, T)
KERNEL(bits, SASSEMU_NVSHMEM_BITWISE_AMO_TYPES(BITS_CASE))
#define WAITS_CASE(NAME, T) CASE_OF(waits, NAME, T)
KERNEL(waits, SASSEMU_NVSHMEM_WAIT_TYPES(WAITS_CASE))
