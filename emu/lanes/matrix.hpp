// SPDX-License-Identifier: Apache-2.0
// The tile that a floating-point warp matrix instruction works on, and the parameters in which the
// tensor cores of the architectures differ. Types only; the arithmetic is in scalar/matrix.hpp (the
// reference, in integers) and simd/matrix.hpp (the same sums in doubles).
#pragma once

#include <array>
#include <cstdint>

namespace sassemu::lanes {

// Element formats: exponent bits, stored mantissa bits. tf32 sits in the high bits of a 32-bit
// word.
enum class MatrixFormat : uint8_t { f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3, e2m1 };

enum class MatrixResult : uint8_t {
    f32,        // rounded towards zero
    f32_short,  // f32 with 13 mantissa bits, rounded towards zero
    f16,        // rounded to nearest even; the accumulator is f16, too
};

// How one fused step adds its products and the accumulator: every term is cut (towards zero) below
// 2^(emax - fraction), where emax is the largest exponent of a term, at least 2^floor, and products
// are not normalised; the terms are then added exactly and the sum is rounded once. Published for
// several chips (Fasi et al., PeerJ CS e330; MMA-Sim, arXiv 2511.10909; Khattak and Mikaitis, arXiv
// 2512.07004), measured on an H200 by tests/hardware.
struct MatrixRule {
    int fraction = 0;
    int floor = 0;
    MatrixResult result = MatrixResult::f32;
    int scale = 0;  // the accumulator counts 2^-scale of its value (0..15)
};

// Operands as raw elements, one per word. Products may come in any order within a step, so k is the
// order in which registers hold them, not the matrix's own.
//
// Eight columns of B.
struct alignas(128) MatrixColumns {
    static constexpr unsigned max_k = 64;
    uint32_t row[max_k][8];  // [k][column]
    unsigned k = 0;          // elements per column
};
// Sixteen rows of A, and of the accumulator and result for eight columns.
struct alignas(128) MatrixTile {
    static constexpr unsigned max_k = MatrixColumns::max_k;
    uint32_t a[2][max_k][8];  // [half][k][row]: rows 0..7 and 8..15
    uint32_t c[4][32];        // [2 * half + p][8 * t + row] for column 2t + p; becomes the result
    uint64_t present[2][8];   // sparse only: per row, the k that it stores
    bool sparse = false;
    unsigned k = 0;  // elements per row
};

// What the rows of A and the columns of B are scaled by, one code for all of k: ue8m0, 2^(code -
// 127); 255 is NaN.
struct MatrixScales {
    uint8_t row[16], column[8];
};

// c += a * b in steps of `step` elements of k, at one host level; scales may be null.
using FusedSteps = void (*)(MatrixTile&, const MatrixColumns&, MatrixFormat a, MatrixFormat b,
                            MatrixRule, unsigned step, const MatrixScales*);

// A product of e2m1 whose groups of neighbours along k are scaled one by one (mxf4, nvf4): the
// products of a group are added exactly, the sum times the significands of both scales is a term of
// a fused step, and the sum of the scales' exponents the exponent of the term. A zero scale has no
// term. Published in MMA-Sim (arXiv 2511.10909).
struct alignas(128) MatrixGroups {
    static constexpr unsigned max_k = 128, max_groups = 6;
    // Twice the numbers, in pairs of 16 bits along k.
    uint32_t a[max_k / 2][16], b[max_k / 2][8];
    uint8_t row[max_groups][16], column[max_groups][8];  // scales
    bool ue4m3 = false;                                  // they are e4m3 without a sign, else ue8m0
    unsigned groups = 0, pairs = 0;                      // pairs of numbers in a group
    MatrixRule rule;
    alignas(64) uint32_t c[4][32];  // as in MatrixTile
};
using GroupSums = void (*)(MatrixGroups&);
// Both, of one host level.
struct MatrixSums {
    FusedSteps steps = nullptr;
    GroupSums groups = nullptr;
};

// Twice an e2m1.
constexpr int twice_e2m1(uint32_t nibble) {
    constexpr int magnitude[] = {0, 1, 2, 3, 4, 6, 8, 12};
    return nibble & 8 ? -magnitude[nibble & 7] : magnitude[nibble & 7];
}
// A pair of MatrixGroups for each byte of two, the lower nibble first.
inline constexpr std::array<uint32_t, 256> twice_e2m1_pairs = [] {
    std::array<uint32_t, 256> pairs{};
    for (uint32_t i = 0; i < 256; ++i)
        pairs[i] = (static_cast<uint32_t>(twice_e2m1(i & 15)) & 0xffff) |
                   static_cast<uint32_t>(twice_e2m1(i >> 4)) << 16;
    return pairs;
}();

}  // namespace sassemu::lanes
