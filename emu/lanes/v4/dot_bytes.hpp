// SPDX-License-Identifier: Apache-2.0
// Sums of products of bytes by AVX-512 VNNI, which x86-64-v4 does not include: compiled for it, and
// called where the CPU has it. Eight words along k, unsigned bytes on the left and signed ones on
// the right; the operands' layout is that of lanes::WarpgroupProduct.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

inline bool has_dot_bytes() { return __builtin_cpu_supports("avx512vnni"); }

#define SASSEMU_VNNI __attribute__((target("avx512vnni")))
namespace k {
inline constexpr int kDotWords = 8;
SASSEMU_VNNI SASSEMU_INLINE C32 dot(C32 sum, C32 a, C32 b) {
    return (C32)_mm512_dpbusd_epi32(SASSEMU_I(sum), SASSEMU_I(a), SASSEMU_I(b));
}
}  // namespace k

// `factor` times what the bytes of each column add up to: a quad for the even and the odd ones of
// eight.
template <size_t Groups>
SASSEMU_VNNI inline void sum_columns(const uint32_t (*right)[Groups][2][4][4], unsigned columns,
                                     uint32_t factor, uint32_t (*to)[2][4]) {
    for (unsigned j = 0; j < columns; ++j)
        for (unsigned odd = 0; odd < 2; ++odd) {
            C32 sum = k::splat(0);
            for (int i = 0; i < k::kDotWords; ++i)
                sum = k::dot(sum, k::splat(0x01010101), k::load_quad(right[j][i / 4][odd][i % 4]));
            k::store_quad(to[j][odd], sum * factor);
        }
}

// store(j, odd, sum) for the columns 2 t + odd of eight; a lane's sum begins with `factor` times
// what its bytes on the left add up to, `more` and what `begin` has of its column.
template <size_t Groups, class Store>
SASSEMU_VNNI inline void dot_bytes(const uint32_t (*left)[32],
                                   const uint32_t (*right)[Groups][2][4][4], unsigned columns,
                                   uint32_t factor, uint32_t more, const uint32_t (*begin)[2][4],
                                   Store&& store) {
    C32 a[k::kDotWords][2], of_row[2] = {k::splat(0), k::splat(0)};
#pragma GCC unroll 8
    for (int i = 0; i < k::kDotWords; ++i)
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c) {
            a[i][c] = k::load(left[i] + 16 * c);
            of_row[c] = k::dot(of_row[c], a[i][c], k::splat(0x01010101));
        }
    for (C32& sum : of_row) sum = sum * factor + more;
    for (unsigned j = 0; j < columns; ++j)
        for (unsigned odd = 0; odd < 2; ++odd) {
            const C32 of_column = k::load_quad(begin[j][odd]);
            V32 sum{{of_row[0] + of_column, of_row[1] + of_column}};
#pragma GCC unroll 8
            for (int i = 0; i < k::kDotWords; ++i) {
                const C32 b = k::load_quad(right[j][i / 4][odd][i % 4]);
#pragma GCC unroll 2
                for (int c = 0; c < 2; ++c) sum.c[c] = k::dot(sum.c[c], a[i][c], b);
            }
            store(j, odd, sum);
        }
}
#undef SASSEMU_VNNI

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
