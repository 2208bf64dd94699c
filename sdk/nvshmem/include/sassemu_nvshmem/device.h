/* SPDX-License-Identifier: Apache-2.0 */
/* NVSHMEM on the device: how bytes get to another PE. A PE whose heap lies in a window is reached
 * by loads, stores and atomics; requests to all others go to the proxy through a ring. What belongs
 * here: the mechanisms, by bytes and words. Names and types of the API are in device_api.h. */
#ifndef SASSEMU_NVSHMEM_DEVICE_H
#define SASSEMU_NVSHMEM_DEVICE_H

#include "sassemu_nvshmem/state.h"
#include "sassemu_nvshmem/types.h"

#if defined(__CUDACC_RDC__)
extern "C" {
inline __constant__ sassemu_nvshmem_device_state sassemu_nvshmem_state;
}
#else
extern "C" {
__constant__ sassemu_nvshmem_device_state sassemu_nvshmem_state;
}
#endif

namespace sassemu_nvshmem {

/* Who works together: a thread, a warp, a CTA. */
struct Thread {
    static __device__ unsigned rank() { return 0; }
    static __device__ unsigned size() { return 1; }
    static __device__ void sync() {}
};
__device__ inline unsigned thread_of_cta() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
struct Block {
    static __device__ unsigned rank() { return thread_of_cta(); }
    static __device__ unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static __device__ void sync() { __syncthreads(); }
};
struct Warp {
    static __device__ unsigned rank() { return thread_of_cta() % 32; }
    static __device__ unsigned size() {
        return min(32u, Block::size() - thread_of_cta() / 32 * 32);
    }
    static __device__ void sync() { __syncwarp(size() == 32 ? ~0u : (1u << size()) - 1); }
};

/* ---- words in memory that others change meanwhile */

template <size_t bytes>
struct Word;
template <>
struct Word<1> {
    using Type = uint8_t;
};
template <>
struct Word<2> {
    using Type = uint16_t;
};
template <>
struct Word<4> {
    using Type = uint32_t;
};
template <>
struct Word<8> {
    using Type = uint64_t;
};
template <>
struct Word<16> {
    using Type = sassemu_nvshmem_128;
};
template <class T>
using word_of = typename Word<sizeof(T)>::Type;

template <class To, class From>
__device__ inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <class T>
__device__ inline T load_acquire(const T* at) {
    if constexpr (sizeof(T) == 8) {
        uint64_t v;
        asm volatile("ld.acquire.sys.b64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
        return bits_as<T>(v);
    } else if constexpr (sizeof(T) == 4) {
        uint32_t v;
        asm volatile("ld.acquire.sys.b32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
        return bits_as<T>(v);
    } else {
        uint16_t v;
        asm volatile("ld.acquire.sys.b16 %0, [%1];" : "=h"(v) : "l"(at) : "memory");
        return bits_as<T>(v);
    }
}
__device__ inline void store_release(uint64_t* at, uint64_t value) {
    asm volatile("st.release.sys.b64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

/* Memory of another PE: what is read is never taken from an earlier read. */
template <class T>
__device__ inline T load(const T* at) {
    if constexpr (sizeof(T) == 16) {
        T v;
        asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];"
                     : "=l"(v.half[0]), "=l"(v.half[1])
                     : "l"(at)
                     : "memory");
        return v;
    } else {
        return bits_as<T>(*reinterpret_cast<const volatile word_of<T>*>(at));
    }
}

template <class G, class T>
__device__ inline void copy_elements(char*& to, const char*& from, size_t& bytes) {
    if ((reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from)) % sizeof(T)) return;
    const size_t count = bytes / sizeof(T);
    for (size_t i = G::rank(); i < count; i += G::size())
        reinterpret_cast<T*>(to)[i] = load(reinterpret_cast<const T*>(from) + i);
    to += count * sizeof(T);
    from += count * sizeof(T);
    bytes -= count * sizeof(T);
}
/* In pieces as large as both ends' alignment lets them be. */
template <class G>
__device__ __noinline__ void copy(char* to, const char* from, size_t bytes) {
    copy_elements<G, sassemu_nvshmem_128>(to, from, bytes);
    copy_elements<G, uint64_t>(to, from, bytes);
    copy_elements<G, uint32_t>(to, from, bytes);
    copy_elements<G, uint16_t>(to, from, bytes);
    copy_elements<G, uint8_t>(to, from, bytes);
}

/* ---- addresses */

__device__ inline uint64_t offset_of(const void* symmetric) {
    const uint64_t offset = reinterpret_cast<uint64_t>(symmetric) - sassemu_nvshmem_state.heap;
    if (offset >= sassemu_nvshmem_state.heap_bytes) __trap();  // it is no address in this PE's heap
    return offset;
}
__device__ inline uint64_t window_of(int pe) {
    if (static_cast<unsigned>(pe) >= static_cast<unsigned>(sassemu_nvshmem_state.n_pes))
        __trap();  // there is no such PE
    return reinterpret_cast<const uint64_t*>(sassemu_nvshmem_state.windows)[pe];
}
/* Null: only the proxy gets there. */
template <class T>
__device__ inline T* window(T* symmetric, int pe) {
    const uint64_t offset = offset_of(symmetric), base = window_of(pe);
    return base ? reinterpret_cast<T*>(base + offset) : nullptr;
}

/* ---- the proxy */

__device__ inline sassemu_nvshmem_request asked(uint32_t operation, int pe) {
    sassemu_nvshmem_request r{};
    r.operation = operation;
    r.pe = pe;
    return r;
}
/* The calling threads are those of the group; one of them calls this. */
template <class G>
__device__ __noinline__ uint64_t ask(sassemu_nvshmem_request r) {
    auto* ring = reinterpret_cast<sassemu_nvshmem_ring*>(sassemu_nvshmem_state.ring);
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(r.grid));
    r.cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    r.first_thread = static_cast<uint16_t>(thread_of_cta());
    r.threads = static_cast<uint16_t>(G::size());
    const uint64_t slots = sassemu_nvshmem_state.ring_slots;
    const uint64_t ticket =
        atomicAdd_system(reinterpret_cast<unsigned long long*>(&ring->tickets), 1ull);
    auto* slot = reinterpret_cast<sassemu_nvshmem_request*>(ring + 1) + ticket % slots;
    while (load_acquire(&slot->turn) != ticket) {
    }
    r.turn = ticket;
    *slot = r;
    store_release(&slot->turn, ticket + 1);
    if (r.answer == SASSEMU_NVSHMEM_NONE) return 0;
    while (load_acquire(&slot->turn) != ticket + 2) {
    }
    const uint64_t result = load(&slot->result);
    store_release(&slot->turn, ticket + slots);
    return result;
}

/* ---- put and get */

struct Signal {
    uint64_t* at = nullptr;
    uint64_t value = 0;
    int operation = 0;  // ADD or SWAP; 0: there is none
};

__device__ inline void change_word(uint64_t* at, uint64_t value, int operation) {
    auto* word = reinterpret_cast<unsigned long long*>(at);
    if (operation == SASSEMU_NVSHMEM_ADD)
        atomicAdd_system(word, static_cast<unsigned long long>(value));
    else
        atomicExch_system(word, static_cast<unsigned long long>(value));
}
__device__ inline void signal(const Signal& s, int pe) {
    if (uint64_t* there = window(s.at, pe)) return change_word(there, s.value, s.operation);
    sassemu_nvshmem_request r = asked(s.operation, pe);
    r.width = 8;
    r.remote = offset_of(s.at);
    r.value = s.value;
    ask<Thread>(r);
}

template <class G>
__device__ __noinline__ void put(void* dest, const void* source, size_t bytes, int pe, bool nbi,
                                 const Signal& behind = {}) {
    G::sync();
    if (char* there = window(static_cast<char*>(dest), pe)) {
        copy<G>(there, static_cast<const char*>(source), bytes);
        if (behind.operation) {
            G::sync();
            if (G::rank() == 0) {
                __threadfence_system();  // of what all have stored: it stands behind the barrier
                signal(behind, pe);
            }
        }
    } else if (G::rank() == 0) {
        sassemu_nvshmem_request r = asked(SASSEMU_NVSHMEM_PUT, pe);
        r.answer = nbi ? SASSEMU_NVSHMEM_NONE : SASSEMU_NVSHMEM_TAKEN;
        r.remote = offset_of(dest);
        r.local = reinterpret_cast<uint64_t>(source);
        r.bytes = bytes;
        if (behind.operation) {
            r.signal = offset_of(behind.at);
            r.signal_value = behind.value;
            r.signal_operation = behind.operation;
        }
        ask<G>(r);
    }
    G::sync();
}
template <class G>
__device__ __noinline__ void get(void* dest, const void* source, size_t bytes, int pe, bool nbi) {
    G::sync();
    if (const char* there = window(static_cast<const char*>(source), pe)) {
        copy<G>(static_cast<char*>(dest), there, bytes);
    } else if (G::rank() == 0) {
        sassemu_nvshmem_request r = asked(SASSEMU_NVSHMEM_GET, pe);
        r.answer = nbi ? SASSEMU_NVSHMEM_NONE : SASSEMU_NVSHMEM_COMPLETE;
        r.remote = offset_of(source);
        r.local = reinterpret_cast<uint64_t>(dest);
        r.bytes = bytes;
        ask<G>(r);
    }
    G::sync();
}

/* One element, by value. Others may wait for it: a strong store, but for what has two words. */
template <class T>
__device__ __noinline__ void put_word(T* dest, T value, int pe) {
    if (T* there = window(dest, pe)) {
        if constexpr (sizeof(T) > 8)
            *there = value;
        else
            *const_cast<volatile T*>(there) = value;
        return;
    }
    sassemu_nvshmem_request r = asked(SASSEMU_NVSHMEM_PUT, pe);
    r.remote = offset_of(dest);
    r.bytes = sizeof(T);
    memcpy(&r.value, &value, sizeof(T));
    ask<Thread>(r);
}
template <class T>
__device__ __noinline__ T get_word(const T* source, int pe) {
    if (const T* there = window(source, pe)) return load(there);
    T value;
    if constexpr (sizeof(T) > 8) {
        value.half[0] = get_word(source->half, pe);
        value.half[1] = get_word(source->half + 1, pe);
    } else {
        sassemu_nvshmem_request r = asked(SASSEMU_NVSHMEM_GET, pe);
        r.answer = SASSEMU_NVSHMEM_COMPLETE;
        r.remote = offset_of(source);
        r.bytes = sizeof(T);
        const uint64_t bits = ask<Thread>(r);
        memcpy(&value, &bits, sizeof(T));
    }
    return value;
}
template <class T>
__device__ inline void p(T* dest, T value, int pe) {
    put_word(reinterpret_cast<word_of<T>*>(dest), bits_as<word_of<T>>(value), pe);
}
template <class T>
__device__ inline T g(const T* source, int pe) {
    return bits_as<T>(get_word(reinterpret_cast<const word_of<T>*>(source), pe));
}
/* Strides count elements. */
template <class G, class T>
__device__ __noinline__ void iput_words(T* dest, const T* source, ptrdiff_t to, ptrdiff_t from,
                                        size_t count, int pe) {
    G::sync();
    for (size_t i = G::rank(); i < count; i += G::size()) {
        if constexpr (sizeof(T) > 8)
            put<Thread>(dest + i * to, source + i * from, sizeof(T), pe, false);
        else
            put_word(dest + i * to, source[i * from], pe);
    }
    G::sync();
}
template <class G, class T>
__device__ __noinline__ void iget_words(T* dest, const T* source, ptrdiff_t to, ptrdiff_t from,
                                        size_t count, int pe) {
    G::sync();
    for (size_t i = G::rank(); i < count; i += G::size())
        dest[i * to] = get_word(source + i * from, pe);
    G::sync();
}
template <class G, class T>
__device__ inline void iput(T* dest, const T* source, ptrdiff_t to, ptrdiff_t from, size_t count,
                            int pe) {
    using W = word_of<T>;
    iput_words<G, W>(reinterpret_cast<W*>(dest), reinterpret_cast<const W*>(source), to, from,
                     count, pe);
}
template <class G, class T>
__device__ inline void iget(T* dest, const T* source, ptrdiff_t to, ptrdiff_t from, size_t count,
                            int pe) {
    using W = word_of<T>;
    iget_words<G, W>(reinterpret_cast<W*>(dest), reinterpret_cast<const W*>(source), to, from,
                     count, pe);
}

/* ---- atomics */

/* `fetched`, of the nbi forms: where the value goes, at any time up to quiet. */
template <int operation, class Bits>
__device__ __noinline__ Bits change(Bits* dest, Bits v, Bits compare, int pe, bool fetches,
                                    Bits* fetched) {
    if (Bits* word = window(dest, pe)) {
        Bits old;
        if constexpr (operation == SASSEMU_NVSHMEM_ADD) old = atomicAdd_system(word, v);
        if constexpr (operation == SASSEMU_NVSHMEM_AND) old = atomicAnd_system(word, v);
        if constexpr (operation == SASSEMU_NVSHMEM_OR) old = atomicOr_system(word, v);
        if constexpr (operation == SASSEMU_NVSHMEM_XOR) old = atomicXor_system(word, v);
        if constexpr (operation == SASSEMU_NVSHMEM_SWAP) old = atomicExch_system(word, v);
        if constexpr (operation == SASSEMU_NVSHMEM_COMPARE)
            old = atomicCAS_system(word, compare, v);
        if (fetched) *fetched = old;
        return old;
    }
    sassemu_nvshmem_request r = asked(operation, pe);
    r.answer = fetches && !fetched ? SASSEMU_NVSHMEM_COMPLETE : SASSEMU_NVSHMEM_NONE;
    r.fetches = fetches;
    r.local = reinterpret_cast<uint64_t>(fetched);
    r.width = sizeof(Bits);
    r.remote = offset_of(dest);
    r.value = v;
    r.compare = compare;
    return static_cast<Bits>(ask<Thread>(r));
}

template <size_t bytes>
struct AtomicWord {
    using Type = unsigned int;
};
template <>
struct AtomicWord<8> {
    using Type = unsigned long long;
};
template <int operation, class T>
__device__ inline T amo(T* dest, T value, T compare, int pe, bool fetches, T* fetched = nullptr) {
    using Bits = typename AtomicWord<sizeof(T)>::Type;
    return bits_as<T>(change<operation, Bits>(reinterpret_cast<Bits*>(dest), bits_as<Bits>(value),
                                              bits_as<Bits>(compare), pe, fetches,
                                              reinterpret_cast<Bits*>(fetched)));
}

/* ---- order */

// Of the machine a fence as any other; the event tells checkers that it is this one, which
// completes nothing.
__device__ inline void fence() {
    asm volatile("pmevent 11;\n\tfence.acq_rel.sys;" ::: "memory");
    if (sassemu_nvshmem_state.ring) ask<Thread>(asked(SASSEMU_NVSHMEM_FENCE, 0));
}
__device__ inline void quiet() {
    __threadfence_system();
    if (!sassemu_nvshmem_state.ring) return;
    sassemu_nvshmem_request r = asked(SASSEMU_NVSHMEM_QUIET, 0);
    r.answer = SASSEMU_NVSHMEM_COMPLETE;
    ask<Thread>(r);
    __threadfence_system();
}

template <class T>
__device__ inline bool compares(T value, int how, T with) {
    switch (how) {
        case 0:
            return value == with;
        case 1:
            return value != with;
        case 2:
            return value > with;
        case 3:
            return value <= with;
        case 4:
            return value < with;
        default:
            return value >= with;
    }
}
template <class T>
__device__ inline bool test(const T* at, int how, T with) {
    return compares(load_acquire(at), how, with);
}
template <class T>
__device__ inline void wait(const T* at, int how, T with) {
    while (!test(at, how, with)) {
    }
}
/* A look at each element of a set; `status` leaves out those where it is not 0. `value(i)` is what
 * element i is compared with. The number that fit, and the indices of them where they are wanted.
 */
struct Looked {
    size_t in_set = 0, fit = 0, first = SIZE_MAX;
};
template <class T, class F>
__device__ inline Looked look(const T* at, size_t count, const int* status, int how, F value,
                              size_t* indices = nullptr, bool one = false) {
    Looked l;
    for (size_t i = 0; i < count; ++i) {
        if (status && status[i]) continue;
        ++l.in_set;
        if (!test(at + i, how, value(i))) continue;
        if (indices) indices[l.fit] = i;
        if (!l.fit++) l.first = i;
        if (one) break;
    }
    return l;
}
template <class T, class F>
__device__ inline Looked wait_for(bool all, const T* at, size_t count, const int* status, int how,
                                  F value, size_t* indices = nullptr, bool one = false) {
    for (;;) {
        const Looked l = look(at, count, status, how, value, indices, one);
        if (!l.in_set || (all ? l.fit == l.in_set : l.fit != 0)) return l;
    }
}

/* ---- teams */

__device__ inline const sassemu_nvshmem_team_info* team_of(int team) {
    return static_cast<unsigned>(team) < SASSEMU_NVSHMEM_TEAMS ? &sassemu_nvshmem_state.team[team]
                                                               : nullptr;
}
__device__ inline int pe_of(const sassemu_nvshmem_team_info& team, int number) {
    return team.start + number * team.stride;
}

template <class G>
__device__ __noinline__ void meet(int number) {
    G::sync();
    const sassemu_nvshmem_team_info* team = team_of(number);
    if (!team) __trap();  // there is no such team
    if (G::rank() == 0) {
        auto* own = reinterpret_cast<sassemu_nvshmem_meeting*>(sassemu_nvshmem_state.heap) + number;
        const uint64_t now = load(&own->met) + 1;
        *reinterpret_cast<volatile uint64_t*>(&own->met) = now;
        int round = 0;
        for (int far = 1; far < team->size; far *= 2, ++round) {
            __threadfence_system();  // of what the group and the rounds so far have brought
            signal({&own->arrived[round], 1, SASSEMU_NVSHMEM_ADD},
                   pe_of(*team, (team->me + far) % team->size));
            wait(&own->arrived[round], 5, now);
        }
        if (sassemu_nvshmem_state.ring) ask<Thread>(asked(SASSEMU_NVSHMEM_MET, 0));
        __threadfence_system();
    }
    G::sync();
}
template <class G>
__device__ inline void barrier(int team) {
    quiet();
    meet<G>(team);
}

/* ---- collectives. What goes to another PE is there when the meeting at the end is over. */

template <class G>
__device__ inline int broadcast(int number, void* dest, const void* source, size_t bytes,
                                int root) {
    const sassemu_nvshmem_team_info& team = *team_of(number);
    if (team.me == root)
        for (int i = 0; i < team.size; ++i) put<G>(dest, source, bytes, pe_of(team, i), true);
    barrier<G>(number);
    return 0;
}
template <class G>
__device__ inline int fcollect(int number, void* dest, const void* source, size_t bytes) {
    const sassemu_nvshmem_team_info& team = *team_of(number);
    for (int i = 0; i < team.size; ++i)
        put<G>(static_cast<char*>(dest) + team.me * bytes, source, bytes,
               pe_of(team, (team.me + i) % team.size), true);
    barrier<G>(number);
    return 0;
}
template <class G>
__device__ inline int alltoall(int number, void* dest, const void* source, size_t bytes) {
    const sassemu_nvshmem_team_info& team = *team_of(number);
    for (int k = 0; k < team.size; ++k) {
        const int i = (team.me + k) % team.size;
        put<G>(static_cast<char*>(dest) + team.me * bytes,
               static_cast<const char*>(source) + i * bytes, bytes, pe_of(team, i), true);
    }
    barrier<G>(number);
    return 0;
}
/* Each PE makes its share of the elements, in the order of the PEs, and gives it to all: so all get
 * the same bits, and source and dest may be the same. */
template <class G, class T, class F>
__device__ inline int reduce(int number, T* dest, const T* source, size_t count, F combine) {
    const sassemu_nvshmem_team_info& team = *team_of(number);
    meet<G>(number);
    const size_t share = (count + team.size - 1) / team.size;
    const size_t begin = min(count, share * team.me), end = min(count, begin + share);
    for (size_t i = begin + G::rank(); i < end; i += G::size()) {
        T sum = g(source + i, pe_of(team, 0));
        for (int k = 1; k < team.size; ++k) sum = combine(sum, g(source + i, pe_of(team, k)));
        for (int k = 0; k < team.size; ++k) p(dest + i, sum, pe_of(team, k));
    }
    barrier<G>(number);
    return 0;
}
/* NaN loses against a number, as fmin and fmax have it. */
template <class T>
__device__ inline T smaller(T a, T b) {
    return b < a || a != a ? b : a;
}
template <class T>
__device__ inline T larger(T a, T b) {
    return b > a || a != a ? b : a;
}

}  // namespace sassemu_nvshmem

#endif
