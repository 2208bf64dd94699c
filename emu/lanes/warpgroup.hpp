// SPDX-License-Identifier: Apache-2.0
// The product that the four warps of a warpgroup make together (wgmma), with its operands taken
// apart: what a host level multiplies. Types only; who fills them in is async/warpgroup_core.cpp.
#pragma once

#include "emu/lanes/matrix.hpp"

namespace sassemu::lanes {

enum class WarpgroupKind : uint8_t { floats, integers, bits };

struct WarpgroupProduct {
    static constexpr unsigned warps = 4, max_n = 256, max_words = 32;

    WarpgroupKind kind = WarpgroupKind::floats;
    bool half = false;        // floats: D is f16
    bool saturate = false;    // integers: held at the ends of s32, after the accumulator
    bool accumulate = false;  // else D is the product alone
    bool irregular = false;   // floats: a stored element of A meets what `meets` says
    MatrixFormat a = MatrixFormat::f16, b = MatrixFormat::f16;
    MatrixRule rule;
    unsigned n = 0;
    unsigned k = 0;            // words of integers and bits in use: pairs of numbers, or 32 bits
    uint32_t* d[warps];        // register rows of 32 lanes, one after the other
    const uint32_t* c[warps];  // likewise; before D is written

    // Floats: sixteen rows of each warp, eight columns each.
    MatrixTile left[warps];
    MatrixColumns right[max_n / 8];
    // Irregular metadata: the words of B that the elements of a row meet are made of two halves, a
    // half being 2 * k of `right` and 1 for the upper one of 32 bits. `left` is not expanded then.
    uint8_t meets[64][MatrixTile::max_k / 2][2];

    // Integers, in pairs of 16 bits, and bits: a word for the rows that a lane has, and for the
    // columns that it has of eight, 2 t + p.
    alignas(64) uint32_t rows[warps][2][max_words][32];
    alignas(64) uint32_t columns[max_n / 8][2][max_words][4];
};

using WarpgroupSums = void (*)(WarpgroupProduct&);

}  // namespace sassemu::lanes
