// SPDX-License-Identifier: Apache-2.0
// What the tests of the tensor core take for true, by element and slowly: where an element lies,
// from the table of canonical layouts (PTX ISA, tcgen05, "Canonical layouts"), what it is worth,
// and memory that ends where it should.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "emu/async/tensor_core.hpp"

namespace sassemu::async::test {

using Random = std::mt19937_64;
inline uint32_t below(Random& random, uint32_t n) { return static_cast<uint32_t>(random() % n); }
inline bool coin(Random& random) { return random() & 1; }

// The fields of a matrix descriptor, in bytes.
struct Fields {
    uint32_t start = 0, leading = 0, stride = 0, base = 0, mode = 0;
    uint64_t word() const {
        return uint64_t{start / 16} | uint64_t{leading / 16} << 16 | uint64_t{stride / 16} << 32 |
               uint64_t{1} << 46 | uint64_t{base} << 49 | uint64_t{mode} << 61;
    }
};

// ((shape, ...)):((stride, ...)) of one coordinate; the last shape has no end.
struct Mode {
    uint64_t shape, stride;
};
inline uint64_t position(uint64_t i, const std::vector<Mode>& modes) {
    uint64_t at = 0;
    for (size_t m = 0; m < modes.size(); ++m) {
        const bool last = m + 1 == modes.size();
        at += (last ? i : i % modes[m].shape) * modes[m].stride;
        i /= modes[m].shape;
    }
    return at;
}
// Swizzle<B, M, S> of a byte address.
inline uint64_t swizzle(uint64_t at, int b, int m, int s, uint64_t start) {
    const uint64_t rows = ((uint64_t{1} << b) - 1) << (m + s);
    return at ^ (((at - start) & rows) >> s);
}
// The byte where the element (mn, k) begins; elements of `bytes` (their 16-byte rows for those of 6
// and 4 bits: 1).
inline uint64_t element_at(const Fields& f, bool mn_major, uint32_t bytes, uint32_t mn,
                           uint32_t k) {
    const uint64_t t = 16 / bytes, none = uint64_t{1} << 32, lbo = f.leading / bytes,
                   sbo = f.stride / bytes;
    uint64_t s = 1;  // T that make a span
    int b = 0, m = 4, shift = 3;
    switch (f.mode) {
        case 6:
            s = 2, b = 1;
            break;
        case 4:
            s = 4, b = 2;
            break;
        case 2:
            s = 8, b = 3;
            break;
        case 1:
            s = 8, b = 2, m = 5, shift = 2;
            break;
    }
    std::vector<Mode> rows, columns;
    if (mn_major && f.mode == 0)
        rows = {{t, 1}, {none, sbo}}, columns = {{8, t}, {none, lbo}};
    else if (mn_major)
        rows = {{t, 1}, {s, t}, {none, lbo}},
        columns = {{f.mode == 1 ? 4u : 8u, s * t}, {none, sbo}};
    else
        // What is beyond a span follows at the leading offset (measured on sm_90, of sparse B).
        rows = {{8, s * t}, {none, sbo}}, columns = {{t, 1}, {s, t}, {none, lbo}};
    const uint64_t at = f.start + (position(mn, rows) + position(k, columns)) * bytes;
    return b ? swizzle(at, b, m, shift, uint64_t{f.base} << 7) : at;
}

// A number of `e` exponent and `m` mantissa bits, none of them special.
inline double number(uint32_t bits, int e, int m) {
    const int field = static_cast<int>(bits >> m & ((1u << e) - 1)), bias = (1 << (e - 1)) - 1;
    const double fraction = static_cast<double>(bits & ((1u << m) - 1)) / (1 << m);
    const double value =
        field ? std::ldexp(1 + fraction, field - bias) : std::ldexp(fraction, 1 - bias);
    return bits >> (e + m) & 1 ? -value : value;
}

// Bytes between pages that fault.
class Fenced {
  public:
    explicit Fenced(size_t bytes) : bytes_(bytes), pages_((bytes + 4095) / 4096 * 4096) {
        map_ = mmap(nullptr, pages_ + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_EQ(mprotect(static_cast<std::byte*>(map_) + 4096, pages_, PROT_READ | PROT_WRITE),
                  0);
    }
    ~Fenced() { munmap(map_, pages_ + 8192); }
    Fenced(const Fenced&) = delete;
    std::byte* data() const { return static_cast<std::byte*>(map_) + 4096 + (pages_ - bytes_); }
    size_t size() const { return bytes_; }

  private:
    size_t bytes_, pages_;
    void* map_;
};

// What an operation says that it touches. A byte told twice fails.
struct Told {
    std::set<uint64_t> shared, read, written;
    uint64_t calls = 0;

    template <class T>
    explicit Told(const T& operation) {
        touched(
            operation, [](void* self, const Touched& t) { static_cast<Told*>(self)->add(t); },
            this);
    }
    void add(const Touched& t) {
        ++calls;
        EXPECT_FALSE(t.write && !t.tensor);
        std::set<uint64_t>& to = !t.tensor ? shared : t.write ? written : read;
        for (uint64_t i = 0; i < t.bytes; ++i)
            EXPECT_TRUE(to.insert(t.address + i).second) << t.address + i;
    }
};
// Overwrites all but some bytes.
inline void poison(std::byte* memory, size_t bytes, const std::set<uint64_t>& but, Random& random) {
    for (size_t i = 0; i < bytes; ++i)
        if (!but.count(i)) memory[i] = static_cast<std::byte>(random());
}
inline uint64_t cell_at(uint32_t lane, uint32_t column) {
    return uint64_t{lane} * 2048 + column * 4;
}

}  // namespace sassemu::async::test
