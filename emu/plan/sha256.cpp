// SPDX-License-Identifier: Apache-2.0
// See sha256.hpp. Names of the functions and variables follow FIPS 180-4.
#include "emu/plan/sha256.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "emu/base/limits.hpp"

namespace sassemu::plan {
namespace {

// The constants are fractional parts of roots of the first primes (FIPS 180-4, 4.2.2 and 5.3.3):
// computing them in integers leaves nothing to mistype.
constexpr uint32_t root_fraction(uint64_t prime, int degree) {
    // The largest r with r^degree <= prime * 2^(32*degree); its low 32 bits are the fraction.
    using Wide = unsigned __int128;
    uint64_t root = 0;
    for (int bit = 36; bit >= 0; --bit) {
        const uint64_t r = root | uint64_t{1} << bit;
        bool fits;
        if (degree == 2) {
            fits = Wide{r} * r <= Wide{prime} << 64;
        } else {
            // r^3 <= prime * 2^96, compared through floor(prime * 2^96 / r) >= r^2, where r < 2^36
            // and so r^2 < 2^72.
            const Wide square = Wide{r} * r;
            fits = (Wide{prime} << 96) / r >= square;
        }
        if (fits) root = r;
    }
    return static_cast<uint32_t>(root);
}

template <size_t count>
constexpr std::array<uint32_t, count> root_fractions(int degree) {
    std::array<uint32_t, count> values{};
    size_t found = 0;
    for (uint64_t candidate = 2; found < count; ++candidate) {
        bool prime = true;
        for (uint64_t d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
        if (prime) values[found++] = root_fraction(candidate, degree);
    }
    return values;
}

constexpr auto k = root_fractions<64>(3);
constexpr auto initial_hash = root_fractions<8>(2);
static_assert(k[0] == 0x428a2f98 && initial_hash[0] == 0x6a09e667);

void compress(std::array<uint32_t, 8>& hash, const unsigned char* block) {
    std::array<uint32_t, 64> w;
    for (size_t t = 0; t < 16; ++t) {
        w[t] = uint32_t{block[4 * t]} << 24 | uint32_t{block[4 * t + 1]} << 16 |
               uint32_t{block[4 * t + 2]} << 8 | block[4 * t + 3];
    }
    for (size_t t = 16; t < 64; ++t) {
        const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
        const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = hash;
    for (size_t t = 0; t < 64; ++t) {
        const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k[t] + w[t];
        const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const std::array<uint32_t, 8> added{a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) hash[i] += added[i];
}

}  // namespace

Result<std::string> sha256_hex(ByteSource& bytes) {
    std::array<uint32_t, 8> hash = initial_hash;
    std::vector<std::byte> piece(std::min<uint64_t>(bytes.size(), ByteSource::piece));
    const auto* data = reinterpret_cast<const unsigned char*>(piece.data());
    const size_t rest = bytes.size() % 64;
    size_t size = 0;
    for (uint64_t at = 0; at < bytes.size(); at += size) {
        size = std::min<uint64_t>(bytes.size() - at, piece.size());
        SASSEMU_TRY(process_budget().check("SHA-256"));
        SASSEMU_TRY(bytes.read(at, std::span(piece).first(size)));
        for (size_t i = 0; i + 64 <= size; i += 64) compress(hash, data + i);
    }

    // The rest, a one bit, zeros and the length in bits: one block or two.
    std::array<unsigned char, 128> tail{};
    if (rest != 0) std::memcpy(tail.data(), data + size - rest, rest);
    tail[rest] = 0x80;
    const size_t length = rest < 56 ? 64 : 128;
    const uint64_t bits = uint64_t{bytes.size()} * 8;
    for (size_t i = 0; i < 8; ++i) {
        tail[length - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
    }
    for (size_t i = 0; i < length; i += 64) compress(hash, tail.data() + i);

    std::string text;
    for (const uint32_t word : hash) {
        for (int shift = 28; shift >= 0; shift -= 4)
            text += "0123456789abcdef"[(word >> shift) & 15];
    }
    return text;
}

}  // namespace sassemu::plan
