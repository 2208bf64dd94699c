// SPDX-License-Identifier: Apache-2.0
// The operand generator of operands.hpp. Tables and classes are those of slots.py, in the same
// order.
#include "tests/hardware/operands.hpp"

namespace sassemu::test {
namespace {

constexpr uint32_t special32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x00800001, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc00000, 0x7fffffff, 0xffffffff, 0x7f800001, 0xff800001, 0x7fa12345,
    0xffd54321, 0x40000000, 0x3f000000, 0x3effffff, 0x4b000000, 0x4b800001, 0x4effffff, 0x4f000000,
    0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x477fe000,
    0x477ff000, 0x47800000, 0x38800000, 0x387fc000, 0x33000000, 0x33000001, 0x3fc00000, 0x40200000,
    0xbfc00000, 0x43e00000, 0x43e80000, 0x42fe0000, 0x437f8000, 0x46fffe00, 0x477fff00, 0x00400000,
    0x00000100, 0x3f808000, 0x3f818000, 0x3f801000, 0x3f803000, 0x40490fdb, 0x7e800000, 0x01000000,
};
constexpr uint32_t special16[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3bff, 0x3c01,
    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7fff, 0xffff, 0x7c01, 0xfd55, 0x4000, 0x3800,
    0x3e00, 0x6400, 0x6401, 0x0200, 0x7800, 0x1400, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x7f81,
    0x7f7f, 0xff7f, 0x0080, 0x007f, 0x4f00, 0xcf00, 0x5800, 0x57ff, 0xd800, 0x7b00, 0x3fc0, 0x2e66,
};
constexpr uint64_t special64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
    0x0010000000000000, 0x8010000000000001, 0x3ff0000000000000, 0xbff0000000000000,
    0x3fefffffffffffff, 0x3ff0000000000001, 0x7fefffffffffffff, 0xffefffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000,
    0x7fffffffffffffff, 0x7ff0000000000001, 0xfff4000012345678, 0x4000000000000000,
    0x3fe0000000000000, 0x41e0000000000000, 0x41dfffffffc00000, 0xc1e0000000000000,
    0x41efffffffe00000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000,
    0x47efffffe0000000, 0x47effffff0000000, 0x3810000000000000, 0x380fffffffffffff,
    0x36a0000000000000, 0x3690000000000001, 0x3ff0000010000000, 0x3ff0000030000000,
};
constexpr uint32_t special_integer[] = {
    0x00000000, 0x00000001, 0xffffffff, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0x7ffffffe,
    0x00000002, 0x0000001f, 0x00000020, 0x00000021, 0x0000003f, 0x00000040, 0x00000041, 0x0000007f,
    0x00000080, 0x000000ff, 0x00000100, 0x00007fff, 0x00008000, 0x0000ffff, 0x00010000, 0x7fff7fff,
    0x80008000, 0x00ff00ff, 0xff00ff00, 0x7f7f7f7f, 0x80808080, 0x01010101, 0x55555555, 0xaaaaaaaa,
};

enum Class {
    raw_bits,
    special_32,
    moderate_32,
    wide_32,
    tiny_32,
    near_32,
    half,
    special_half,
    bfloat,
    double_,
    special_double,
    small,
    special_integers,
    bytes,
    classes
};
// Per kind of warp, how many of 16 values are of each class.
constexpr uint8_t flavours[8][classes] = {
    {2, 2, 2, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1},  {0, 2, 7, 2, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 0, 10, 3, 3, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 11, 4, 0, 0, 0},
    {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 5, 2},  {16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {0, 10, 0, 1, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 3, 6, 7, 0, 0, 0, 0, 0},
};
constexpr uint64_t seed = 0x5a55e3b1c0de2026;

uint64_t draw(uint64_t warp, uint64_t row, uint64_t lane) {
    return mix((warp << 32 | row << 8 | lane) * 0x9e3779b97f4a7c15 + seed);
}

uint64_t moderate(uint64_t bits) {
    return (bits & 0x80000000) | (123 + (bits >> 23 & 7)) << 23 |
           (bits & (bits & 0x40000000 ? 0x7fffff : 0x7c0000));
}
uint64_t half_of(uint64_t bits) {
    return (bits & 0x8000) | (11 + (bits >> 10 & 7)) << 10 | (bits & 0x3ff);
}
uint64_t brain_of(uint64_t bits) {
    return (bits & 0x8000) | (124 + (bits >> 7 & 7)) << 7 | (bits & 0x7f);
}

template <class T, size_t n>
uint64_t pick(const T (&table)[n], uint64_t index) {
    return table[index % n];
}

}  // namespace

uint32_t operand(uint64_t warp, uint64_t row, uint64_t lane) {
    const uint64_t h = draw(warp, row, lane);
    const uint64_t pair = draw(warp, (row >> 1) + 4096, lane);  // shared by both halves of a double
    const uint64_t raw = h >> 32, k = h >> 8 & 0xffffff;
    const bool odd = row & 1;
    const uint8_t* share = flavours[warp % 8];
    unsigned ticket = static_cast<unsigned>(pair >> 60), chosen = 0;
    while (ticket >= share[chosen]) ticket -= share[chosen++];
    uint64_t v = 0;
    switch (chosen) {
        case raw_bits:
            v = raw;
            break;
        case special_32:
            v = pick(special32, k);
            break;
        case moderate_32:
            v = moderate(raw);
            break;
        case wide_32:
            v = (raw >> 23 & 255) == 255 ? raw ^ 0x00800000 : raw;
            break;
        case tiny_32:
            v = raw & 0x80ffffff;
            break;
        case near_32:
            v = (moderate(draw(warp, 8192, lane) >> 32) + k % 5 - 2) ^ (raw & 0x80000000);
            break;
        case half:
            v = half_of(raw & 0xffff) | half_of(raw >> 16) << 16;
            break;
        case special_half:
            v = pick(special16, k & 0xfff) | pick(special16, k >> 12) << 16;
            break;
        case bfloat:
            v = brain_of(raw & 0xffff) | brain_of(raw >> 16) << 16;
            break;
        case double_:
            v = odd        ? (pair >> 32 & 0x800fffff) | (1019 + (pair >> 4 & 7)) << 20
                : pair & 1 ? pair * 5
                           : (pair >> 8 & 1) << 29;
            break;
        case special_double: {
            const uint64_t d = pick(special64, pair >> 8 & 0xffffff);
            v = odd ? d >> 32 : d;
            break;
        }
        case small:
            v = k & 8 ? uint64_t{0} - (raw & 15) : raw & 63;
            break;
        case special_integers:
            v = pick(special_integer, k);
            break;
        default:
            v = (raw & 0x0f0f0f0f) | (k & 0xff) << 24;
            break;
    }
    return static_cast<uint32_t>(v);
}

std::array<Row, slot_rows> operands(uint32_t warp) {
    std::array<Row, slot_rows> rows;
    for (uint32_t row = 0; row < slot_rows; ++row)
        for (uint32_t lane = 0; lane < 32; ++lane) rows[row][lane] = operand(warp, row, lane);
    for (uint32_t& p : rows[predicate_row]) p &= 0x7f;
    for (uint32_t i = slot_uniform - 32; i < 32; ++i) rows[uniform_row + 1][i] = 0;
    rows[uniform_row + 1][28] = operand(warp, slot_rows, 0) & 0x7f;
    return rows;
}

uint32_t constant(uint32_t index) { return operand(8000, 0, index); }

}  // namespace sassemu::test
