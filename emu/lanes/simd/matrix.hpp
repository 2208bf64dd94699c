// SPDX-License-Identifier: Apache-2.0
// A tensor core's fused step for the vector levels. scalar/matrix.hpp defines it; here the same
// sums are made of 32-bit integers, two columns of sixteen rows at a time:
//   - a word holds an element's exponent over its significand of at most 11 bits: a 16-bit
//   multiply-add
//     makes the product, and words add and compare as their exponents do,
//   - a product in units of 2^-25 is cut by a shift, and eight of them add up below 2^30,
//   - terms that are zero have an exponent so small that it is never the largest,
//   - infinities and NaN are for the reference to settle, two columns at a time.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

// Operands whose elements are taken apart.
struct MatrixLeft {
    alignas(64) uint32_t plane[MatrixTile::max_k][16];  // exponent << 16 | signed significand
    bool special;                                       // an infinity or a NaN
};
struct MatrixRight {
    alignas(64) uint32_t plane[MatrixTile::max_k][8], exponent[MatrixTile::max_k][8];  // << 16
    bool special;
};

namespace k {

inline constexpr int kDoubles = kChunkLanes / 2;  // per CD
inline constexpr int kColumn = 16 / kChunkLanes;  // chunks for sixteen rows
inline constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;
inline constexpr int kProductBits = 25;  // below the point, before the cut
inline constexpr int kNoExponent = -8192;

constexpr uint64_t power_of_two(int e) { return static_cast<uint64_t>(e + 1023) << 52; }

// Numbers of a format, the bits above which do not count: significands without sign, the smallest
// exponent for subnormals, none for zeros.
struct MatrixNumbers {
    C32 significand, exponent, sign;  // sign: all ones or zero
};
SASSEMU_INLINE MatrixNumbers matrix_numbers(C32 x, scalar::MatrixShape s) {
    const uint32_t top = (1u << s.exponent_bits) - 1, leading = 1u << s.mantissa;
    const C32 field = x >> static_cast<uint32_t>(s.mantissa) & top, fraction = x & (leading - 1);
    const C32 biased = max_s(field, splat(1));
    const C32 significand = blend(eq(field, splat(0)), fraction, fraction | leading);
    const C32 exponent = biased - splat(static_cast<uint32_t>(s.bias()));
    const int above = 31 - s.mantissa - s.exponent_bits;
    return {significand, blend(eq(significand, splat(0)), splat((uint32_t)kNoExponent), exponent),
            (C32)((S32)(x << static_cast<uint32_t>(above)) >> 31)};
}

// Rounds to `kept` mantissa bits, with a smallest exponent: the last kept bit is made the unit.
template <Rounding R>
SASSEMU_INLINE CD matrix_rounded(CD v, int kept, int smallest) {
    const CD p = dmax_x86((CD)((C64)v & kExponent), (CD)splat64(power_of_two(smallest)));
    const C64 to = splat64(power_of_two(kept) + power_of_two(0)) - (C64)p;
    const C64 from = (C64)p - splat64(static_cast<uint64_t>(kept) << 52);
    // Zero is +0, whatever it was rounded from.
    return (drnd<R>(v * (CD)to) + (CD)splat64(0)) * (CD)from;
}

// A product of two significands is in units of 2^-kProductBits.
inline constexpr int kBitsOfA = 14, kBitsOfB = kProductBits - kBitsOfA;

struct MatrixElements {
    C32 significand, exponent;  // in the low and the high half
    M special;
};
template <MatrixFormat F>
SASSEMU_INLINE MatrixElements matrix_elements(C32 x, int bits) {
    constexpr scalar::MatrixShape s = scalar::matrix_shape(F);
    constexpr uint32_t top = (1u << s.exponent_bits) - 1;
    if constexpr (F == MatrixFormat::tf32) x = x >> 13;
    const MatrixNumbers n = matrix_numbers(x, s);
    const C32 scaled = n.significand << static_cast<uint32_t>(bits - s.mantissa);
    MatrixElements r{((scaled ^ n.sign) - n.sign) & 0xffffu, n.exponent << 16, M{}};
    // The magnitudes that are no numbers: the largest one, or all with the largest exponent.
    constexpr uint32_t least = s.top == scalar::MatrixShape::one_nan
                                   ? (top << s.mantissa) + (1u << s.mantissa) - 1
                                   : top << s.mantissa;
    const C32 magnitude = x & ((1u << (s.mantissa + s.exponent_bits)) - 1);
    if constexpr (s.top != scalar::MatrixShape::finite)
        r.special = eq(max_u(magnitude, splat(least)), magnitude);
    return r;
}
template <MatrixFormat F>
struct MatrixDecodeA {
    static inline void of(const MatrixTile& tile, MatrixLeft& p) {
        M special{};
        for (unsigned k = 0; k < tile.k; ++k) {
            const uint32_t* rows[2] = {tile.a[0][k], tile.a[1][k]};
#pragma GCC unroll 2
            for (int i = 0; i < kColumn; ++i) {
                const MatrixElements e = matrix_elements<F>(load_halves(rows, i), kBitsOfA);
                store(p.plane[k] + i * kChunkLanes, e.exponent | e.significand);
                special |= e.special;
            }
        }
        p.special = bits(special, 0) != 0;
    }
};
template <MatrixFormat F>
struct MatrixDecodeB {
    static inline void of(const MatrixColumns& b, MatrixRight& p) {
        M special{};
        for (unsigned i = 0; i < b.k * 8; i += kChunkLanes) {
            const MatrixElements e = matrix_elements<F>(load(b.row[0] + i), kBitsOfB);
            store(p.plane[0] + i, e.significand);
            store(p.exponent[0] + i, e.exponent);
            special |= e.special;
        }
        p.special = bits(special, 0) != 0;
    }
};
template <template <MatrixFormat> class Decode, class Raw, class Planes>
inline void matrix_decode(MatrixFormat f, const Raw& tile, Planes& p) {
    using F = MatrixFormat;
    switch (f) {
        case F::f16:
            return Decode<F::f16>::of(tile, p);
        case F::bf16:
            return Decode<F::bf16>::of(tile, p);
        case F::tf32:
            return Decode<F::tf32>::of(tile, p);
        case F::e4m3:
            return Decode<F::e4m3>::of(tile, p);
        case F::e5m2:
            return Decode<F::e5m2>::of(tile, p);
        case F::e3m2:
            return Decode<F::e3m2>::of(tile, p);
        case F::e2m3:
            return Decode<F::e2m3>::of(tile, p);
        case F::e2m1:
            return Decode<F::e2m1>::of(tile, p);
    }
}
// Columns 2t and 2t + 1 of the sum over k in [begin, end). False: an accumulator is special.
template <MatrixResult Result>
inline bool matrix_columns(MatrixTile& tile, const MatrixLeft& left, const MatrixRight& right,
                           const scalar::MatrixStep& s, unsigned t) {
    constexpr bool f16 = Result == MatrixResult::f16;
    constexpr scalar::MatrixShape shape =
        f16 ? scalar::matrix_shape(MatrixFormat::f16) : scalar::matrix_f32;
    constexpr int chunks = 2 * kColumn;  // column after column
    uint32_t* words[2][2];               // [column][half]
    MatrixNumbers c[chunks];
    C32 top[chunks];
    M special{};
#pragma GCC unroll 4
    for (int i = 0; i < chunks; ++i) {
        const int n = i / kColumn;
        for (int half = 0; half < 2; ++half) words[n][half] = tile.c[2 * half + n] + 8 * t;
        const C32 x = load_halves(words[n], i % kColumn);
        constexpr uint32_t largest = ((1u << shape.exponent_bits) - 1) << shape.mantissa;
        special |= eq(x & largest, splat(largest));
        c[i] = matrix_numbers(x, shape);
        top[i] = max_s(c[i].exponent, splat(static_cast<uint32_t>(s.rule.floor))) << 16;
    }
    if (__builtin_expect(bits(special, 0) != 0, 0)) return false;
    if (__builtin_expect(s.rule.scale != 0, 0))
        for (int i = 0; i < chunks; ++i) {
            c[i].exponent -= splat(static_cast<uint32_t>(s.rule.scale));
            top[i] = max_s(c[i].exponent, splat(static_cast<uint32_t>(s.rule.floor))) << 16;
        }
    for (unsigned k = s.begin; k < s.end; ++k) {
        const uint32_t* b = right.exponent[k] + 2 * t;
#pragma GCC unroll 4
        for (int i = 0; i < chunks; ++i)
            top[i] = max_s(top[i],
                           load(left.plane[k] + i % kColumn * kChunkLanes) + splat(b[i / kColumn]));
    }
    C32 last[chunks], sum[chunks];  // last: the largest exponent over ones, to subtract words from
    CD total[chunks][2];
#pragma GCC unroll 4
    for (int i = 0; i < chunks; ++i) {
        top[i] = (C32)((S32)top[i] >> 16);
        const C32 to = top[i] + splat(static_cast<uint32_t>(kProductBits - s.rule.fraction));
        const C32 cut =
            srlv(c[i].significand << (kProductBits - shape.mantissa), to - c[i].exponent);
        sum[i] = (cut ^ c[i].sign) - c[i].sign;
        last[i] = to << 16 | 0xffffu;
        total[i][0] = total[i][1] = (CD)splat64(0);
    }
    for (unsigned block = s.begin; block < s.end; block += 8) {
        for (unsigned k = block; k < block + 8 && k < s.end; ++k) {
            const unsigned n = 2 * t;
#pragma GCC unroll 4
            for (int i = 0; i < chunks; ++i) {
                const C32 a = load(left.plane[k] + i % kColumn * kChunkLanes);
                const C32 product = madd16(a, splat(right.plane[k][n + i / kColumn]));
                const C32 below = (last[i] - splat(right.exponent[k][n + i / kColumn]) - a) >> 16;
                sum[i] += with_sign(srlv(abs(product), below), product);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < chunks; ++i) {
            total[i][0] += f64_of_first(sum[i]);
            total[i][1] += f64_of_second(sum[i]);
            sum[i] = splat(0);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < chunks; ++i) {
        const C32 unit = top[i] + splat(static_cast<uint32_t>(1023 - s.rule.fraction));
        const C64 units[2] = {widen_first(unit) << 52, widen_second(unit) << 52};
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
            const CD v = total[i][h] * (CD)units[h];
            const int row = i % kColumn * kChunkLanes + h * kDoubles;
            uint32_t* to = words[i / kColumn][row / 8] + row % 8;
            constexpr int kept = Result == MatrixResult::f32 ? 23 : 13;
            if constexpr (f16)
                narrow_f16(to, matrix_rounded<Rounding::rn>(v, 10, -14));
            else
                narrow_f32(to, matrix_rounded<Rounding::rz>(v, kept, -126));
        }
    }
    return true;
}
template <MatrixResult Result>
inline void matrix_sum(MatrixTile& tile, const MatrixLeft& left, const MatrixRight& right,
                       const scalar::MatrixStep& s) {
    const bool special = left.special || right.special;
    for (unsigned t = 0; t < 4; ++t) {
        if (!special && matrix_columns<Result>(tile, left, right, s, t)) continue;
        scalar::matrix_column(tile, s, 2 * t);
        scalar::matrix_column(tile, s, 2 * t + 1);
    }
}

}  // namespace k

inline void matrix_prepare(const MatrixTile& tile, MatrixFormat f, MatrixLeft& left) {
    k::matrix_decode<k::MatrixDecodeA>(f, tile, left);
}
inline void matrix_prepare(const MatrixColumns& b, MatrixFormat f, MatrixRight& right) {
    k::matrix_decode<k::MatrixDecodeB>(f, b, right);
}
// Scales of rows and columns, of the first `count` elements: they add to the exponents.
inline void matrix_scale(MatrixLeft& left, const uint8_t* row, unsigned count) {
    alignas(64) uint32_t more[16];
    for (unsigned i = 0; i < 16; ++i) {
        more[i] = (uint32_t{row[i]} - 127) << 16;
        left.special |= row[i] == 255;
    }
    for (unsigned i = 0; i < count; ++i)
        for (int j = 0; j < 16; j += kChunkLanes)
            k::store(left.plane[i] + j, k::load(left.plane[i] + j) + k::load(more + j));
}
inline void matrix_scale(MatrixRight& right, const uint8_t* column, unsigned count) {
    for (unsigned j = 0; j < 8; ++j) {
        const uint32_t more = (uint32_t{column[j]} - 127) << 16;
        for (unsigned i = 0; i < count; ++i) right.exponent[i][j] += more;
        right.special |= column[j] == 255;
    }
}
inline void matrix_multiply(MatrixTile& tile, const MatrixLeft& left, const MatrixColumns& b,
                            const MatrixRight& right, MatrixFormat fa, MatrixFormat fb,
                            MatrixRule rule, unsigned step,
                            const lanes::MatrixScales* scales = nullptr) {
    using R = MatrixResult;
    for (unsigned at = 0; at < tile.k; at += step) {
        const scalar::MatrixStep s{&tile, &b, fa, fb, rule, at, at + step, scales};
        switch (rule.result) {
            case R::f32:
                k::matrix_sum<R::f32>(tile, left, right, s);
                break;
            case R::f16:
                k::matrix_sum<R::f16>(tile, left, right, s);
                break;
            case R::f32_short:
                k::matrix_sum<R::f32_short>(tile, left, right, s);
                break;
        }
    }
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
