// SPDX-License-Identifier: Apache-2.0
// One result of a tensor core's fused step, in integers: the reference of the vector levels, and
// what they use for infinities and NaN.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace scalar {

struct MatrixShape {
    int exponent_bits, mantissa;
    enum Top : uint8_t { ieee, one_nan, finite } top;  // what the largest exponent means
    constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr MatrixShape matrix_shape(lanes::MatrixFormat f) {
    using F = lanes::MatrixFormat;
    switch (f) {
        case F::f16:
            return {5, 10, MatrixShape::ieee};
        case F::bf16:
            return {8, 7, MatrixShape::ieee};
        case F::tf32:
            return {8, 10, MatrixShape::ieee};
        case F::e4m3:
            return {4, 3, MatrixShape::one_nan};
        case F::e5m2:
            return {5, 2, MatrixShape::ieee};
        case F::e3m2:
            return {3, 2, MatrixShape::finite};
        case F::e2m3:
            return {2, 3, MatrixShape::finite};
        case F::e2m1:
            return {2, 1, MatrixShape::finite};
    }
    return {};
}
inline constexpr MatrixShape matrix_f32{8, 23, MatrixShape::ieee};

// value = significand * 2^(exponent - mantissa bits); subnormals keep the smallest exponent.
struct MatrixNumber {
    int64_t significand;
    int exponent;
    bool infinite, nan;
};
SASSEMU_INLINE MatrixNumber matrix_number(uint32_t bits, MatrixShape s) {
    const uint32_t top = (1u << s.exponent_bits) - 1;
    const uint32_t e = bits >> s.mantissa & top;
    int64_t m = bits & ((1u << s.mantissa) - 1);
    const bool negative = bits >> (s.mantissa + s.exponent_bits) & 1;
    MatrixNumber r{};
    if (e == top && s.top == MatrixShape::ieee) {
        r.nan = m != 0;
        r.infinite = m == 0;
        r.significand = negative ? -1 : 1;
        return r;
    }
    if (e == top && s.top == MatrixShape::one_nan && m == (1 << s.mantissa) - 1) {
        r.nan = true;
        return r;
    }
    if (e) m |= int64_t{1} << s.mantissa;
    r.significand = negative ? -m : m;
    r.exponent = (e ? static_cast<int>(e) : 1) - s.bias();
    return r;
}
SASSEMU_INLINE MatrixNumber matrix_element(uint32_t word, lanes::MatrixFormat f) {
    return matrix_number(f == lanes::MatrixFormat::tf32 ? word >> 13 : word, matrix_shape(f));
}

// sum * 2^exponent in the result format. What rounds to zero is +0, whatever its sign.
SASSEMU_INLINE uint32_t matrix_round(int64_t sum, int exponent, lanes::MatrixResult result) {
    const bool half = result == lanes::MatrixResult::f16;
    const MatrixShape s = half ? matrix_shape(lanes::MatrixFormat::f16) : matrix_f32;
    const int kept = result == lanes::MatrixResult::f32_short ? 13 : s.mantissa;
    const uint32_t sign = sum < 0 ? 1u << (s.mantissa + s.exponent_bits) : 0;
    if (sum == 0) return 0;
    uint64_t m = sum < 0 ? 0 - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
    const int high = 63 - __builtin_clzll(m);  // the value is in [2^(high + exponent), ...)
    int e = high + exponent < 1 - s.bias() ? 1 - s.bias() : high + exponent;
    const int drop = e - kept - exponent;  // bits below the last kept one
    if (drop > 0) {
        const uint64_t rest = drop < 64 ? m & ((uint64_t{1} << drop) - 1) : m;
        m = drop < 64 ? m >> drop : 0;
        if (half && drop < 64) {
            const uint64_t tie = uint64_t{1} << (drop - 1);
            m += rest > tie || (rest == tie && (m & 1));
        }
    } else {
        m <<= -drop;
    }
    m <<= s.mantissa - kept;
    // A mantissa that rounded up to 2 carries into the exponent by itself.
    uint64_t bits =
        m >> s.mantissa ? m + (static_cast<uint64_t>(e + s.bias() - 1) << s.mantissa) : m;
    const uint64_t infinity = ((uint64_t{1} << s.exponent_bits) - 1) << s.mantissa;
    if (e > s.bias() || bits > infinity) bits = infinity;
    if (bits == 0) return 0;
    return sign | static_cast<uint32_t>(bits);
}

// v * 2^shift towards zero.
SASSEMU_INLINE int64_t matrix_cut(int64_t v, int shift) {
    if (shift >= 0) return v << shift;
    if (shift < -62) return 0;
    return v < 0 ? -(-v >> -shift) : v >> -shift;
}

// d = sum over k in [begin, end) of a[k] * b[k], plus c.
struct MatrixStep {
    const MatrixTile* tile;
    const MatrixColumns* b;
    MatrixFormat fa, fb;
    MatrixRule rule;
    unsigned begin, end;
    const lanes::MatrixScales* scales = nullptr;
};
SASSEMU_INLINE uint32_t matrix_fused(const MatrixStep& s, unsigned half, unsigned row,
                                     unsigned column, uint32_t c_bits) {
    const bool f16 = s.rule.result == lanes::MatrixResult::f16;
    const MatrixShape sc = f16 ? matrix_shape(lanes::MatrixFormat::f16) : matrix_f32;
    const int fraction = matrix_shape(s.fa).mantissa + matrix_shape(s.fb).mantissa;
    MatrixNumber c = matrix_number(c_bits, sc);
    c.exponent -= s.rule.scale;
    const uint32_t nan = f16 ? kF16Nan : kF32Nan;
    struct {
        int64_t significand;
        int exponent;
    } term[MatrixTile::max_k];
    unsigned terms = 0;
    int emax = s.rule.floor;
    bool plus = c.infinite && c.significand > 0, minus = c.infinite && c.significand < 0;
    if (c.nan) return nan;
    int scale = 0;
    if (s.scales) {
        const uint8_t of_row = s.scales->row[8 * half + row], of_column = s.scales->column[column];
        if (of_row == 255 || of_column == 255) return nan;
        scale = of_row + of_column - 2 * 127;
    }
    if (!c.infinite && c.significand && c.exponent > emax) emax = c.exponent;
    for (unsigned k = s.begin; k < s.end; ++k) {
        if (s.tile->sparse && !(s.tile->present[half][row] >> k & 1)) continue;
        const MatrixNumber a = matrix_element(s.tile->a[half][k][row], s.fa);
        const MatrixNumber b = matrix_element(s.b->row[k][column], s.fb);
        if (a.nan || b.nan) return nan;
        if (a.infinite || b.infinite) {
            if (a.significand == 0 || b.significand == 0) return nan;
            ((a.significand < 0) != (b.significand < 0) ? minus : plus) = true;
            continue;
        }
        const int64_t p = a.significand * b.significand;
        if (p == 0) continue;
        const int e = a.exponent + b.exponent + scale;
        if (e > emax) emax = e;
        term[terms++] = {p, e};
    }
    if (plus || minus) {
        if (plus && minus) return nan;
        const uint32_t infinity = f16 ? 0x7c00u : 0x7f800000u;
        return minus ? infinity | (f16 ? 0x8000u : 0x80000000u) : infinity;
    }
    int64_t sum = matrix_cut(c.significand, s.rule.fraction - sc.mantissa + c.exponent - emax);
    for (unsigned i = 0; i < terms; ++i)
        sum +=
            matrix_cut(term[i].significand, s.rule.fraction - fraction + term[i].exponent - emax);
    return matrix_round(sum, emax - s.rule.fraction, s.rule.result);
}
inline void matrix_column(MatrixTile& tile, const MatrixStep& s, unsigned n) {
    for (unsigned half = 0; half < 2; ++half)
        for (unsigned row = 0; row < 8; ++row) {
            uint32_t& c = tile.c[2 * half + (n & 1)][8 * (n >> 1) + row];
            c = matrix_fused(s, half, row, n, c);
        }
}

// A scale: significand / 8 * 2^exponent.
struct MatrixScale {
    int significand, exponent;
    bool nan;
};
SASSEMU_INLINE MatrixScale matrix_scale(uint8_t code, bool ue4m3) {
    if (!ue4m3) return {8, code - 127, code == 255};
    const int e = code >> 3 & 15, m = code & 7;
    return {e ? 8 + m : m, (e ? e : 1) - 7, (code & 0x7f) == 0x7f};
}
SASSEMU_INLINE uint32_t matrix_grouped(const lanes::MatrixGroups& g, unsigned row, unsigned n,
                                       uint32_t c_bits) {
    const MatrixNumber c = matrix_number(c_bits, matrix_f32);
    if (c.nan) return kF32Nan;
    int emax = g.rule.floor;
    if (!c.infinite && c.significand && c.exponent > emax) emax = c.exponent;
    struct {
        int64_t significand;
        int exponent;
    } term[lanes::MatrixGroups::max_groups];
    for (unsigned i = 0; i < g.groups; ++i) {
        const MatrixScale a = matrix_scale(g.row[i][row], g.ue4m3),
                          b = matrix_scale(g.column[i][n], g.ue4m3);
        if (a.nan || b.nan) return kF32Nan;
        int64_t sum = 0;
        for (unsigned k = i * g.pairs; k < (i + 1) * g.pairs; ++k) {
            const uint32_t x = g.a[k][row], y = g.b[k][n];
            sum += static_cast<int16_t>(x) * static_cast<int16_t>(y);
            sum += static_cast<int16_t>(x >> 16) * static_cast<int16_t>(y >> 16);
        }
        term[i] = {sum * a.significand * b.significand, a.exponent + b.exponent};
        if (a.significand && b.significand && term[i].exponent > emax) emax = term[i].exponent;
    }
    if (c.infinite) return c_bits;
    int64_t sum = matrix_cut(c.significand, g.rule.fraction - 23 + c.exponent - emax);
    for (unsigned i = 0; i < g.groups; ++i)
        sum += matrix_cut(term[i].significand,
                          g.rule.fraction - 8 + term[i].exponent - emax);  // of 1/4 and of 1/64
    return matrix_round(sum, emax - g.rule.fraction, g.rule.result);
}
inline void matrix_grouped_column(lanes::MatrixGroups& g, unsigned n) {
    for (unsigned row = 0; row < 16; ++row) {
        uint32_t& c = g.c[row / 8 * 2 + (n & 1)][n / 2 * 8 + row % 8];
        c = matrix_grouped(g, row, n, c);
    }
}
}  // namespace scalar
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
