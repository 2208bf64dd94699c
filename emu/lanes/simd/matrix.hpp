// SPDX-License-Identifier: Apache-2.0
// A tensor core's fused step for the vector levels. scalar/matrix.hpp defines it; here the same
// sums are made of fused multiply-adds that round towards zero. A sum starts at a power of two
// whose last bit is the unit that terms are cut at: adding a product to it then multiplies, aligns,
// cuts and adds in one instruction. Sums only grow, so that cutting is towards zero: positive and
// negative products have one each, and what both grew by is subtracted exactly in the end.
//   - An element of A is in the plane of its sign; what B's sign does is to exchange the planes.
//   - Doubles hold the unit of 2^(emax - 25) and all that 64 products add up to; of short sums
//     (2^(emax - 13), bytes) floats do.
//   - Exponents are words of 16 bits for two neighbours along k. Terms that are zero have one so
//     small that it is never the largest.
//   - Infinities, NaN and accumulators of more than 2^100 are for the reference to settle, a few
//     columns at a time.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

// Operands whose elements are taken apart. Numbers are doubles, or floats where sums are short.
struct MatrixLeft {
    // [k][negative][row]: magnitudes, zero in the plane of the other sign.
    alignas(64) uint64_t numbers[MatrixTile::max_k * 2 * 16];
    alignas(64) uint32_t exponents[MatrixTile::max_k / 2][16];
    bool special;  // an infinity or a NaN
};
struct MatrixRight {
    alignas(64) uint64_t numbers[MatrixTile::max_k * 8];  // [k][column]: magnitudes
    alignas(64) uint32_t plane[MatrixTile::max_k][8];     // in bytes: that of positive products
    alignas(64) uint32_t exponents[MatrixTile::max_k / 2][8];  // of two neighbours along k
    bool special;
};

namespace k {

inline constexpr int kColumn = 16 / kChunkLanes;  // chunks for sixteen rows
inline constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;
inline constexpr int kNoExponent = -8192;
inline constexpr uint32_t kNoExponents = 0xe000e000u;
inline constexpr int kLargestExponent = 100;  // of a sum made here

constexpr uint64_t power_of_two(int e) { return static_cast<uint64_t>(e + 1023) << 52; }
constexpr bool short_sums(MatrixRule r) { return r.fraction <= 13 && r.scale == 0; }

// Numbers of a format, the bits above which do not count: significands without sign, the smallest
// exponent for subnormals, none for zeros.
struct MatrixNumbers {
    C32 significand, exponent, sign;  // sign: all ones or zero
};
SASSEMU_INLINE C32 matrix_field(C32 x, scalar::MatrixShape s) {
    return x >> static_cast<uint32_t>(s.mantissa) & ((1u << s.exponent_bits) - 1);
}
SASSEMU_INLINE MatrixNumbers matrix_numbers(C32 x, scalar::MatrixShape s) {
    const uint32_t leading = 1u << s.mantissa;
    const C32 field = matrix_field(x, s), fraction = x & (leading - 1);
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

// What differs between sums of doubles and of floats.
template <class V>
inline constexpr bool kWide = sizeof(((V*)nullptr)[0][0]) == 8;
template <class V>
inline constexpr int kLanesOf = sizeof(V) / (kWide<V> ? 8 : 4);
template <class V>
inline constexpr uint32_t kPlane = 16 * (kWide<V> ? 8 : 4);  // bytes of one
SASSEMU_INLINE CD add_cut(CD a, CD b) { return dadd<Rounding::rz>(a, b); }
SASSEMU_INLINE CF add_cut(CF a, CF b) { return fadd<Rounding::rz>(a, b); }
SASSEMU_INLINE CD positive(CD a) { return dmax_x86(a, (CD)splat64(0)); }
SASSEMU_INLINE CF positive(CF a) { return fmax_x86(a, (CF)splat(0)); }
template <class V>
SASSEMU_INLINE V splat_number(const std::byte* at) {
    if constexpr (kWide<V>) {
        uint64_t bits;
        __builtin_memcpy(&bits, at, 8);
        return (V)splat64(bits);
    } else {
        uint32_t bits;
        __builtin_memcpy(&bits, at, 4);
        return (V)splat(bits);
    }
}

template <class V>
struct MatrixElements {
    V number[kWide<V> ? 2 : 1];  // with their signs
    C32 exponent;
    M special;
};
// Formats are parts of f32, or of f16 with another bias.
template <MatrixFormat F>
SASSEMU_INLINE CF matrix_floats(C32 x) {
    constexpr scalar::MatrixShape s = scalar::matrix_shape(F);
    constexpr scalar::MatrixShape f16 = scalar::matrix_shape(MatrixFormat::f16);
    if constexpr (F == MatrixFormat::tf32) {
        return (CF)(x << 13);
    } else if constexpr (F == MatrixFormat::bf16) {
        return (CF)(x << 16);
    } else {
        constexpr uint32_t sign = s.mantissa + s.exponent_bits;
        const C32 half =
            (x & ((1u << sign) - 1)) << (10u - s.mantissa) | (x << (15 - sign) & 0x8000u);
        const CF v = f16_to_f32(half);
        if constexpr (s.bias() == f16.bias()) return v;
        return v * (CF)splat(static_cast<uint32_t>(127 + f16.bias() - s.bias()) << 23);
    }
}
template <MatrixFormat F, class V>
SASSEMU_INLINE MatrixElements<V> matrix_elements(C32 x) {
    constexpr scalar::MatrixShape s = scalar::matrix_shape(F);
    constexpr uint32_t top = (1u << s.exponent_bits) - 1;
    if constexpr (F == MatrixFormat::tf32) x = x >> 13;
    const C32 magnitude = x & ((1u << (s.mantissa + s.exponent_bits)) - 1);
    const C32 exponent = max_s(magnitude >> static_cast<uint32_t>(s.mantissa), splat(1)) -
                         splat(static_cast<uint32_t>(s.bias()));
    MatrixElements<V> r{};
    r.exponent = blend(eq(magnitude, splat(0)), splat((uint32_t)kNoExponent), exponent);
    const CF number = matrix_floats<F>(x);
    if constexpr (kWide<V>) {
        r.number[0] = f64_of_first(number);
        r.number[1] = f64_of_second(number);
    } else {
        r.number[0] = number;
    }
    // The magnitudes that are no numbers: the largest one, or all with the largest exponent.
    constexpr uint32_t least = s.top == scalar::MatrixShape::one_nan
                                   ? (top << s.mantissa) + (1u << s.mantissa) - 1
                                   : top << s.mantissa;
    if constexpr (s.top != scalar::MatrixShape::finite)
        r.special = eq(max_u(magnitude, splat(least)), magnitude);
    return r;
}
template <MatrixFormat F, class V>
struct MatrixDecodeA {
    static inline void of(const MatrixTile& tile, MatrixLeft& p) {
        auto* to = reinterpret_cast<std::byte*>(p.numbers);
        M special{};
        for (unsigned k = 0; k < tile.k; ++k, to += 2 * kPlane<V>) {
            const uint32_t* rows[2] = {tile.a[0][k], tile.a[1][k]};
#pragma GCC unroll 2
            for (int i = 0; i < kColumn; ++i) {
                const auto e = matrix_elements<F, V>(load_halves(rows, i));
                constexpr int parts = kWide<V> ? 2 : 1;
#pragma GCC unroll 2
                for (int part = 0; part < parts; ++part) {
                    std::byte* at = to + (i * parts + part) * sizeof(V);
                    const V plus = positive(e.number[part]);
                    store(at, (C32)plus);
                    store(at + kPlane<V>, (C32)(plus - e.number[part]));
                }
                uint32_t* pair = p.exponents[k / 2] + i * kChunkLanes;
                store(pair, k % 2 ? load(pair) | e.exponent << 16 : e.exponent & 0xffffu);
                special |= e.special;
            }
        }
        p.special = bits(special, 0) != 0;
    }
};
template <MatrixFormat F, class V>
struct MatrixDecodeB {
    static inline void of(const MatrixColumns& b, MatrixRight& p) {
        auto* to = reinterpret_cast<std::byte*>(p.numbers);
        constexpr scalar::MatrixShape s = scalar::matrix_shape(F);
        constexpr uint32_t sign = F == MatrixFormat::tf32 ? 31 : s.mantissa + s.exponent_bits;
        constexpr uint32_t up = kWide<V> ? 7 : 6;  // logarithm of kPlane
        alignas(64) uint32_t exponent[MatrixTile::max_k][8];
        M special{};
        for (unsigned i = 0; i < b.k * 8; i += kChunkLanes) {
            const C32 x = load(b.row[0] + i);
            const auto e = matrix_elements<F, V>(x);
            constexpr int parts = kWide<V> ? 2 : 1;
#pragma GCC unroll 2
            for (int part = 0; part < parts; ++part, to += sizeof(V)) {
                const V v = e.number[part];
                if constexpr (kWide<V>)
                    store(to, (C32)((C64)v & ~(uint64_t{1} << 63)));
                else
                    store(to, (C32)v & 0x7fffffffu);
            }
            store(p.plane[0] + i, x >> sign << up & kPlane<V>);
            store(exponent[0] + i, e.exponent);
            special |= e.special;
        }
        for (unsigned k = 0; k < b.k; k += 2)
            for (unsigned n = 0; n < 8; ++n)
                p.exponents[k / 2][n] = (exponent[k][n] & 0xffff) | exponent[k + 1][n] << 16;
        p.special = bits(special, 0) != 0;
    }
};
template <template <MatrixFormat, class> class Decode, class V, class Raw, class Planes>
inline void matrix_decode(MatrixFormat f, const Raw& tile, Planes& p) {
    using F = MatrixFormat;
    switch (f) {
        case F::f16:
            return Decode<F::f16, V>::of(tile, p);
        case F::bf16:
            return Decode<F::bf16, V>::of(tile, p);
        case F::tf32:
            return Decode<F::tf32, V>::of(tile, p);
        case F::e4m3:
            return Decode<F::e4m3, V>::of(tile, p);
        case F::e5m2:
            return Decode<F::e5m2, V>::of(tile, p);
        case F::e3m2:
            return Decode<F::e3m2, V>::of(tile, p);
        case F::e2m3:
            return Decode<F::e2m3, V>::of(tile, p);
        case F::e2m1:
            return Decode<F::e2m1, V>::of(tile, p);
    }
}

// As many columns as there are registers for: eight sums.
template <class V>
inline constexpr int kColumns = kLanesOf<V> / 4;

// Columns `first` and following of the sum over k in [begin, end), inside a RoundScope. False: an
// accumulator is special.
template <MatrixResult Result, class V>
inline bool matrix_columns(MatrixTile& tile, const MatrixLeft& left, const MatrixRight& right,
                           const scalar::MatrixStep& s, unsigned first) {
    constexpr bool f16 = Result == MatrixResult::f16;
    constexpr scalar::MatrixShape shape =
        f16 ? scalar::matrix_shape(MatrixFormat::f16) : scalar::matrix_f32;
    constexpr int parts = kWide<V> ? 2 : 1;        // of a chunk
    constexpr int chunks = kColumns<V> * kColumn;  // column after column
    const auto words = [&](int chunk, uint32_t*(&half)[2]) {
        const unsigned n = first + static_cast<unsigned>(chunk / kColumn);
        for (unsigned h = 0; h < 2; ++h) half[h] = tile.c[2 * h + n % 2] + 8 * (n / 2);
    };
    C32 top[chunks];
#pragma GCC unroll 4
    for (int i = 0; i < chunks; ++i) top[i] = splat(kNoExponents);
    for (unsigned k = s.begin / 2; k < s.end / 2; ++k) {
        const uint32_t* b = right.exponents[k] + first;
#pragma GCC unroll 4
        for (int i = 0; i < chunks; ++i)
            top[i] = max_s16(top[i], add16(load(left.exponents[k] + i % kColumn * kChunkLanes),
                                           splat(b[i / kColumn])));
    }
    V plus[chunks * parts], minus[chunks * parts];
    M special{};
#pragma GCC unroll 4
    for (int i = 0; i < chunks; ++i) {
        uint32_t* half[2];
        words(i, half);
        const C32 x = load_halves(half, i % kColumn);
        const C32 exponent = matrix_numbers(x, shape).exponent;
        const C32 of_c = exponent - splat(static_cast<uint32_t>(s.rule.scale));
        const C32 low = (C32)((S32)(top[i] << 16) >> 16), high = (C32)((S32)top[i] >> 16);
        const C32 t =
            max_s(max_s(low, high), max_s(of_c, splat(static_cast<uint32_t>(s.rule.floor))));
        special |= eq(matrix_field(x, shape), splat((1u << shape.exponent_bits) - 1));
        special |= lt_s(splat(kLargestExponent), t);
        CF c;
        if constexpr (f16)
            c = f16_to_f32(x);
        else
            c = (CF)x;
        if constexpr (kWide<V>) {
            const C32 unit = t + splat(static_cast<uint32_t>(1023 + 52 - s.rule.fraction));
            const V begin[2] = {(V)(widen_first(unit) << 52), (V)(widen_second(unit) << 52)};
            const V scale = (V)splat64(power_of_two(-s.rule.scale));
            const V number[2] = {f64_of_first(c) * scale, f64_of_second(c) * scale};
#pragma GCC unroll 2
            for (int part = 0; part < 2; ++part) {
                plus[2 * i + part] = add_cut(begin[part], positive(number[part]));
                minus[2 * i + part] = add_cut(begin[part], positive(V{} - number[part]));
            }
        } else {
            const V begin =
                (V)((t + splat(static_cast<uint32_t>(127 + 23 - s.rule.fraction))) << 23);
            plus[i] = add_cut(begin, positive(c));
            minus[i] = add_cut(begin, positive(V{} - c));
        }
    }
    if (__builtin_expect(bits(special, 0) != 0, 0)) return false;
    const auto* a = reinterpret_cast<const std::byte*>(left.numbers) + s.begin * 2 * kPlane<V>;
    constexpr size_t number = kWide<V> ? 8 : 4;
    const auto* b = reinterpret_cast<const std::byte*>(right.numbers) + first * number;
    for (unsigned k = s.begin; k < s.end; ++k, a += 2 * kPlane<V>) {
#pragma GCC unroll 4
        for (int n = 0; n < kColumns<V>; ++n) {
            const V of_b = splat_number<V>(b + (k * 8 + static_cast<unsigned>(n)) * number);
            const uint32_t plane = right.plane[k][first + static_cast<unsigned>(n)];
            const std::byte *same = a + plane, *other = a + (plane ^ kPlane<V>);
            constexpr int vectors = kColumn * parts;
#pragma GCC unroll 4
            for (int i = 0; i < vectors; ++i) {
                V &p = plus[n * vectors + i], &m = minus[n * vectors + i];
                p = fma_cut(same + i * sizeof(V), of_b, p);
                m = fma_cut(other + i * sizeof(V), of_b, m);
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < chunks; ++i) {
        uint32_t* half[2];
        words(i, half);
        if constexpr (kWide<V>) {
#pragma GCC unroll 2
            for (int part = 0; part < 2; ++part) {
                const CD v = plus[2 * i + part] - minus[2 * i + part];
                const int row = i % kColumn * kChunkLanes + part * kLanesOf<V>;
                uint32_t* to = half[row / 8] + row % 8;
                if constexpr (f16)
                    narrow_f16(to, matrix_rounded<Rounding::rn>(v, 10, -14));
                else if constexpr (Result == MatrixResult::f32_short)
                    narrow_f32(to, matrix_rounded<Rounding::rz>(v, 13, -126));
                else
                    cut_f32(to, v);
            }
        } else {
            const CF v = plus[i] - minus[i];
            C32 r = (C32)v;
            if constexpr (f16) r = f32_to_f16<Rounding::rn>(v);
            if constexpr (Result == MatrixResult::f32_short) r = r & ~0x3ffu;
            // Zero is +0, whatever it was rounded from.
            r = blend(test(r, splat(f16 ? 0x7fffu : 0x7fffffffu)), r, splat(0));
            store_halves(half, i % kColumn, r);
        }
    }
    return true;
}
template <MatrixResult Result, class V>
inline void matrix_sum(MatrixTile& tile, const MatrixLeft& left, const MatrixRight& right,
                       const scalar::MatrixStep& s) {
    const bool special = left.special || right.special;
    for (unsigned n = 0; n < 8; n += kColumns<V>) {
        if (!special && matrix_columns<Result, V>(tile, left, right, s, n)) continue;
        for (unsigned i = 0; i < kColumns<V>; ++i) scalar::matrix_column(tile, s, n + i);
    }
}
template <class V>
inline void matrix_sum(MatrixTile& tile, const MatrixLeft& left, const MatrixRight& right,
                       const scalar::MatrixStep& s) {
    using R = MatrixResult;
    switch (s.rule.result) {
        case R::f32:
            return matrix_sum<R::f32, V>(tile, left, right, s);
        case R::f16:
            return matrix_sum<R::f16, V>(tile, left, right, s);
        case R::f32_short:
            return matrix_sum<R::f32_short, V>(tile, left, right, s);
    }
}

}  // namespace k

inline void matrix_prepare(const MatrixTile& tile, MatrixFormat f, MatrixRule rule,
                           MatrixLeft& left) {
    k::short_sums(rule) ? k::matrix_decode<k::MatrixDecodeA, CF>(f, tile, left)
                        : k::matrix_decode<k::MatrixDecodeA, CD>(f, tile, left);
}
inline void matrix_prepare(const MatrixColumns& b, MatrixFormat f, MatrixRule rule,
                           MatrixRight& right) {
    k::short_sums(rule) ? k::matrix_decode<k::MatrixDecodeB, CF>(f, b, right)
                        : k::matrix_decode<k::MatrixDecodeB, CD>(f, b, right);
}
// Scales of rows and columns, of the first `count` elements: they multiply numbers, which are
// doubles (no scaled sum is short), and add to exponents.
inline void matrix_scale(MatrixLeft& left, const uint8_t* row, unsigned count) {
    alignas(64) uint64_t factor[16];
    alignas(64) uint32_t more[16];
    for (unsigned i = 0; i < 16; ++i) {
        factor[i] = k::power_of_two(row[i] - 127);
        more[i] = ((uint32_t{row[i]} - 127) & 0xffff) * 0x10001;
        left.special |= row[i] == 255;
    }
    for (unsigned i = 0; i < 2 * count; ++i)
        for (int j = 0; j < 16; j += k::kLanesOf<CD>) {
            uint64_t* at = left.numbers + 16 * i + j;
            k::store(at, (C32)((CD)k::load(at) * (CD)k::load(factor + j)));
        }
    for (unsigned i = 0; i < count / 2; ++i)
        for (int j = 0; j < 16; j += kChunkLanes)
            k::store(left.exponents[i] + j,
                     k::add16(k::load(left.exponents[i] + j), k::load(more + j)));
}
inline void matrix_scale(MatrixRight& right, const uint8_t* column, unsigned count) {
    alignas(64) uint64_t factor[8];
    for (unsigned j = 0; j < 8; ++j) {
        factor[j] = k::power_of_two(column[j] - 127);
        const uint32_t more = uint32_t{column[j]} - 127;
        for (unsigned i = 0; i < count / 2; ++i) {
            uint32_t& pair = right.exponents[i][j];
            pair = ((pair + more) & 0xffff) | ((pair >> 16) + more) << 16;
        }
        right.special |= column[j] == 255;
    }
    for (unsigned i = 0; i < count; ++i)
        for (int j = 0; j < 8; j += k::kLanesOf<CD>) {
            uint64_t* at = right.numbers + 8 * i + j;
            k::store(at, (C32)((CD)k::load(at) * (CD)k::load(factor + j)));
        }
}
inline void matrix_multiply(MatrixTile& tile, const MatrixLeft& left, const MatrixColumns& b,
                            const MatrixRight& right, MatrixFormat fa, MatrixFormat fb,
                            MatrixRule rule, unsigned step,
                            const lanes::MatrixScales* scales = nullptr) {
    const k::RoundScope<Rounding::rz> scope;
    for (unsigned at = 0; at < tile.k; at += step) {
        const scalar::MatrixStep s{&tile, &b, fa, fb, rule, at, at + step, scales};
        k::short_sums(rule) ? k::matrix_sum<CF>(tile, left, right, s)
                            : k::matrix_sum<CD>(tile, left, right, s);
    }
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
