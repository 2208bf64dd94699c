/* SPDX-License-Identifier: Apache-2.0 */
/* The NVSHMEM API on the host and in streams: names and types, as its documentation has them. A PE
 * is a thread of the program that has said which GPU is its own (emu/nvshmem/host.hpp). Pointers of
 * nvshmem_malloc() are addresses of the emulated GPUs: the host reaches them by these functions
 * only. `source` of a put and `dest` of a get may be memory of the program. */
#ifndef SASSEMU_NVSHMEM_HOST_API_H
#define SASSEMU_NVSHMEM_HOST_API_H

#include "sassemu_nvshmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream of the emulator's: stream_handle() of emu/nvshmem/host.hpp; 0: the default stream. */
typedef struct CUstream_st* cudaStream_t;

typedef struct {
    int version;
    char internal[124];
} nvshmemx_uniqueid_t;
typedef struct {
    int version;
    nvshmemx_uniqueid_t id;
    int rank, nranks;
} nvshmemx_init_attr_t;
#define NVSHMEMX_UNIQUEID_INITIALIZER \
    {                                 \
        1, { 0 }                      \
    }
#define NVSHMEMX_INIT_ATTR_INITIALIZER \
    { 1, NVSHMEMX_UNIQUEID_INITIALIZER, 0, 0 }
#define NVSHMEMX_INIT_WITH_UNIQUEID (1 << 3)
enum {
    NVSHMEM_STATUS_NOT_INITIALIZED,
    NVSHMEM_STATUS_IS_BOOTSTRAPPED,
    NVSHMEM_STATUS_IS_INITIALIZED
};

void nvshmem_init(void);
void nvshmem_finalize(void);
int nvshmemx_init_status(void);
int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t* id);
int nvshmemx_set_attr_uniqueid_args(int rank, int nranks, const nvshmemx_uniqueid_t* id,
                                    nvshmemx_init_attr_t* attr);
int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t* attr);

int nvshmem_my_pe(void);
int nvshmem_n_pes(void);
int nvshmem_team_my_pe(nvshmem_team_t team);
int nvshmem_team_n_pes(nvshmem_team_t team);
int nvshmem_team_translate_pe(nvshmem_team_t from, int pe, nvshmem_team_t to);

void* nvshmem_malloc(size_t size);
void* nvshmem_align(size_t alignment, size_t size);
void* nvshmem_calloc(size_t count, size_t size);
void nvshmem_free(void* ptr);
void* nvshmem_ptr(const void* dest, int pe);

void nvshmem_fence(void);
void nvshmem_quiet(void);
void nvshmemx_quiet_on_stream(cudaStream_t stream);

/* X(P, S, A, L): prefix and suffix of the form, what A() adds to its parameters, and what that is
 * called; the host's form, then the stream's. */
#define SASSEMU_PLUS_NONE()
#define SASSEMU_PLUS_NONE_ONLY() void
#define SASSEMU_PLUS_STREAM() , cudaStream_t stream
#define SASSEMU_PLUS_STREAM_ONLY() cudaStream_t stream
#define SASSEMU_HOST_FORMS(X) \
    X(nvshmem, , SASSEMU_PLUS_NONE, 0) X(nvshmemx, _on_stream, SASSEMU_PLUS_STREAM, stream)

/* BODY(call) is ; here and the definition in emu/nvshmem. */
#ifndef SASSEMU_BODY
#define SASSEMU_BODY(last, ...) ;
#define SASSEMU_BODY_INT(last, ...) ;
#define SASSEMU_BODY_OF(...) ;
#endif

#define SASSEMU_HOST_RMA(P, S, A, L, V, B, T, PUTS)                                                \
    void P##V##put##B##S(T* dest, const T* source, size_t n, int pe A()) SASSEMU_BODY(             \
        L, put(dest, source, n* PUTS, pe,                                                          \
               false)) void P##V##put##B##_nbi##S(T* dest, const T* source, size_t n, int pe A())  \
        SASSEMU_BODY(L, put(dest, source, n* PUTS, pe, true)) void P##V##get##B##S(                \
            T* dest, const T* source, size_t n, int pe A())                                        \
            SASSEMU_BODY(L, get(dest, source, n* PUTS, pe, false)) void P##V##get##B##_nbi##S(     \
                T* dest, const T* source, size_t n, int pe A())                                    \
                SASSEMU_BODY(L, get(dest, source, n* PUTS, pe,                                     \
                                    true)) void P##V##put##B##_signal##S(T* dest, const T* source, \
                                                                         size_t n,                 \
                                                                         uint64_t* sig_addr,       \
                                                                         uint64_t signal,          \
                                                                         int sig_op, int pe A())   \
                    SASSEMU_BODY(                                                                  \
                        L, put(dest, source, n* PUTS, pe, false, sig_addr, signal,                 \
                               sig_op)) void P##V##put##B##_signal_nbi##S(T* dest,                 \
                                                                          const T* source,         \
                                                                          size_t n,                \
                                                                          uint64_t* sig_addr,      \
                                                                          uint64_t signal,         \
                                                                          int sig_op, int pe A())  \
                        SASSEMU_BODY(                                                              \
                            L, put(dest, source, n* PUTS, pe, true, sig_addr, signal, sig_op))
#define SASSEMU_HOST_STRIDED(P, S, A, L, V, B, T)                                           \
    void P##V##iput##B##S(T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t n, \
                          int pe A())                                                       \
        SASSEMU_BODY(L, iput(dest, source, dst, sst, n, pe)) void P##V##iget##B##S(         \
            T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe A())   \
            SASSEMU_BODY(L, iget(dest, source, dst, sst, n, pe))
#define SASSEMU_HOST_MEM(P, S, A, L)                                                               \
    SASSEMU_HOST_RMA(P, S, A, L, _, mem, void, 1)                                                  \
    int P##_barrier##S(nvshmem_team_t team A()) SASSEMU_BODY_INT(                                  \
        L, barrier(team)) void P##_barrier_all##S(A##_ONLY())                                      \
        SASSEMU_BODY(L, barrier(NVSHMEM_TEAM_WORLD)) int P##_team_sync##S(                         \
            nvshmem_team_t team                                                                    \
                A()) SASSEMU_BODY_INT(L, sync(team)) int P##_sync##S(nvshmem_team_t team A())      \
            SASSEMU_BODY_INT(L, sync(team)) void P##_sync_all##S(A##_ONLY()) SASSEMU_BODY(         \
                L, sync(NVSHMEM_TEAM_WORLD)) int P##_broadcastmem##S(nvshmem_team_t team,          \
                                                                     void* dest,                   \
                                                                     const void* source, size_t n, \
                                                                     int root A())                 \
                SASSEMU_BODY_INT(                                                                  \
                    L, broadcast(team, dest, source, n,                                            \
                                 root)) int P##_fcollectmem##S(nvshmem_team_t team, void* dest,    \
                                                               const void* source, size_t n A())   \
                    SASSEMU_BODY_INT(L, fcollect(team, dest, source, n)) int P##_alltoallmem##S(   \
                        nvshmem_team_t team, void* dest, const void* source, size_t n A())         \
                        SASSEMU_BODY_INT(L, alltoall(team, dest, source, n))
SASSEMU_HOST_FORMS(SASSEMU_HOST_MEM)

#define SASSEMU_HOST_TYPED1(P, S, A, L, NAME, T)                                                  \
    SASSEMU_HOST_RMA(P, S, A, L, _##NAME##_, , T, sizeof(T))                                      \
    SASSEMU_HOST_STRIDED(P, S, A, L, _##NAME##_, , T)                                             \
    void P##_##NAME##_p##S(T* dest, T value, int pe A())                                          \
        SASSEMU_BODY(L, p(dest, value, pe)) int P##_##NAME##_broadcast##S(                        \
            nvshmem_team_t team, T* dest, const T* source, size_t n, int root A())                \
            SASSEMU_BODY_INT(                                                                     \
                L, broadcast(team, dest, source, n * sizeof(T),                                   \
                             root)) int P##_##NAME##_fcollect##S(nvshmem_team_t team, T* dest,    \
                                                                 const T* source, size_t n A())   \
                SASSEMU_BODY_INT(                                                                 \
                    L, fcollect(team, dest, source,                                               \
                                n * sizeof(T))) int P##_##NAME##_alltoall##S(nvshmem_team_t team, \
                                                                             T* dest,             \
                                                                             const T* source,     \
                                                                             size_t n A())        \
                    SASSEMU_BODY_INT(L, alltoall(team, dest, source, n * sizeof(T)))
#define SASSEMU_HOST_TYPED(NAME, T)                                                 \
    SASSEMU_HOST_TYPED1(nvshmem, , SASSEMU_PLUS_NONE, 0, NAME, T)                   \
    SASSEMU_HOST_TYPED1(nvshmemx, _on_stream, SASSEMU_PLUS_STREAM, stream, NAME, T) \
    T nvshmem_##NAME##_g(const T* source, int pe) SASSEMU_BODY_OF(g(source, pe))
SASSEMU_NVSHMEM_RMA_TYPES(SASSEMU_HOST_TYPED)

#define SASSEMU_HOST_SIZED1(P, S, A, L, NAME, T)           \
    SASSEMU_HOST_RMA(P, S, A, L, _, NAME, void, sizeof(T)) \
    SASSEMU_HOST_STRIDED(P, S, A, L, _, NAME, T)
#define SASSEMU_HOST_SIZED(NAME, T)                               \
    SASSEMU_HOST_SIZED1(nvshmem, , SASSEMU_PLUS_NONE, 0, NAME, T) \
    SASSEMU_HOST_SIZED1(nvshmemx, _on_stream, SASSEMU_PLUS_STREAM, stream, NAME, T)
SASSEMU_NVSHMEM_BIT_SIZES(SASSEMU_HOST_SIZED)

#define SASSEMU_HOST_REDUCE1(P, S, A, L, NAME, T, VERB, HOW)                           \
    int P##_##NAME##_##VERB##_reduce##S(nvshmem_team_t team, T* dest, const T* source, \
                                        size_t n A())                                  \
        SASSEMU_BODY_INT(                                                              \
            L, reduce(team, dest, source, n, [](T a, T b) { return static_cast<T>(HOW); }))
#define SASSEMU_HOST_REDUCE(NAME, T, VERB, HOW)                               \
    SASSEMU_HOST_REDUCE1(nvshmem, , SASSEMU_PLUS_NONE, 0, NAME, T, VERB, HOW) \
    SASSEMU_HOST_REDUCE1(nvshmemx, _on_stream, SASSEMU_PLUS_STREAM, stream, NAME, T, VERB, HOW)
#define SASSEMU_HOST_BITWISE(NAME, T)       \
    SASSEMU_HOST_REDUCE(NAME, T, and, a& b) \
    SASSEMU_HOST_REDUCE(NAME, T, or, a | b) SASSEMU_HOST_REDUCE(NAME, T, xor, a ^ b)
SASSEMU_NVSHMEM_BITWISE_REDUCE_TYPES(SASSEMU_HOST_BITWISE)
#define SASSEMU_HOST_ARITHMETIC(NAME, T)                       \
    SASSEMU_HOST_REDUCE(NAME, T, min, b < a || a != a ? b : a) \
    SASSEMU_HOST_REDUCE(NAME, T, max, b > a || a != a ? b : a) \
    SASSEMU_HOST_REDUCE(NAME, T, sum, a + b) SASSEMU_HOST_REDUCE(NAME, T, prod, a* b)
SASSEMU_NVSHMEM_REDUCE_TYPES(SASSEMU_HOST_ARITHMETIC)

/* Atomics, by the host only. */
#define SASSEMU_HOST_AMO1(NAME, T, VERB, OP)                      \
    void nvshmem_##NAME##_atomic_##VERB(T* dest, T value, int pe) \
        SASSEMU_BODY(0, change(SASSEMU_NVSHMEM_##OP, dest, value, pe))
#define SASSEMU_HOST_FETCH1(NAME, T, VERB, OP)                                                     \
    T nvshmem_##NAME##_atomic_##VERB(T* dest, T value, int pe) SASSEMU_BODY_OF(                    \
        fetch(SASSEMU_NVSHMEM_##OP, dest, value,                                                   \
              pe)) void nvshmem_##NAME##_atomic_##VERB##_nbi(T* fetched, T* dest, T value, int pe) \
        SASSEMU_BODY(0, fetch_nbi(SASSEMU_NVSHMEM_##OP, fetched, dest, value, pe))
#define SASSEMU_HOST_AMO(NAME, T)                                                            \
    SASSEMU_HOST_AMO1(NAME, T, add, ADD)                                                     \
    SASSEMU_HOST_FETCH1(NAME, T, fetch_add, ADD)                                             \
    void nvshmem_##NAME##_atomic_inc(T* dest, int pe)                                        \
        SASSEMU_BODY(0, change(SASSEMU_NVSHMEM_ADD, dest, static_cast<T>(1), pe))            \
            T nvshmem_##NAME##_atomic_fetch_inc(T* dest, int pe)                             \
                SASSEMU_BODY_OF(fetch(SASSEMU_NVSHMEM_ADD, dest, static_cast<T>(1), pe))     \
                    T nvshmem_##NAME##_atomic_compare_swap(T* dest, T cond, T value, int pe) \
                        SASSEMU_BODY_OF(fetch(SASSEMU_NVSHMEM_COMPARE, dest, value, pe, cond))
SASSEMU_NVSHMEM_AMO_TYPES(SASSEMU_HOST_AMO)
#define SASSEMU_HOST_EXTENDED(NAME, T)       \
    SASSEMU_HOST_AMO1(NAME, T, set, SWAP)    \
    SASSEMU_HOST_FETCH1(NAME, T, swap, SWAP) \
    T nvshmem_##NAME##_atomic_fetch(const T* source, int pe) SASSEMU_BODY_OF(fetch_only(source, pe))
SASSEMU_NVSHMEM_EXTENDED_AMO_TYPES(SASSEMU_HOST_EXTENDED)
#define SASSEMU_HOST_BITS(NAME, T)               \
    SASSEMU_HOST_AMO1(NAME, T, and, AND)         \
    SASSEMU_HOST_AMO1(NAME, T, or, OR)           \
    SASSEMU_HOST_AMO1(NAME, T, xor, XOR)         \
    SASSEMU_HOST_FETCH1(NAME, T, fetch_and, AND) \
    SASSEMU_HOST_FETCH1(NAME, T, fetch_or, OR)   \
    SASSEMU_HOST_FETCH1(NAME, T, fetch_xor, XOR)
SASSEMU_NVSHMEM_BITWISE_AMO_TYPES(SASSEMU_HOST_BITS)

/* Signals and waits. */
void nvshmemx_signal_op(uint64_t* sig_addr, uint64_t signal, int sig_op, int pe)
    SASSEMU_BODY(0, signal_op(sig_addr, signal, sig_op, pe)) void nvshmemx_signal_op_on_stream(
        uint64_t* sig_addr, uint64_t signal, int sig_op, int pe, cudaStream_t stream)
        SASSEMU_BODY(stream, signal_op(sig_addr, signal, sig_op, pe)) uint64_t
    nvshmem_signal_fetch(const uint64_t* sig_addr) SASSEMU_BODY_OF(value_at(sig_addr)) uint64_t
    nvshmem_signal_wait_until(uint64_t* sig_addr, int cmp, uint64_t cmp_value) SASSEMU_BODY_OF(
        value_once(sig_addr, cmp,
                   cmp_value)) void nvshmemx_signal_wait_until_on_stream(uint64_t* sig_addr,
                                                                         int cmp,
                                                                         uint64_t cmp_value,
                                                                         cudaStream_t stream)
        SASSEMU_BODY(stream, wait_until(sig_addr, 1, nullptr, cmp, cmp_value, true))
#define SASSEMU_HOST_WAIT(NAME, T)                                                                 \
    void nvshmem_##NAME##_wait_until(T* ivar, int cmp, T cmp_value) SASSEMU_BODY(                  \
        0, wait_until(ivar, 1, nullptr, cmp, cmp_value,                                            \
                      true)) void nvshmemx_##NAME##_wait_until_on_stream(T* ivar, int cmp,         \
                                                                         T cmp_value,              \
                                                                         cudaStream_t stream)      \
        SASSEMU_BODY(stream,                                                                       \
                     wait_until(ivar, 1, nullptr, cmp, cmp_value,                                  \
                                true)) void nvshmem_##NAME##_wait_until_all(T* ivars, size_t n,    \
                                                                            const int* status,     \
                                                                            int cmp, T cmp_value)  \
            SASSEMU_BODY(0, wait_until(ivars, n, status, cmp, cmp_value, true)) void               \
                nvshmemx_##NAME##_wait_until_all_on_stream(                                        \
                    T* ivars, size_t n, const int* status, int cmp, T cmp_value,                   \
                    cudaStream_t stream) SASSEMU_BODY(stream, wait_until(ivars, n, status, cmp,    \
                                                                         cmp_value, true))         \
                    size_t nvshmem_##NAME##_wait_until_any(                                        \
                        T* ivars, size_t n, const int* status, int cmp,                            \
                        T cmp_value) SASSEMU_BODY_OF(any_of(ivars, n, status, cmp, cmp_value,      \
                                                            true))                                 \
                        size_t nvshmem_##NAME##_wait_until_some(                                   \
                            T* ivars, size_t n, size_t* indices, const int* status, int cmp,       \
                            T cmp_value)                                                           \
                            SASSEMU_BODY_OF(some_of(                                               \
                                ivars, n, indices, status, cmp, cmp_value,                         \
                                true)) int nvshmem_##NAME##_test(T* ivar, int cmp, T cmp_value)    \
                                SASSEMU_BODY_OF(all_of(                                            \
                                    ivar, 1, nullptr, cmp,                                         \
                                    cmp_value)) int nvshmem_##NAME##_test_all(T* ivars, size_t n,  \
                                                                              const int* status,   \
                                                                              int cmp,             \
                                                                              T cmp_value)         \
                                    SASSEMU_BODY_OF(all_of(ivars, n, status, cmp, cmp_value))      \
                                        size_t nvshmem_##NAME##_test_any(                          \
                                            T* ivars, size_t n, const int* status, int cmp,        \
                                            T cmp_value) SASSEMU_BODY_OF(any_of(ivars, n, status,  \
                                                                                cmp, cmp_value,    \
                                                                                false))            \
                                            size_t nvshmem_##NAME##_test_some(                     \
                                                T* ivars, size_t n, size_t* indices,               \
                                                const int* status, int cmp, T cmp_value)           \
                                                SASSEMU_BODY_OF(some_of(ivars, n, indices, status, \
                                                                        cmp, cmp_value, false))
            SASSEMU_NVSHMEM_WAIT_TYPES(SASSEMU_HOST_WAIT)

#ifdef __cplusplus
}
#endif

#endif
