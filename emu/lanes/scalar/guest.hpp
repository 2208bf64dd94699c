// SPDX-License-Identifier: Apache-2.0
// One lane's access to guest bytes, which other host threads may be touching: no wider than 8
// bytes, never torn, and visible to ThreadSanitizer as a relaxed atomic under SASSEMU_TSAN.
// Vector accesses to guest memory (simd/memory.hpp) are not compiled in that mode.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace guest {

SASSEMU_INLINE const void* at(const void* p, uint64_t offset) {
    return (const void*)((uintptr_t)p + offset);
}
SASSEMU_INLINE void* at(void* p, uint64_t offset) { return (void*)((uintptr_t)p + offset); }

template <size_t Size>
struct Word;
template <>
struct Word<1> {
    typedef uint8_t __attribute__((may_alias)) Type;
};
template <>
struct Word<2> {
    typedef uint16_t __attribute__((may_alias)) Type;
};
template <>
struct Word<4> {
    typedef uint32_t __attribute__((may_alias)) Type;
};
template <>
struct Word<8> {
    typedef uint64_t __attribute__((may_alias)) Type;
};
template <size_t Size>
SASSEMU_INLINE uint64_t load(const void* p) {
    return __atomic_load_n((const typename Word<Size>::Type*)p, __ATOMIC_RELAXED);
}
template <size_t Size>
SASSEMU_INLINE void store(void* p, uint64_t v) {
    using T = typename Word<Size>::Type;
    __atomic_store_n((T*)p, (T)v, __ATOMIC_RELAXED);
}

// The lane that stores i-th of all is i ^ last_of_part: kStoreBytes.
template <size_t Size>
inline constexpr int last_of_part = (Size * kLanes <= kStoreBytes ? kLanes
                                                                  : kStoreBytes / (int)Size) -
                                    1;

}  // namespace guest
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
