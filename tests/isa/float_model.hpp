// SPDX-License-Identifier: Apache-2.0
// Binary floating-point formats as models see them: exact values in __float128, one rounding at the
// end. Written apart from the lane algebra; NaN results are canonical as numbers of that format are
// on the machine. What belongs here: formats and operations. What does not: instructions.
#pragma once

#include <cstdint>
#include <cstring>

namespace sassemu::test {

using Quad = __float128;

struct Format {
    int exponent_bits, fraction_bits;
    uint64_t nan;
    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << fraction_bits; }
    uint64_t sign() const { return uint64_t{1} << (exponent_bits + fraction_bits); }
    uint64_t one() const { return static_cast<uint64_t>(bias()) << fraction_bits; }
};
constexpr Format f16{5, 10, 0x7fff}, bf16{8, 7, 0x7fff}, f32{8, 23, 0x7fffffff},
    f64{11, 52, 0x7ff8000000000000};

inline bool is_nan(Format f, uint64_t x) { return (x & ~f.sign()) > f.infinity(); }
inline bool is_infinite(Format f, uint64_t x) { return (x & ~f.sign()) == f.infinity(); }
inline bool is_subnormal(Format f, uint64_t x) { return (x & f.infinity()) == 0; }
inline uint64_t flushed(Format f, uint64_t x, bool ftz) {
    return ftz && is_subnormal(f, x) ? x & f.sign() : x;
}
inline Quad power_of_two(int e) {
    const unsigned __int128 bits = static_cast<unsigned __int128>(16383 + e) << 112;
    Quad r;
    std::memcpy(&r, &bits, sizeof r);
    return r;
}
// Of a finite number.
inline Quad value(Format f, uint64_t x) {
    const int field = static_cast<int>((x & f.infinity()) >> f.fraction_bits);
    uint64_t fraction = x & ((uint64_t{1} << f.fraction_bits) - 1);
    if (field) fraction |= uint64_t{1} << f.fraction_bits;
    const Quad v = static_cast<Quad>(fraction) *
                   power_of_two((field ? field : 1) - f.bias() - f.fraction_bits);
    return x & f.sign() ? -v : v;
}
inline int exponent(Quad v) {
    unsigned __int128 bits;
    std::memcpy(&bits, &v, sizeof bits);
    return static_cast<int>(bits >> 112 & 0x7fff) - 16383;
}
// v + rest, where |rest| is far below v's last place, to format f; v is not zero. Modes: nearest
// even, down, up, towards zero.
inline uint64_t rounded(Format f, Quad v, Quad rest, int mode) {
    const bool negative = v < 0;
    if (negative) {
        v = -v;
        rest = -rest;
    }
    const int smallest = 1 - f.bias();
    int e = exponent(v);
    if (e < smallest) e = smallest;
    const Quad scaled = v * power_of_two(f.fraction_bits - e);
    const __int128 whole = static_cast<__int128>(scaled);
    const Quad part = scaled - static_cast<Quad>(whole);
    __int128 n = whole;
    const bool above = part > 0 || rest > 0, below = part == 0 && rest < 0;
    if (below) --n;  // just under `whole`
    bool up = false;
    if (above || below) {
        const Quad half = static_cast<Quad>(0.5);
        if (mode == 0)
            up = below || part > half || (part == half && (rest > 0 || (rest == 0 && (n & 1))));
        if (mode == 1) up = negative;
        if (mode == 2) up = !negative;
    }
    if (up) ++n;
    const uint64_t s = negative ? f.sign() : 0;
    // The bits of a positive number grow with it: n carries into the exponent by itself.
    const uint64_t bits =
        static_cast<uint64_t>(n) + (static_cast<uint64_t>(e - smallest) << f.fraction_bits);
    if (bits < f.infinity()) return s | bits;
    const bool to_infinity = mode == 0 || (mode == 1 && negative) || (mode == 2 && !negative);
    return s | (to_infinity ? f.infinity() : f.infinity() - 1);
}

// a * b + c with the operands' bits; `product_only` leaves c out (then c's sign does not count).
inline uint64_t multiply_add(Format f, uint64_t a, uint64_t b, uint64_t c, int mode, bool ftz,
                             bool product_only = false) {
    a = flushed(f, a, ftz);
    b = flushed(f, b, ftz);
    c = flushed(f, c, ftz);
    if (is_nan(f, a) || is_nan(f, b) || (!product_only && is_nan(f, c))) return f.nan;
    const uint64_t sign = (a ^ b) & f.sign();
    const bool zero_a = !(a & ~f.sign()), zero_b = !(b & ~f.sign());
    if (is_infinite(f, a) || is_infinite(f, b)) {
        if (zero_a || zero_b) return f.nan;
        if (!product_only && is_infinite(f, c) && (c & f.sign()) != sign) return f.nan;
        return sign | f.infinity();
    }
    if (!product_only && is_infinite(f, c)) return c;
    if (product_only && (zero_a || zero_b)) return sign;
    const Quad p = value(f, a) * value(f, b), z = product_only ? 0 : value(f, c);
    // Knuth's two-sum: sum + rest == p + z.
    const Quad sum = p + z, back = sum - p, rest = (p - (sum - back)) + (z - back);
    if (sum == 0) {
        const bool both = (zero_a || zero_b) && z == 0 && sign == (c & f.sign());
        return both ? sign : mode == 1 ? f.sign() : 0;
    }
    return flushed(f, rounded(f, sum, rest, mode), ftz);
}
inline uint64_t add(Format f, uint64_t a, uint64_t b, int mode, bool ftz) {
    return multiply_add(f, a, f.one(), b, mode, ftz);
}
inline uint64_t saturated(Format f, uint64_t x) {
    if (is_nan(f, x) || (x & f.sign())) return 0;
    return x > f.one() ? f.one() : x;
}
inline int order(Format f, uint64_t a, uint64_t b) {  // 1 less, 2 equal, 4 greater, 8 unordered
    if (is_nan(f, a) || is_nan(f, b)) return 8;
    const auto key = [&](uint64_t x) {
        const int64_t m = static_cast<int64_t>(x & ~f.sign());
        return x & f.sign() ? -m : m;
    };
    return key(a) < key(b) ? 1 : key(a) == key(b) ? 2 : 4;
}
inline uint64_t extreme(Format f, uint64_t a, uint64_t b, bool min, bool nan_wins) {
    const bool na = is_nan(f, a), nb = is_nan(f, b);
    if ((na && nb) || (nan_wins && (na || nb))) return f.nan;
    if (na || nb) return na ? b : a;
    const int o = order(f, a, b);
    if (o == 2) return (a & f.sign()) ? (min ? a : b) : (min ? b : a);
    return (o == 1) == min ? a : b;
}
inline uint64_t modified(Format f, uint64_t x, bool absolute, bool negative) {
    if (absolute) x &= ~f.sign();
    return negative ? x ^ f.sign() : x;
}
// From one format to another.
inline uint64_t converted(Format from, Format to, uint64_t x, int mode) {
    if (is_nan(from, x)) return to.nan;
    const uint64_t sign = x & from.sign() ? to.sign() : 0;
    if (is_infinite(from, x)) return sign | to.infinity();
    if (!(x & ~from.sign())) return sign;
    return rounded(to, value(from, x), 0, mode);
}

}  // namespace sassemu::test
