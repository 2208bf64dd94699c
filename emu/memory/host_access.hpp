// SPDX-License-Identifier: Apache-2.0
// Every touch of guest bytes by the emulator that is not a whole-row vector access of lanes/ goes
// through here: relaxed host atomics, so that racy guests are defined behaviour on the host,
// nothing tears up to 8 bytes (16 for 128-bit atomics), and ThreadSanitizer stays quiet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sassemu::host {

// Guest addresses are checked for natural alignment before they come here.
template <class T>
inline T load(const std::byte* at, int order = __ATOMIC_RELAXED) {
    return __atomic_load_n(reinterpret_cast<const T*>(at), order);
}
template <class T>
inline void store(std::byte* at, T value, int order = __ATOMIC_RELAXED) {
    __atomic_store_n(reinterpret_cast<T*>(at), value, order);
}

// 1, 2, 4 or 8 bytes, zero-extended.
inline uint64_t load_bytes(const std::byte* at, unsigned bytes) {
    switch (bytes) {
        case 1:
            return load<uint8_t>(at);
        case 2:
            return load<uint16_t>(at);
        case 4:
            return load<uint32_t>(at);
        default:
            return load<uint64_t>(at);
    }
}
inline void store_bytes(std::byte* at, unsigned bytes, uint64_t value) {
    switch (bytes) {
        case 1:
            return store<uint8_t>(at, static_cast<uint8_t>(value));
        case 2:
            return store<uint16_t>(at, static_cast<uint16_t>(value));
        case 4:
            return store<uint32_t>(at, static_cast<uint32_t>(value));
        default:
            return store<uint64_t>(at, value);
    }
}

// Replaces *at by f(*at) in one atomic step and returns the old value. `changed` tells whether the
// bytes differ afterwards: a spinning lock attempt that changes nothing is only a read.
template <class T, class F>
inline T update(std::byte* at, F&& f, bool& changed) {
    T* p = reinterpret_cast<T*>(at);
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    for (;;) {
        const T next = f(old);
        if (next == old) {
            // Still one atomic event: confirm that the value was there at a single moment.
            changed = false;
            return old;
        }
        if (__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            changed = true;
            return old;
        }
    }
}

// 16 bytes, for ATOM.CAS.128 and 128-bit exchange. The host instruction is cmpxchg16b, which
// x86-64-v2 guarantees.
struct Wide {
    uint64_t lo = 0, hi = 0;
    bool operator==(const Wide&) const = default;
};
#if defined(__x86_64__)
inline bool compare_exchange(std::byte* at, Wide& expected, Wide desired) {
    bool done;
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(done), "+m"(*reinterpret_cast<Wide*>(at)), "+a"(expected.lo),
                   "+d"(expected.hi)
                 : "b"(desired.lo), "c"(desired.hi)
                 : "memory");
    return done;
}
#else
inline bool compare_exchange(std::byte* at, Wide& expected, Wide desired) {
    unsigned __int128 e, d;
    std::memcpy(&e, &expected, 16);
    std::memcpy(&d, &desired, 16);
    const bool done = __atomic_compare_exchange_n(reinterpret_cast<unsigned __int128*>(at), &e, d,
                                                  false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    std::memcpy(&expected, &e, 16);
    return done;
}
#endif

inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Bulk copies between guest memory and a buffer of the host's own, while kernels may run: an
// aligned 8 bytes are one access. The order among them is nobody's business.
template <class F>
inline void each_piece(uintptr_t guest, size_t bytes, F&& piece) {
    size_t at = 0;
    for (; at < bytes && (guest + at) % 8; ++at) piece(at, uint8_t{});
    for (; at + 8 <= bytes; at += 8) piece(at, uint64_t{});
    for (; at < bytes; ++at) piece(at, uint8_t{});
}
inline void write(std::byte* guest, const std::byte* from, size_t bytes) {
    each_piece(reinterpret_cast<uintptr_t>(guest), bytes, [&](size_t at, auto value) {
        std::memcpy(&value, from + at, sizeof value);
        store(guest + at, value);
    });
}
inline void read(std::byte* to, const std::byte* guest, size_t bytes) {
    each_piece(reinterpret_cast<uintptr_t>(guest), bytes, [&](size_t at, auto value) {
        value = load<decltype(value)>(guest + at);
        std::memcpy(to + at, &value, sizeof value);
    });
}
inline void fill(std::byte* guest, uint8_t byte, size_t bytes) {
    each_piece(reinterpret_cast<uintptr_t>(guest), bytes, [&](size_t at, auto value) {
        store(guest + at, static_cast<decltype(value)>(0x0101010101010101u * byte));
    });
}

}  // namespace sassemu::host
