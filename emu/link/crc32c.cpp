// SPDX-License-Identifier: Apache-2.0
// crc32c() of frame.hpp: the sum of Castagnoli's polynomial, as fast as the host can.
#include <algorithm>
#include <array>

#include "emu/link/frame.hpp"
#if defined(__SSE4_2__)
#include <immintrin.h>
#endif

namespace sassemu::link {

namespace {

#ifdef __SSE4_2__
constexpr size_t strand = 1024;
// The sum of something, once `strand` zero bytes have followed it: a matrix over bits, by bytes.
struct Shift {
    uint32_t of[4][256];
    Shift() {
        uint32_t matrix[32], square[32];  // what becomes of each bit; at first behind one zero bit
        matrix[0] = 0x82f63b78u;
        for (uint32_t i = 1; i < 32; ++i) matrix[i] = 1u << (i - 1);
        const auto times = [&](uint32_t v) {
            uint32_t sum = 0;
            for (uint32_t i = 0; i < 32; ++i) sum ^= v >> i & 1 ? matrix[i] : 0;
            return sum;
        };
        for (size_t bits = 1; bits < 8 * strand; bits *= 2) {
            for (uint32_t i = 0; i < 32; ++i) square[i] = times(matrix[i]);
            std::copy(std::begin(square), std::end(square), std::begin(matrix));
        }
        for (uint32_t k = 0; k < 4; ++k)
            for (uint32_t b = 0; b < 256; ++b) of[k][b] = times(b << 8 * k);
    }
    uint32_t operator()(uint32_t v) const {
        return of[0][v & 0xff] ^ of[1][v >> 8 & 0xff] ^ of[2][v >> 16 & 0xff] ^ of[3][v >> 24];
    }
};
uint64_t word_at(const std::byte* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// Where the processor multiplies polynomials eight words at a time (VPCLMULQDQ): what is behind is
// multiplied by a power of x that moves it onto what follows, 256 bytes in a step, so that at last
// 64 bytes stand for all. `by_x(n)` is x^n modulo the sum's polynomial, as the products want it.
constexpr uint64_t by_x(unsigned n) {
    uint32_t v = 0x80000000u;
    for (; n; --n) v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
    return uint64_t{v} << 1;
}
constexpr size_t folded = 256;
#define SASSEMU_FOLDS __attribute__((target("avx512f,vpclmulqdq")))
// v, `bits` further on; `to` is added.
template <unsigned bits>
SASSEMU_FOLDS inline __m512i move_on(__m512i v, __m512i to) {
    constexpr auto low = static_cast<long long>(by_x(bits + 32)),
                   high = static_cast<long long>(by_x(bits - 32));
    const __m512i powers = _mm512_set_epi64(high, low, high, low, high, low, high, low);
    return _mm512_xor_si512(to, _mm512_xor_si512(_mm512_clmulepi64_epi128(v, powers, 0x00),
                                                 _mm512_clmulepi64_epi128(v, powers, 0x11)));
}
// Of all whole steps from `at` on, which it leaves behind; with `to` they are copied as well.
SASSEMU_FOLDS uint32_t fold(uint32_t crc, const std::byte*& at, size_t& left, std::byte* to) {
    const auto* const from = at;
    __m512i v[4], next[4];
    for (; left >= folded; at += folded, left -= folded) {
        for (unsigned i = 0; i < 4; ++i) next[i] = _mm512_loadu_si512(at + 64 * i);
        if (to)
            for (unsigned i = 0; i < 4; ++i)
                _mm512_storeu_si512(to + (at - from) + 64 * i, next[i]);
        if (at == from)
            next[0] = _mm512_xor_si512(next[0], _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, crc));
        for (unsigned i = 0; i < 4; ++i)
            v[i] = at == from ? next[i] : move_on<8 * folded>(v[i], next[i]);
    }
    for (unsigned i = 0; i < 3; ++i) v[i + 1] = move_on<512>(v[i], v[i + 1]);
    uint64_t words[8], sum = 0;
    _mm512_storeu_si512(words, v[3]);
    for (const uint64_t word : words) sum = __builtin_ia32_crc32di(sum, word);
    return static_cast<uint32_t>(sum);
}
const bool folds = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
#else
constexpr auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t v = i;
        for (int k = 0; k < 8; ++k) v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
        t[i] = v;
    }
    return t;
}();
#endif

}  // namespace

uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes) {
#ifdef __SSE4_2__
    if (folds && bytes.size() >= 2 * folded) {
        const std::byte* at = bytes.data();
        size_t left = bytes.size();
        crc = ~fold(~crc, at, left, nullptr);
        return crc32c_by_words(crc, {at, left});
    }
#endif
    return crc32c_by_words(crc, bytes);
}

uint32_t crc32c_of_copy(uint32_t crc, std::span<const std::byte> bytes, std::byte* to) {
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
#ifdef __SSE4_2__
    if (folds && left >= 2 * folded) crc = ~fold(~crc, at, left, to);
#endif
    if (left) std::memcpy(to + (bytes.size() - left), at, left);
    return crc32c_by_words(crc, {at, left});
}

uint32_t crc32c_by_words(uint32_t crc, std::span<const std::byte> bytes) {
    crc = ~crc;
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
#ifdef __SSE4_2__
    uint64_t wide = crc;
    // The instruction takes three cycles, and there can be one in each: three sums at a time.
    for (; left >= 3 * strand; at += 3 * strand, left -= 3 * strand) {
        static const Shift shift;
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < strand; i += 8) {
            wide = __builtin_ia32_crc32di(wide, word_at(at + i));
            second = __builtin_ia32_crc32di(second, word_at(at + strand + i));
            third = __builtin_ia32_crc32di(third, word_at(at + 2 * strand + i));
        }
        wide = shift(static_cast<uint32_t>(wide)) ^ second;
        wide = shift(static_cast<uint32_t>(wide)) ^ third;
    }
    for (; left >= 8; at += 8, left -= 8) wide = __builtin_ia32_crc32di(wide, word_at(at));
    crc = static_cast<uint32_t>(wide);
    for (; left; ++at, --left) crc = __builtin_ia32_crc32qi(crc, static_cast<uint8_t>(*at));
#else
    for (; left; ++at, --left) crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(*at)) & 0xff];
#endif
    return ~crc;
}

}  // namespace sassemu::link
