/* SPDX-License-Identifier: Apache-2.0 */
/* The NVSHMEM API on the device: names and types, as its documentation has them, over device.h. The
 * lists of types stand in types.h. */
#ifndef SASSEMU_NVSHMEM_DEVICE_API_H
#define SASSEMU_NVSHMEM_DEVICE_API_H

#include "sassemu_nvshmem/device.h"
#include "sassemu_nvshmem/types.h"

#define SASSEMU_DEVICE static inline __device__
#define SASSEMU_NS ::sassemu_nvshmem

/* The forms of a function: of a thread, of a warp, of a CTA. */
#define SASSEMU_GROUPS(X) \
    X(nvshmemx, _warp, SASSEMU_NS::Warp) X(nvshmemx, _block, SASSEMU_NS::Block)
#define SASSEMU_FORMS(X) X(nvshmem, , SASSEMU_NS::Thread) SASSEMU_GROUPS(X)

/* ---- who and where */

SASSEMU_DEVICE int nvshmem_my_pe() { return sassemu_nvshmem_state.my_pe; }
SASSEMU_DEVICE int nvshmem_n_pes() { return sassemu_nvshmem_state.n_pes; }
SASSEMU_DEVICE int nvshmem_team_my_pe(nvshmem_team_t team) {
    const auto* t = SASSEMU_NS::team_of(team);
    return t ? t->me : -1;
}
SASSEMU_DEVICE int nvshmem_team_n_pes(nvshmem_team_t team) {
    const auto* t = SASSEMU_NS::team_of(team);
    return t ? t->size : -1;
}
SASSEMU_DEVICE int nvshmem_team_translate_pe(nvshmem_team_t from, int pe, nvshmem_team_t to) {
    const auto *a = SASSEMU_NS::team_of(from), *b = SASSEMU_NS::team_of(to);
    if (!a || !b || pe < 0 || pe >= a->size) return -1;
    const int far = SASSEMU_NS::pe_of(*a, pe) - b->start;
    return far < 0 || far % b->stride || far / b->stride >= b->size ? -1 : far / b->stride;
}
SASSEMU_DEVICE void* nvshmem_ptr(const void* dest, int pe) {
    return SASSEMU_NS::window(const_cast<void*>(dest), pe);
}

/* ---- put and get of bytes and of elements of a size */

#define SASSEMU_MEM(P, S, G)                                                                      \
    SASSEMU_DEVICE void P##_putmem##S(void* dest, const void* source, size_t bytes, int pe) {     \
        SASSEMU_NS::put<G>(dest, source, bytes, pe, false);                                       \
    }                                                                                             \
    SASSEMU_DEVICE void P##_putmem_nbi##S(void* dest, const void* source, size_t bytes, int pe) { \
        SASSEMU_NS::put<G>(dest, source, bytes, pe, true);                                        \
    }                                                                                             \
    SASSEMU_DEVICE void P##_getmem##S(void* dest, const void* source, size_t bytes, int pe) {     \
        SASSEMU_NS::get<G>(dest, source, bytes, pe, false);                                       \
    }                                                                                             \
    SASSEMU_DEVICE void P##_getmem_nbi##S(void* dest, const void* source, size_t bytes, int pe) { \
        SASSEMU_NS::get<G>(dest, source, bytes, pe, true);                                        \
    }                                                                                             \
    SASSEMU_DEVICE void P##_putmem_signal##S(void* dest, const void* source, size_t bytes,        \
                                             uint64_t* sig_addr, uint64_t signal, int sig_op,     \
                                             int pe) {                                            \
        SASSEMU_NS::put<G>(dest, source, bytes, pe, false, {sig_addr, signal, sig_op});           \
    }                                                                                             \
    SASSEMU_DEVICE void P##_putmem_signal_nbi##S(void* dest, const void* source, size_t bytes,    \
                                                 uint64_t* sig_addr, uint64_t signal, int sig_op, \
                                                 int pe) {                                        \
        SASSEMU_NS::put<G>(dest, source, bytes, pe, true, {sig_addr, signal, sig_op});            \
    }
SASSEMU_FORMS(SASSEMU_MEM)

/* nvshmem_<NAME>_put ... of a type; nvshmem_put<NAME> ... of a size. A and B are what stands before
 * and behind the verb. */
#define SASSEMU_RMA(P, A, B, T, V, S, G)                                                          \
    SASSEMU_DEVICE void P##A##put##B##S(V* dest, const V* source, size_t nelems, int pe) {        \
        SASSEMU_NS::put<G>(dest, source, nelems * sizeof(T), pe, false);                          \
    }                                                                                             \
    SASSEMU_DEVICE void P##A##put##B##_nbi##S(V* dest, const V* source, size_t nelems, int pe) {  \
        SASSEMU_NS::put<G>(dest, source, nelems * sizeof(T), pe, true);                           \
    }                                                                                             \
    SASSEMU_DEVICE void P##A##get##B##S(V* dest, const V* source, size_t nelems, int pe) {        \
        SASSEMU_NS::get<G>(dest, source, nelems * sizeof(T), pe, false);                          \
    }                                                                                             \
    SASSEMU_DEVICE void P##A##get##B##_nbi##S(V* dest, const V* source, size_t nelems, int pe) {  \
        SASSEMU_NS::get<G>(dest, source, nelems * sizeof(T), pe, true);                           \
    }                                                                                             \
    SASSEMU_DEVICE void P##A##put##B##_signal##S(V* dest, const V* source, size_t nelems,         \
                                                 uint64_t* sig_addr, uint64_t signal, int sig_op, \
                                                 int pe) {                                        \
        SASSEMU_NS::put<G>(dest, source, nelems * sizeof(T), pe, false,                           \
                           {sig_addr, signal, sig_op});                                           \
    }                                                                                             \
    SASSEMU_DEVICE void P##A##put##B##_signal_nbi##S(V* dest, const V* source, size_t nelems,     \
                                                     uint64_t* sig_addr, uint64_t signal,         \
                                                     int sig_op, int pe) {                        \
        SASSEMU_NS::put<G>(dest, source, nelems * sizeof(T), pe, true,                            \
                           {sig_addr, signal, sig_op});                                           \
    }                                                                                             \
    SASSEMU_DEVICE void P##A##iput##B##S(V* dest, const V* source, ptrdiff_t dst, ptrdiff_t sst,  \
                                         size_t nelems, int pe) {                                 \
        SASSEMU_NS::iput<G>(static_cast<T*>(dest), static_cast<const T*>(source), dst, sst,       \
                            nelems, pe);                                                          \
    }                                                                                             \
    SASSEMU_DEVICE void P##A##iget##B##S(V* dest, const V* source, ptrdiff_t dst, ptrdiff_t sst,  \
                                         size_t nelems, int pe) {                                 \
        SASSEMU_NS::iget<G>(static_cast<T*>(dest), static_cast<const T*>(source), dst, sst,       \
                            nelems, pe);                                                          \
    }
#define SASSEMU_TYPED_RMA(NAME, T)                                     \
    SASSEMU_RMA(nvshmem, _##NAME##_, , T, T, , SASSEMU_NS::Thread)     \
    SASSEMU_RMA(nvshmemx, _##NAME##_, , T, T, _warp, SASSEMU_NS::Warp) \
    SASSEMU_RMA(nvshmemx, _##NAME##_, , T, T, _block, SASSEMU_NS::Block)
SASSEMU_NVSHMEM_RMA_TYPES(SASSEMU_TYPED_RMA)
#define SASSEMU_SIZED_RMA(NAME, T)                                   \
    SASSEMU_RMA(nvshmem, _, NAME, T, void, , SASSEMU_NS::Thread)     \
    SASSEMU_RMA(nvshmemx, _, NAME, T, void, _warp, SASSEMU_NS::Warp) \
    SASSEMU_RMA(nvshmemx, _, NAME, T, void, _block, SASSEMU_NS::Block)
SASSEMU_NVSHMEM_BIT_SIZES(SASSEMU_SIZED_RMA)

#define SASSEMU_P_AND_G(NAME, T)                                       \
    SASSEMU_DEVICE void nvshmem_##NAME##_p(T* dest, T value, int pe) { \
        SASSEMU_NS::p(dest, value, pe);                                \
    }                                                                  \
    SASSEMU_DEVICE T nvshmem_##NAME##_g(const T* source, int pe) {     \
        return SASSEMU_NS::g(source, pe);                              \
    }
SASSEMU_NVSHMEM_RMA_TYPES(SASSEMU_P_AND_G)

/* ---- atomics. The nbi forms of fetching ones write the value to *fetch at any time up to quiet.
 */

#define SASSEMU_AMO1(NAME, T, VERB, OP)                                            \
    SASSEMU_DEVICE void nvshmem_##NAME##_atomic_##VERB(T* dest, T value, int pe) { \
        SASSEMU_NS::amo<OP, T>(dest, value, {}, pe, false);                        \
    }
#define SASSEMU_FETCH1(NAME, T, VERB, OP)                                                          \
    SASSEMU_DEVICE T nvshmem_##NAME##_atomic_##VERB(T* dest, T value, int pe) {                    \
        return SASSEMU_NS::amo<OP, T>(dest, value, {}, pe, true);                                  \
    }                                                                                              \
    SASSEMU_DEVICE void nvshmem_##NAME##_atomic_##VERB##_nbi(T* fetch, T* dest, T value, int pe) { \
        SASSEMU_NS::amo<OP, T>(dest, value, {}, pe, true, fetch);                                  \
    }
#define SASSEMU_AMO(NAME, T)                                                                  \
    SASSEMU_AMO1(NAME, T, add, SASSEMU_NVSHMEM_ADD)                                           \
    SASSEMU_FETCH1(NAME, T, fetch_add, SASSEMU_NVSHMEM_ADD)                                   \
    SASSEMU_DEVICE void nvshmem_##NAME##_atomic_inc(T* dest, int pe) {                        \
        nvshmem_##NAME##_atomic_add(dest, 1, pe);                                             \
    }                                                                                         \
    SASSEMU_DEVICE T nvshmem_##NAME##_atomic_fetch_inc(T* dest, int pe) {                     \
        return nvshmem_##NAME##_atomic_fetch_add(dest, 1, pe);                                \
    }                                                                                         \
    SASSEMU_DEVICE void nvshmem_##NAME##_atomic_fetch_inc_nbi(T* fetch, T* dest, int pe) {    \
        nvshmem_##NAME##_atomic_fetch_add_nbi(fetch, dest, 1, pe);                            \
    }                                                                                         \
    SASSEMU_DEVICE T nvshmem_##NAME##_atomic_compare_swap(T* dest, T cond, T value, int pe) { \
        return SASSEMU_NS::amo<SASSEMU_NVSHMEM_COMPARE, T>(dest, value, cond, pe, true);      \
    }                                                                                         \
    SASSEMU_DEVICE void nvshmem_##NAME##_atomic_compare_swap_nbi(T* fetch, T* dest, T cond,   \
                                                                 T value, int pe) {           \
        SASSEMU_NS::amo<SASSEMU_NVSHMEM_COMPARE, T>(dest, value, cond, pe, true, fetch);      \
    }
SASSEMU_NVSHMEM_AMO_TYPES(SASSEMU_AMO)
#define SASSEMU_EXTENDED_AMO(NAME, T)                                                             \
    SASSEMU_AMO1(NAME, T, set, SASSEMU_NVSHMEM_SWAP)                                              \
    SASSEMU_FETCH1(NAME, T, swap, SASSEMU_NVSHMEM_SWAP)                                           \
    SASSEMU_DEVICE T nvshmem_##NAME##_atomic_fetch(const T* source, int pe) {                     \
        return SASSEMU_NS::amo<SASSEMU_NVSHMEM_ADD, T>(const_cast<T*>(source), {}, {}, pe, true); \
    }                                                                                             \
    SASSEMU_DEVICE void nvshmem_##NAME##_atomic_fetch_nbi(T* fetch, const T* source, int pe) {    \
        SASSEMU_NS::amo<SASSEMU_NVSHMEM_ADD, T>(const_cast<T*>(source), {}, {}, pe, true, fetch); \
    }
SASSEMU_NVSHMEM_EXTENDED_AMO_TYPES(SASSEMU_EXTENDED_AMO)
#define SASSEMU_BITWISE_AMO(NAME, T)                        \
    SASSEMU_AMO1(NAME, T, and, SASSEMU_NVSHMEM_AND)         \
    SASSEMU_AMO1(NAME, T, or, SASSEMU_NVSHMEM_OR)           \
    SASSEMU_AMO1(NAME, T, xor, SASSEMU_NVSHMEM_XOR)         \
    SASSEMU_FETCH1(NAME, T, fetch_and, SASSEMU_NVSHMEM_AND) \
    SASSEMU_FETCH1(NAME, T, fetch_or, SASSEMU_NVSHMEM_OR)   \
    SASSEMU_FETCH1(NAME, T, fetch_xor, SASSEMU_NVSHMEM_XOR)
SASSEMU_NVSHMEM_BITWISE_AMO_TYPES(SASSEMU_BITWISE_AMO)

/* ---- signals, waits and tests */

SASSEMU_DEVICE void nvshmemx_signal_op(uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) {
    SASSEMU_NS::signal({sig_addr, signal, sig_op}, pe);
}
SASSEMU_DEVICE uint64_t nvshmem_signal_fetch(const uint64_t* sig_addr) {
    return SASSEMU_NS::load_acquire(sig_addr);
}
SASSEMU_DEVICE uint64_t nvshmem_signal_wait_until(uint64_t* sig_addr, int cmp, uint64_t value) {
    for (;;) {
        const uint64_t now = SASSEMU_NS::load_acquire(sig_addr);
        if (SASSEMU_NS::compares(now, cmp, value)) return now;
    }
}

/* N: what stands behind the name; V and AT: one value for all, or one for each. */
#define SASSEMU_WAIT_SETS(NAME, T, N, V, AT)                                                       \
    SASSEMU_DEVICE void nvshmem_##NAME##_wait_until_all##N(T* ivars, size_t nelems,                \
                                                           const int* status, int cmp, V) {        \
        SASSEMU_NS::wait_for(true, ivars, nelems, status, cmp, AT);                                \
    }                                                                                              \
    SASSEMU_DEVICE size_t nvshmem_##NAME##_wait_until_any##N(T* ivars, size_t nelems,              \
                                                             const int* status, int cmp, V) {      \
        return SASSEMU_NS::wait_for(false, ivars, nelems, status, cmp, AT, nullptr, true).first;   \
    }                                                                                              \
    SASSEMU_DEVICE size_t nvshmem_##NAME##_wait_until_some##N(                                     \
        T* ivars, size_t nelems, size_t* indices, const int* status, int cmp, V) {                 \
        return SASSEMU_NS::wait_for(false, ivars, nelems, status, cmp, AT, indices).fit;           \
    }                                                                                              \
    SASSEMU_DEVICE int nvshmem_##NAME##_test_all##N(T* ivars, size_t nelems, const int* status,    \
                                                    int cmp, V) {                                  \
        const auto l = SASSEMU_NS::look(ivars, nelems, status, cmp, AT);                           \
        return l.fit == l.in_set;                                                                  \
    }                                                                                              \
    SASSEMU_DEVICE size_t nvshmem_##NAME##_test_any##N(T* ivars, size_t nelems, const int* status, \
                                                       int cmp, V) {                               \
        return SASSEMU_NS::look(ivars, nelems, status, cmp, AT, nullptr, true).first;              \
    }                                                                                              \
    SASSEMU_DEVICE size_t nvshmem_##NAME##_test_some##N(T* ivars, size_t nelems, size_t* indices,  \
                                                        const int* status, int cmp, V) {           \
        return SASSEMU_NS::look(ivars, nelems, status, cmp, AT, indices).fit;                      \
    }
#define SASSEMU_WAIT(NAME, T)                                                        \
    SASSEMU_DEVICE void nvshmem_##NAME##_wait_until(T* ivar, int cmp, T cmp_value) { \
        SASSEMU_NS::wait(ivar, cmp, cmp_value);                                      \
    }                                                                                \
    SASSEMU_DEVICE int nvshmem_##NAME##_test(T* ivar, int cmp, T cmp_value) {        \
        return SASSEMU_NS::test(ivar, cmp, cmp_value);                               \
    }                                                                                \
    SASSEMU_WAIT_SETS(NAME, T, , T cmp_value, [=](size_t) { return cmp_value; })     \
    SASSEMU_WAIT_SETS(NAME, T, _vector, T* cmp_values, [=](size_t i) { return cmp_values[i]; })
SASSEMU_NVSHMEM_WAIT_TYPES(SASSEMU_WAIT)

/* ---- order, meetings, collectives */

SASSEMU_DEVICE void nvshmem_fence() { SASSEMU_NS::fence(); }
SASSEMU_DEVICE void nvshmem_quiet() { SASSEMU_NS::quiet(); }

#define SASSEMU_MEETINGS(P, S, G)                                                               \
    SASSEMU_DEVICE int P##_barrier##S(nvshmem_team_t team) {                                    \
        SASSEMU_NS::barrier<G>(team);                                                           \
        return 0;                                                                               \
    }                                                                                           \
    SASSEMU_DEVICE void P##_barrier_all##S() { SASSEMU_NS::barrier<G>(NVSHMEM_TEAM_WORLD); }    \
    SASSEMU_DEVICE int P##_team_sync##S(nvshmem_team_t team) {                                  \
        SASSEMU_NS::meet<G>(team);                                                              \
        return 0;                                                                               \
    }                                                                                           \
    SASSEMU_DEVICE int P##_sync##S(nvshmem_team_t team) { return P##_team_sync##S(team); }      \
    SASSEMU_DEVICE void P##_sync_all##S() { SASSEMU_NS::meet<G>(NVSHMEM_TEAM_WORLD); }          \
    SASSEMU_DEVICE int P##_broadcastmem##S(nvshmem_team_t team, void* dest, const void* source, \
                                           size_t nelems, int root) {                           \
        return SASSEMU_NS::broadcast<G>(team, dest, source, nelems, root);                      \
    }                                                                                           \
    SASSEMU_DEVICE int P##_fcollectmem##S(nvshmem_team_t team, void* dest, const void* source,  \
                                          size_t nelems) {                                      \
        return SASSEMU_NS::fcollect<G>(team, dest, source, nelems);                             \
    }                                                                                           \
    SASSEMU_DEVICE int P##_alltoallmem##S(nvshmem_team_t team, void* dest, const void* source,  \
                                          size_t nelems) {                                      \
        return SASSEMU_NS::alltoall<G>(team, dest, source, nelems);                             \
    }
SASSEMU_FORMS(SASSEMU_MEETINGS)

#define SASSEMU_COLLECTIVES1(P, S, G, NAME, T)                                                  \
    SASSEMU_DEVICE int P##_##NAME##_broadcast##S(nvshmem_team_t team, T* dest, const T* source, \
                                                 size_t nelems, int root) {                     \
        return SASSEMU_NS::broadcast<G>(team, dest, source, nelems * sizeof(T), root);          \
    }                                                                                           \
    SASSEMU_DEVICE int P##_##NAME##_fcollect##S(nvshmem_team_t team, T* dest, const T* source,  \
                                                size_t nelems) {                                \
        return SASSEMU_NS::fcollect<G>(team, dest, source, nelems * sizeof(T));                 \
    }                                                                                           \
    SASSEMU_DEVICE int P##_##NAME##_alltoall##S(nvshmem_team_t team, T* dest, const T* source,  \
                                                size_t nelems) {                                \
        return SASSEMU_NS::alltoall<G>(team, dest, source, nelems * sizeof(T));                 \
    }
#define SASSEMU_COLLECTIVES(NAME, T)                                 \
    SASSEMU_COLLECTIVES1(nvshmem, , SASSEMU_NS::Thread, NAME, T)     \
    SASSEMU_COLLECTIVES1(nvshmemx, _warp, SASSEMU_NS::Warp, NAME, T) \
    SASSEMU_COLLECTIVES1(nvshmemx, _block, SASSEMU_NS::Block, NAME, T)
SASSEMU_NVSHMEM_RMA_TYPES(SASSEMU_COLLECTIVES)

#define SASSEMU_REDUCE1(P, S, G, NAME, T, VERB, HOW)                                      \
    SASSEMU_DEVICE int P##_##NAME##_##VERB##_reduce##S(nvshmem_team_t team, T* dest,      \
                                                       const T* source, size_t nreduce) { \
        return SASSEMU_NS::reduce<G>(team, dest, source, nreduce,                         \
                                     [](T a, T b) -> T { return static_cast<T>(HOW); });  \
    }
#define SASSEMU_REDUCE(NAME, T, VERB, HOW)                                 \
    SASSEMU_REDUCE1(nvshmem, , SASSEMU_NS::Thread, NAME, T, VERB, HOW)     \
    SASSEMU_REDUCE1(nvshmemx, _warp, SASSEMU_NS::Warp, NAME, T, VERB, HOW) \
    SASSEMU_REDUCE1(nvshmemx, _block, SASSEMU_NS::Block, NAME, T, VERB, HOW)
#define SASSEMU_BITWISE_REDUCE(NAME, T) \
    SASSEMU_REDUCE(NAME, T, and, a& b)  \
    SASSEMU_REDUCE(NAME, T, or, a | b) SASSEMU_REDUCE(NAME, T, xor, a ^ b)
SASSEMU_NVSHMEM_BITWISE_REDUCE_TYPES(SASSEMU_BITWISE_REDUCE)
#define SASSEMU_ARITHMETIC_REDUCE(NAME, T)                  \
    SASSEMU_REDUCE(NAME, T, min, SASSEMU_NS::smaller(a, b)) \
    SASSEMU_REDUCE(NAME, T, max, SASSEMU_NS::larger(a, b))  \
    SASSEMU_REDUCE(NAME, T, sum, a + b)                     \
    SASSEMU_REDUCE(NAME, T, prod, a* b)
SASSEMU_NVSHMEM_REDUCE_TYPES(SASSEMU_ARITHMETIC_REDUCE)

#endif
