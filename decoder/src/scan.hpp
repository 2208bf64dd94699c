// SPDX-License-Identifier: Apache-2.0
// Reading the small pieces of assembler text: blanks, numbers, registers, floating values. The
// inverse of text.hpp and float_text.cpp. Every function leaves `p` alone when the piece is not
// there.
#pragma once
#include <cstdint>
#include <cstring>

namespace sassdec::scan {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_alpha(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
// Characters that continue a name or a modifier.
inline bool is_word(char c) { return is_digit(c) || is_alpha(c) || c == '_'; }
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline const char* skip(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}

// The literal t, whatever follows.
inline bool literal(const char*& p, const char* t) {
    const char* q = p;
    while (*t)
        if (*q++ != *t++) return false;
    p = q;
    return true;
}

// The literal t as a whole name.
inline bool word(const char*& p, const char* t) {
    const char* q = p;
    if (!literal(q, t) || is_word(*q)) return false;
    p = q;
    return true;
}

// Decimal digits, at most four.
inline bool decimal(const char*& p, unsigned& v) {
    const char* q = p;
    unsigned n = 0;
    while (is_digit(*q) && q - p < 4) n = n * 10 + static_cast<unsigned>(*q++ - '0');
    if (q == p || is_digit(*q)) return false;
    v = n;
    p = q;
    return true;
}

struct Integer {
    std::uint64_t magnitude = 0;
    bool negative = false;
    std::uint64_t bits() const { return negative ? 0 - magnitude : magnitude; }
};

// [+-] decimal or 0x hex; false on more than 64 bits.
bool integer(const char*& p, Integer& v);

// R0..R254, RZ (255); with `uniform` UR0.., URZ.
bool reg(const char*& p, bool uniform, unsigned& index);
// P0..P6, PT (7); with `uniform` UP0..UP6, UPT.
bool pred(const char*& p, bool uniform, unsigned& index);

// How a floating immediate is stored.
enum class Float { f16, bf16, f32, f64 };

// A decimal number, INF/QNAN/SNAN with an optional sign, or raw bits as PTX writes them
// (0f3F800000, 0d3FF0000000000000). The value's bits in the given format; false when it is no
// number or does not fit.
bool floating(const char*& p, Float format, std::uint64_t& bits);

}  // namespace sassdec::scan
