// SPDX-License-Identifier: Apache-2.0
// What tests take for the sums of a tensor core of Blackwell, term by term in wide integers, from
// what is published (MMA-Sim, arXiv 2511.10909; emu/isa/MATRIX.md). Shares no code with the lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sassemu::exact {

// m * 2^e; infinite: the sign of m counts.
struct Number {
    int64_t m = 0;
    int e = 0;      // of the leading place, which subnormals keep and zeros lack
    int shift = 0;  // m counts 2^(e - shift)
    bool nan = false, infinite = false;
};
struct Layout {
    int e, m;      // bits
    int specials;  // 2: infinities and NaN as IEEE 754; 1: one NaN; 0: none
};
constexpr Layout f32{8, 23, 2}, f16{5, 10, 2}, bf16{8, 7, 2}, tf32{8, 10, 2}, e4m3{4, 3, 1},
    e5m2{5, 2, 2}, e3m2{3, 2, 0}, e2m3{2, 3, 0}, e2m1{2, 1, 0};

inline Number number(uint32_t bits, Layout l) {
    const uint32_t field = bits >> l.m & ((1u << l.e) - 1), fraction = bits & ((1u << l.m) - 1);
    const bool top = field == (1u << l.e) - 1, minus = bits >> (l.e + l.m) & 1;
    Number n;
    n.shift = l.m;
    n.m = field ? (int64_t{1} << l.m) | fraction : fraction;
    if (minus) n.m = -n.m;
    n.e = (field ? static_cast<int>(field) : 1) - ((1 << (l.e - 1)) - 1);
    if (top && l.specials == 2) (fraction ? n.nan : n.infinite) = true;
    if (top && l.specials == 1 && fraction == (1u << l.m) - 1) n.nan = true;
    return n;
}

struct Term {
    __int128 m = 0;
    int e = 0, shift = 0;  // m * 2^(e - shift), and e counts for the largest exponent
    bool counts = true;    // even where m is zero
};
// The sum in f32 or f16; `kept` bits below the largest exponent, which is at least `least`.
inline uint32_t rounded_sum(const std::vector<Term>& terms, int kept, int least, bool half) {
    int top = least;
    for (const Term& t : terms)
        if (t.counts && t.e > top) top = t.e;
    __int128 sum = 0;
    for (const Term& t : terms) {
        const int up = t.e - t.shift + kept - top;  // in units of 2^(top - kept)
        const __int128 magnitude = t.m < 0 ? -t.m : t.m;
        const __int128 cut = up >= 0 ? magnitude << up : up > -120 ? magnitude >> -up : 0;
        sum += t.m < 0 ? -cut : cut;
    }
    if (sum == 0) return 0;
    const bool minus = sum < 0;
    unsigned __int128 m = static_cast<unsigned __int128>(minus ? -sum : sum);
    int high = 127;
    while (!(m >> high & 1)) --high;
    const int mantissa = half ? 10 : 23, bias = half ? 15 : 127;
    const int unit = top - kept;
    int e =
        high + unit < 1 - bias ? 1 - bias : high + unit;  // the exponent that it is written with
    const int down = e - mantissa - unit;                 // bits of m that do not fit
    unsigned __int128 q = down <= 0 ? m << -down : down > 127 ? 0 : m >> down;
    if (half && down > 0) {
        const unsigned __int128 rest = down > 127 ? m : m - (q << down),
                                tie = (unsigned __int128)1 << (down - 1);
        if (down <= 127 && (rest > tie || (rest == tie && (q & 1)))) ++q;
    }
    if (q >> (mantissa + 1)) q >>= 1, ++e;
    uint32_t bits;
    if (e > bias)
        bits = half ? 0x7c00 : 0x7f800000;
    else if (q >> mantissa & 1)
        bits = static_cast<uint32_t>(e + bias) << mantissa |
               static_cast<uint32_t>(q & (((unsigned __int128)1 << mantissa) - 1));
    else
        bits = static_cast<uint32_t>(q);
    return bits && minus ? bits | (half ? 0x8000u : 0x80000000u) : bits;
}

// One fused step: products of a[i] and b[i], scaled by 2^scale, and the accumulator; `scale`
// absent: a scale is NaN.
inline uint32_t fused(const std::vector<Number>& a, const std::vector<Number>& b, uint32_t c,
                      std::optional<int> scale, bool half, int c_down = 0) {
    const uint32_t nan = half ? 0x7fff : 0x7fffffff, infinity = half ? 0x7c00 : 0x7f800000;
    if (!scale) return nan;
    Number d = number(c, half ? f16 : f32);
    std::vector<Term> terms;
    bool plus = d.infinite && d.m > 0, minus = d.infinite && d.m < 0;
    if (d.nan) return nan;
    if (!d.infinite) terms.push_back({d.m, d.e - c_down, d.shift, d.m != 0});
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i].nan || b[i].nan) return nan;
        if (a[i].infinite || b[i].infinite) {
            if ((!a[i].infinite && a[i].m == 0) || (!b[i].infinite && b[i].m == 0)) return nan;
            ((a[i].m < 0) != (b[i].m < 0) ? minus : plus) = true;
            continue;
        }
        const __int128 m = static_cast<__int128>(a[i].m) * b[i].m;
        terms.push_back({m, a[i].e + b[i].e + *scale, a[i].shift + b[i].shift, m != 0});
    }
    if (plus && minus) return nan;
    if (plus) return infinity;
    if (minus) return infinity | (half ? 0x8000u : 0x80000000u);
    return rounded_sum(terms, 25, half ? -21 : -133, half);
}

// A scale: its significand in eighths.
struct Scale {
    int m, e;
    bool nan;
};
inline Scale scale(uint8_t code, bool ue4m3) {
    if (!ue4m3) return {8, code - 127, code == 0xff};
    const Number n = number(code & 0x7f, e4m3);
    return {static_cast<int>(n.m), n.e, n.nan};
}
// Groups of e2m1 with scales of their own; a and b as numbers of all groups, one after the other.
inline uint32_t grouped(const std::vector<Number>& a, const std::vector<Number>& b,
                        const std::vector<Scale>& sa, const std::vector<Scale>& sb, uint32_t c) {
    const Number d = number(c, f32);
    bool nan = d.nan;
    for (size_t g = 0; g < sa.size(); ++g) nan |= sa[g].nan || sb[g].nan;
    if (nan) return 0x7fffffff;
    if (d.infinite) return c;
    std::vector<Term> terms{{d.m, d.e, d.shift, d.m != 0}};
    const size_t each = a.size() / sa.size();
    for (size_t g = 0; g < sa.size(); ++g) {
        __int128 quarters = 0;
        for (size_t i = g * each; i < (g + 1) * each; ++i)
            quarters += a[i].m * b[i].m * (1 << (a[i].e + b[i].e));  // exponents of e2m1: 0, 1, 2
        terms.push_back(
            {quarters * sa[g].m * sb[g].m, sa[g].e + sb[g].e, 2 + 6, sa[g].m != 0 && sb[g].m != 0});
    }
    return rounded_sum(terms, 35, -126, false);
}

}  // namespace sassemu::exact
