// SPDX-License-Identifier: Apache-2.0
// The product that the four warps of a warpgroup make together (wgmma): what a host level
// multiplies. Types only; who fills them in is async/warpgroup_core.cpp.
#pragma once

#include "emu/lanes/matrix.hpp"

namespace sassemu::lanes {

enum class WarpgroupKind : uint8_t { floats, integers, bits };

struct WarpgroupProduct {
    static constexpr unsigned warps = 4, rows = 64, max_n = 256, max_groups = 8;

    WarpgroupKind kind = WarpgroupKind::floats;
    bool half = false;        // floats: D is f16
    bool negates = false;     // floats: products are negated
    bool saturate = false;    // integers: held at the ends of s32, after the accumulator
    bool accumulate = false;  // else D is the product alone
    bool signed_a = false, signed_b = false;  // integers
    bool sparse = false;
    bool irregular = false;  // sparse: one element is named twice, or halves of two
    MatrixFormat format_a = MatrixFormat::f16, format_b = MatrixFormat::f16;
    MatrixRule rule;
    unsigned n = 0;
    uint32_t* d[warps];        // register rows of 32 lanes, one after the other
    const uint32_t* c[warps];  // likewise; before D is written

    // Rows of A and columns of B, in chunks of 16 bytes along k: two of A, and of B twice as many
    // where A is sparse. Of a transposed matrix the chunks of eight neighbours are its elements (of
    // 16 bits) the other way round: that of each k has those of all eight.
    bool transposed_a = false, transposed_b = false;
    alignas(128) uint32_t a[2][rows][4];
    alignas(128) uint32_t b[4][max_n][4];
    // Sparse: what the two halves of an element of A meet in a column of B, counted in halves of
    // elements. Only where tf32 is irregular they are not neighbours.
    uint8_t places[rows][32][2];

    // For the level, of integers and bits: a word for the rows that a lane has, and for the columns
    // 2 t + odd that it has of eight.
    alignas(128) uint32_t left[warps][2][4 * max_groups][32];
    alignas(128) uint32_t right[max_n / 8][max_groups][2][4][4];
};

using WarpgroupSums = void (*)(WarpgroupProduct&);

}  // namespace sassemu::lanes
