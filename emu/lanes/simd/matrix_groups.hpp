// SPDX-License-Identifier: Apache-2.0
// Sums whose groups are scaled one by one (MatrixGroups), for the vector levels: sixteen rows of
// one column at a time. A group's sum is a matter of 16-bit multiply-adds; terms are cut and added
// as doubles, which hold them exactly: a term is below 2^20 in units of 2^-8, so that nothing
// exceeds 2^52 in units of 2^-35.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace k {

// Scales of all groups, taken apart.
template <unsigned Count>
struct GroupScales {
    alignas(64) uint32_t significand[lanes::MatrixGroups::max_groups][Count];
    alignas(64) uint32_t exponent[lanes::MatrixGroups::max_groups][Count];
    bool nan[Count] = {};

    GroupScales(const uint8_t (*codes)[Count], unsigned groups, bool ue4m3) {
        for (unsigned g = 0; g < groups; ++g)
            for (unsigned i = 0; i < Count; ++i) {
                const scalar::MatrixScale s = scalar::matrix_scale(codes[g][i], ue4m3);
                significand[g][i] = static_cast<uint32_t>(s.significand);
                exponent[g][i] = static_cast<uint32_t>(s.significand ? s.exponent : kNoExponent);
                nan[i] |= s.nan;
            }
    }
};

// v * 2^exponent, cut towards zero, for each half of a chunk.
SASSEMU_INLINE void add_cut(CD (&total)[2], C32 v, C32 exponent) {
    const C32 biased = max_s(exponent, splat(static_cast<uint32_t>(-1000))) + 1023;
    total[0] += drnd<Rounding::rz>(f64_of_first(v) * (CD)(widen_first(biased) << 52));
    total[1] += drnd<Rounding::rz>(f64_of_second(v) * (CD)(widen_second(biased) << 52));
}

// False: an accumulator is special.
inline bool grouped_column(lanes::MatrixGroups& g, const GroupScales<16>& left,
                           const GroupScales<8>& right, unsigned n) {
    uint32_t* words[2] = {g.c[n & 1] + n / 2 * 8, g.c[2 + (n & 1)] + n / 2 * 8};
    const auto fraction = static_cast<uint32_t>(g.rule.fraction);
    for (int i = 0; i < kColumn; ++i) {
        const C32 x = load_halves(words, i);
        constexpr uint32_t largest = 0x7f800000;
        if (bits(eq(x & largest, splat(largest)), 0)) return false;
    }
    for (int i = 0; i < kColumn; ++i) {
        const MatrixNumbers c = matrix_numbers(load_halves(words, i), scalar::matrix_f32);
        C32 top = max_s(c.exponent, splat(static_cast<uint32_t>(g.rule.floor)));
        for (unsigned group = 0; group < g.groups; ++group)
            top = max_s(top, load(left.exponent[group] + i * kChunkLanes) +
                                 splat(right.exponent[group][n]));
        CD total[2] = {(CD)splat64(0), (CD)splat64(0)};
        add_cut(total, (c.significand ^ c.sign) - c.sign, c.exponent - top + (fraction - 23));
        for (unsigned group = 0; group < g.groups; ++group) {
            C32 sum = splat(0);
            for (unsigned k = group * g.pairs; k < (group + 1) * g.pairs; ++k)
                sum += madd16(load(g.a[k] + i * kChunkLanes), splat(g.b[k][n]));
            const C32 scale = load(left.significand[group] + i * kChunkLanes) *
                              splat(right.significand[group][n]);
            const C32 exponent =
                load(left.exponent[group] + i * kChunkLanes) + splat(right.exponent[group][n]);
            add_cut(total, sum * scale, exponent - top + (fraction - 8));
        }
        const C32 unit = top + (1023 - fraction);
        const C64 units[2] = {widen_first(unit) << 52, widen_second(unit) << 52};
        for (int h = 0; h < 2; ++h) {
            const int row = i * kChunkLanes + h * kLanesOf<CD>;
            narrow_f32(words[row / 8] + row % 8,
                       matrix_rounded<Rounding::rz>(total[h] * (CD)units[h], 23, -126));
        }
    }
    return true;
}

}  // namespace k

inline void matrix_groups(lanes::MatrixGroups& g) {
    const k::GroupScales<16> left(g.row, g.groups, g.ue4m3);
    const k::GroupScales<8> right(g.column, g.groups, g.ue4m3);
    bool nan = false;
    for (const bool n : left.nan) nan |= n;
    for (unsigned n = 0; n < 8; ++n)
        if (nan || right.nan[n] || !k::grouped_column(g, left, right, n))
            scalar::matrix_grouped_column(g, n);
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
