// A tensor core's fused step for the vector levels. scalar/matrix.hpp defines it; here the same sums
// are made of doubles, eight results (the rows of one column) at a time:
//   - elements, products (at most 22 bits) and a product scaled by a power of two are exact,
//   - the exponent that a term counts with is carried as a power of two of its own, since it is not
//     that of the product: powers multiply and compare like the exponents add and compare,
//   - a term cut below 2^0 is a double without fraction, and sums of 65 of them below 2^28 are exact,
//   - infinities and NaN take their course through products and sums, as IEEE 754 has it.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

namespace k {

inline constexpr int kDoubles = kChunkLanes / 2;  // per CD
inline constexpr int kColumn = 8 / kDoubles;      // CDs for eight rows
inline constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;

constexpr uint64_t power_of_two(int e) { return static_cast<uint64_t>(e + 1023) << 52; }

template <MatrixFormat F>
SASSEMU_INLINE CF matrix_float(C32 x) {
    if constexpr (F == MatrixFormat::f16) return f16_to_f32(x);
    if constexpr (F == MatrixFormat::bf16) return (CF)(x << 16);
    if constexpr (F == MatrixFormat::tf32) return (CF)(x & 0xffffe000u);
    if constexpr (F == MatrixFormat::e5m2) return f16_to_f32(x << 8);
    // The others are an f16 with its exponent off by a constant, and have no infinities.
    constexpr scalar::MatrixShape s = scalar::matrix_shape(F);
    constexpr int width = s.exponent_bits + s.mantissa;
    const C32 magnitude = x & ((1u << width) - 1);
    const C32 sign = (x >> width & 1u) << 15;
    const CF up = (CF)splat(static_cast<uint32_t>(127 + 15 - s.bias()) << 23);
    const CF v = f16_to_f32(sign | magnitude << (10 - s.mantissa)) * up;
    if constexpr (s.top == scalar::MatrixShape::one_nan)
        return (CF)blend(eq(magnitude, splat((1u << width) - 1)), splat(kF32Nan), (C32)v);
    return v;
}

// The power of two that stands for the exponent of x: subnormals have the smallest one, zero none.
SASSEMU_INLINE CD matrix_power(CD x, int smallest, int largest) {
    const CD p = (CD)((C64)x & kExponent);
    const CD in = dmin_x86(dmax_x86(p, (CD)splat64(power_of_two(smallest))),
                           (CD)splat64(power_of_two(largest)));
    return (CD)blend64(dcmp<_CMP_EQ_OQ>(x, (CD)splat64(0)), splat64(0), (C64)in);
}

// Rounds to `kept` mantissa bits, with a smallest exponent: the last kept bit is made the unit.
template <Rounding R>
SASSEMU_INLINE CD matrix_rounded(CD v, int kept, int smallest) {
    const CD p = dmin_x86(dmax_x86((CD)((C64)v & kExponent), (CD)splat64(power_of_two(smallest))),
                          (CD)splat64(power_of_two(200)));
    const C64 to = splat64(power_of_two(kept) + power_of_two(0)) - (C64)p;
    const C64 from = (C64)p - splat64(static_cast<uint64_t>(kept) << 52);
    // Zero is +0, whatever it was rounded from.
    return (drnd<R>(v * (CD)to) + (CD)splat64(0)) * (CD)from;
}

struct MatrixPlanes {
    alignas(64) double a[2][MatrixTile::max_k][8], a_power[2][MatrixTile::max_k][8];
    alignas(64) double b[MatrixTile::max_k][8], b_power[MatrixTile::max_k][8];
};

// Raw words of eight-element rows to doubles and powers.
template <MatrixFormat F>
inline void matrix_decode_as(const uint32_t* from, unsigned rows, double* value, double* power) {
    constexpr scalar::MatrixShape s = scalar::matrix_shape(F);
    for (unsigned i = 0; i < rows * 8; i += kChunkLanes) {
        const CF f = matrix_float<F>(load(from + i));
        const CD d[2] = {f64_first(f), f64_second(f)};
        for (int h = 0; h < 2; ++h) {
            store(value + i + h * kDoubles, (C32)d[h]);
            store(power + i + h * kDoubles, (C32)matrix_power(d[h], 1 - s.bias(), s.bias() + 1));
        }
    }
}

inline void matrix_decode(MatrixFormat f, const uint32_t* from, unsigned rows, double* value,
                          double* power) {
    using F = MatrixFormat;
    switch (f) {
        case F::f16: return matrix_decode_as<F::f16>(from, rows, value, power);
        case F::bf16: return matrix_decode_as<F::bf16>(from, rows, value, power);
        case F::tf32: return matrix_decode_as<F::tf32>(from, rows, value, power);
        case F::e4m3: return matrix_decode_as<F::e4m3>(from, rows, value, power);
        case F::e5m2: return matrix_decode_as<F::e5m2>(from, rows, value, power);
        case F::e3m2: return matrix_decode_as<F::e3m2>(from, rows, value, power);
        case F::e2m3: return matrix_decode_as<F::e2m3>(from, rows, value, power);
        case F::e2m1: return matrix_decode_as<F::e2m1>(from, rows, value, power);
    }
}

// All columns, one after the other: eight rows in each of two halves.
template <MatrixResult Result>
inline void matrix_columns(MatrixTile& tile, const MatrixPlanes& p, MatrixRule rule,
                                   unsigned begin, unsigned end) {
    constexpr int chunks = 2 * kColumn;  // both halves of a column together
    constexpr bool f16 = Result == MatrixResult::f16;
    for (unsigned n = 0; n < 8; ++n) {
        uint32_t* words[2] = {tile.c[n & 1] + 8 * (n >> 1), tile.c[2 + (n & 1)] + 8 * (n >> 1)};
        CD c[chunks], top[chunks], scale[chunks], sum[chunks];
#pragma GCC unroll 8
        for (int i = 0; i < chunks; ++i) {
            const uint32_t* from = words[i / kColumn] + i % kColumn * kDoubles;
            c[i] = f16 ? widen_f16(from) : widen_f32(from);
            top[i] = dmax_x86(matrix_power(c[i], f16 ? -14 : -126, 127),
                              (CD)splat64(power_of_two(rule.floor)));
        }
        for (unsigned k = begin; k < end; ++k) {
            const CD b = (CD)broadcast64(&p.b_power[k][n]);
#pragma GCC unroll 8
            for (int i = 0; i < chunks; ++i)
                top[i] = dmax_x86(
                    top[i], (CD)load(&p.a_power[i / kColumn][k][i % kColumn * kDoubles]) * b);
        }
#pragma GCC unroll 8
        for (int i = 0; i < chunks; ++i) {
            scale[i] = (CD)(splat64(power_of_two(rule.fraction) + power_of_two(0)) - (C64)top[i]);
            sum[i] = drnd<Rounding::rz>(c[i] * scale[i]);
        }
        for (unsigned k = begin; k < end; ++k) {
            const CD b = (CD)broadcast64(&p.b[k][n]);
#pragma GCC unroll 8
            for (int i = 0; i < chunks; ++i) {
                const CD a = (CD)load(&p.a[i / kColumn][k][i % kColumn * kDoubles]);
                sum[i] += drnd<Rounding::rz>(a * b * scale[i]);
            }
        }
#pragma GCC unroll 8
        for (int i = 0; i < chunks; ++i) {
            const CD unit = (CD)((C64)top[i] - splat64(static_cast<uint64_t>(rule.fraction) << 52));
            const CD v = sum[i] * unit;
            uint32_t* to = words[i / kColumn] + i % kColumn * kDoubles;
            constexpr int kept = Result == MatrixResult::f32 ? 23 : 13;
            if constexpr (f16)
                narrow_f16(to, matrix_rounded<Rounding::rn>(v, 10, -14));
            else
                narrow_f32(to, matrix_rounded<Rounding::rz>(v, kept, -126));
        }
    }
}

}  // namespace k

// c += a * b in steps of `step` elements of k.
inline void matrix_multiply(MatrixTile& tile, MatrixFormat fa, MatrixFormat fb, MatrixRule rule,
                            unsigned step) {
    if (tile.sparse && scalar::matrix_special(tile, fb)) {  // zeros stand for what is not selected
        scalar::matrix_steps(tile, fa, fb, rule, step);
        return;
    }
    k::MatrixPlanes p;
    for (unsigned half = 0; half < 2; ++half)
        k::matrix_decode(fa, tile.a[half][0], tile.k, p.a[half][0], p.a_power[half][0]);
    k::matrix_decode(fb, tile.b[0], tile.k, p.b[0], p.b_power[0]);
    using R = MatrixResult;
    for (unsigned at = 0; at < tile.k; at += step) {
        switch (rule.result) {
            case R::f32: k::matrix_columns<R::f32>(tile, p, rule, at, at + step); break;
            case R::f16: k::matrix_columns<R::f16>(tile, p, rule, at, at + step); break;
            case R::f32_short: k::matrix_columns<R::f32_short>(tile, p, rule, at, at + step); break;
        }
    }
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
