// SPDX-License-Identifier: Apache-2.0
// See scan.hpp. Locale-free: numbers go through std::from_chars.
#include "scan.hpp"

#include <bit>
#include <charconv>
#include <cmath>

namespace sassdec::scan {
namespace {

int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool hex(const char*& p, std::uint64_t& v) {
    const char* q = p;
    std::uint64_t n = 0;
    for (; hex_digit(*q) >= 0; ++q) {
        if (n >> 60) return false;
        n = n << 4 | static_cast<std::uint64_t>(hex_digit(*q));
    }
    if (q == p || is_word(*q)) return false;
    v = n;
    p = q;
    return true;
}

// Round to nearest even into a format with `man` mantissa bits and the given exponent bias; false
// on overflow, and where nothing would be left of a number: then another format of the same
// instruction may be meant.
bool narrow(double v, unsigned man, int bias, std::uint64_t& bits) {
    const std::uint64_t sign = std::signbit(v) ? 1 : 0;
    const double a = std::fabs(v);
    int e = 0;
    std::frexp(a, &e);  // a = m * 2^e, m in [0.5, 1)
    const int lowest = 1 - bias;
    if (a == 0 || e - 1 < lowest) e = lowest + 1;
    double units = std::nearbyint(std::ldexp(a, static_cast<int>(man) - (e - 1)));
    std::uint64_t u = static_cast<std::uint64_t>(units);
    int exponent = e - 1 + bias;
    if (u == 0 && a != 0) return false;
    if (u >> (man + 1)) {
        u >>= 1;
        ++exponent;
    }
    if (!(u >> man)) exponent = 0;  // subnormal or zero
    if (exponent >= 2 * bias + 1) return false;
    const unsigned exponent_bits = bias == 15 ? 5 : 8;
    bits = sign << (man + exponent_bits) | static_cast<std::uint64_t>(exponent) << man |
           (u & ((std::uint64_t{1} << man) - 1));
    return true;
}

struct Layout {
    unsigned bits, man;
};
Layout layout(Float f) {
    switch (f) {
        case Float::f16:
            return {16, 10};
        case Float::bf16:
            return {16, 7};
        case Float::f32:
            return {32, 23};
        default:
            return {64, 52};
    }
}

bool special(const char*& p, Float format, std::uint64_t& bits) {
    const char* q = p;
    const bool negative = *q == '-';
    if (*q == '-' || *q == '+') ++q;
    const Layout l = layout(format);
    const std::uint64_t exponent = ((std::uint64_t{1} << (l.bits - 1)) - 1) >> l.man << l.man;
    std::uint64_t v;
    if (word(q, "INF"))
        v = exponent;
    else if (word(q, "QNAN"))
        v = exponent | std::uint64_t{1} << (l.man - 1);
    else if (word(q, "SNAN"))
        v = exponent | std::uint64_t{1} << (l.man - 2);
    else
        return false;
    bits = v | static_cast<std::uint64_t>(negative) << (l.bits - 1);
    p = q;
    return true;
}

}  // namespace

bool integer(const char*& p, Integer& v) {
    const char* q = p;
    Integer n;
    if (*q == '-' || *q == '+') n.negative = *q++ == '-';
    if (q[0] == '0' && (q[1] == 'x' || q[1] == 'X')) {
        q += 2;
        if (!hex(q, n.magnitude)) return false;
    } else {
        const char* start = q;
        for (; is_digit(*q); ++q) {
            const unsigned d = static_cast<unsigned>(*q - '0');
            if (n.magnitude > (~std::uint64_t{0} - d) / 10) return false;
            n.magnitude = n.magnitude * 10 + d;
        }
        if (q == start || is_word(*q) || *q == '.') return false;
    }
    v = n;
    p = q;
    return true;
}

bool reg(const char*& p, bool uniform, unsigned& index) {
    const char* q = p;
    if (uniform && *q++ != 'U') return false;
    if (*q++ != 'R') return false;
    unsigned n = 255;
    if (*q == 'Z')
        ++q;
    else if (!decimal(q, n) || n > 254)
        return false;
    if (is_word(*q)) return false;
    index = n;
    p = q;
    return true;
}

bool pred(const char*& p, bool uniform, unsigned& index) {
    const char* q = p;
    if (uniform && *q++ != 'U') return false;
    if (*q++ != 'P') return false;
    unsigned n = 7;
    if (*q == 'T')
        ++q;
    else if (!decimal(q, n) || n > 6)
        return false;
    if (is_word(*q)) return false;
    index = n;
    p = q;
    return true;
}

bool floating(const char*& p, Float format, std::uint64_t& bits) {
    if (special(p, format, bits)) return true;
    const char* q = p;
    if (q[0] == '0' && (q[1] == 'f' || q[1] == 'd') && hex_digit(q[2]) >= 0) {
        const bool wide = q[1] == 'd';
        q += 2;
        std::uint64_t raw;
        const char* start = q;
        if (wide != (format == Float::f64) || !hex(q, raw) || q - start != layout(format).bits / 4)
            return false;
        bits = raw;
        p = q;
        return true;
    }
    if (*q == '+') ++q;
    if (!is_digit(*q) && *q != '-' && *q != '.') return false;
    const char* end = q + std::strlen(q);
    std::from_chars_result r{};
    bool fits = true;
    if (format == Float::f32) {
        float v = 0;
        r = std::from_chars(q, end, v);
        bits = std::bit_cast<std::uint32_t>(v);
    } else {
        double v = 0;
        r = std::from_chars(q, end, v);
        if (format == Float::f64)
            bits = std::bit_cast<std::uint64_t>(v);
        else
            fits = r.ec == std::errc{} &&
                   (format == Float::f16 ? narrow(v, 10, 15, bits) : narrow(v, 7, 127, bits));
    }
    if (r.ec != std::errc{} || !fits || r.ptr == q) return false;
    if (r.ptr[-1] == '.' && is_word(*r.ptr)) --r.ptr;  // the dot of a suffix: 1.H1
    if (is_word(*r.ptr)) return false;
    p = r.ptr;
    return true;
}

}  // namespace sassdec::scan
