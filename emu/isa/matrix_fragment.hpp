// SPDX-License-Identifier: Apache-2.0
// How the lanes of a warp hold matrices. In every fragment lane 4 * g + t has row (or column) g,
// and the elements that its word holds have consecutive k from that word's share t of a row on (PTX
// ISA, "Matrix fragments for mma"). Working order is t first: 8 * t + g, so that one k has its rows
// together.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// A fragment's register in working order, and back.
SASSEMU_INLINE V32 spread(V32 v) {
    const V32 l = L::lane_ids();
    const V32 from = L::or_(L::shl(L::and_(l, L::splat(7)), L::splat(2)), L::shr(l, L::splat(3)));
    return L::permute(v, from);
}
SASSEMU_INLINE V32 unspread(V32 v) {
    const V32 l = L::lane_ids();
    const V32 from = L::or_(L::shl(L::and_(l, L::splat(3)), L::splat(3)), L::shr(l, L::splat(2)));
    return L::permute(v, from);
}
// Lane t of each group of four to the whole group: an element of A for all columns that a lane has.
SASSEMU_INLINE V32 of_group(V32 v, uint32_t t) {
    return L::permute(v, L::or_(L::and_(L::lane_ids(), L::splat(28)), L::splat(t)));
}
// The word t of column 2 * (lane mod 4) + p: an element of B for the column that a lane has.
SASSEMU_INLINE V32 of_column(V32 v, uint32_t p, uint32_t t) {
    return L::permute(
        v, L::add(L::shl(L::and_(L::lane_ids(), L::splat(3)), L::splat(3)), L::splat(4 * p + t)));
}

// An 8x8 matrix of 16-bit elements, two per lane, with rows and columns exchanged: lane 4 * g + t
// gets elements g of rows 2 * t and 2 * t + 1.
SASSEMU_INLINE V32 transposed(V32 v) {
    const V32 l = L::lane_ids();
    const V32 from = L::add(L::shl(L::and_(l, L::splat(3)), L::splat(3)), L::shr(l, L::splat(3)));
    const V32 low = L::permute(v, from), high = L::permute(v, L::add(from, L::splat(4)));
    const uint32_t odd = L::nonzero(L::and_(l, L::splat(4)));
    return L::select(odd, L::or_(L::shr(low, L::splat(16)), L::and_(high, L::splat(0xffff0000u))),
                     L::or_(L::and_(low, L::splat(0xffff)), L::shl(high, L::splat(16))));
}

// Register rows of an accumulator and working order; of f16 two columns to a word.
template <bool Half, class Tile>
SASSEMU_INLINE void load_accumulator(Tile& tile, const uint32_t* rows) {
    if constexpr (Half) {
        for (unsigned half = 0; half < 2; ++half) {
            const V32 v = spread(L::load(rows + 32 * half));
            L::store(tile.c[2 * half], L::and_(v, L::splat(0xffff)));
            L::store(tile.c[2 * half + 1], L::shr(v, L::splat(16)));
        }
    } else {
        for (unsigned r = 0; r < 4; ++r) L::store(tile.c[r], spread(L::load(rows + 32 * r)));
    }
}
template <bool Half, class Tile>
SASSEMU_INLINE void store_accumulator(const Tile& tile, uint32_t* rows) {
    if constexpr (Half) {
        for (unsigned half = 0; half < 2; ++half) {
            const V32 low = L::load(tile.c[2 * half]), high = L::load(tile.c[2 * half + 1]);
            L::store(rows + 32 * half, unspread(L::or_(low, L::shl(high, L::splat(16)))));
        }
    } else {
        for (unsigned r = 0; r < 4; ++r) L::store(rows + 32 * r, unspread(L::load(tile.c[r])));
    }
}

// One register to the k that its lanes hold.
SASSEMU_INLINE void unpack(uint32_t* to, V32 words, unsigned count) {
    const V32 v = spread(words);
    if (count == 1) {
        L::store(to, v);
    } else if (count == 2) {
        L::store(to, L::and_(v, L::splat(0xffff)));
        L::store(to + 32, L::shr(v, L::splat(16)));
    } else {
        for (unsigned e = 0; e < 4; ++e)
            L::store(to + 32 * e, L::and_(L::shr(v, L::splat(8 * e)), L::splat(0xff)));
    }
}

// Elements of 8 bits or fewer lie one to a byte, those of 4 bits in its bits 5..2.
constexpr unsigned shift_in_byte(MatrixFormat f) { return f == MatrixFormat::e2m1 ? 2 : 0; }
// Flips the signs of a. Elements that a sparse operand lacks stay zero in either sign.
inline void negate(MatrixTile& tile, MatrixFormat f) {
    const L::scalar::MatrixShape s = L::scalar::matrix_shape(f);
    const uint32_t sign =
        f == MatrixFormat::tf32 ? 0x80000000u : 1u << (s.mantissa + s.exponent_bits);
    for (auto& half : tile.a)
        for (unsigned k = 0; k < tile.k; ++k)
            for (uint32_t& v : half[k]) v ^= sign;
}

// The sum and the accumulator, modulo 2^32 or held at the ends of s32.
SASSEMU_INLINE V32 accumulate(V32 sum, V32 c, bool saturate) {
    const V32 r = L::add(sum, c);
    if (!saturate) return r;
    const uint32_t over = L::sign_mask(L::and_(L::xor_(r, sum), L::xor_(r, c)));
    const V32 end = L::xor_(L::sar(c, L::splat(31)), L::splat(0x7fffffffu));
    return L::select(over, end, r);
}

// Operands of `count` registers start at a multiple of that, or are RZ.
inline void check_aligned(Lower& x, unsigned index, unsigned count) {
    if (index != SASSDEC_RZ && index % count) x.reject("a matrix operand in a misaligned register");
}
inline uint32_t matrix_source(Lower& x, const typed::Src& s, unsigned count) {
    check_aligned(x, s.index, count);
    return x.source_row(s.index, count);
}
inline uint32_t matrix_destination(Lower& x, const typed::Reg& r, unsigned count) {
    check_aligned(x, r.index, count);
    return x.destination_row(r.index, count);
}
// The uniform predicate that newer chips encode: where it is false the accumulator counts as zero
// (measured on an H200). Kept in Op::f.
inline void set_accumulates(Lower& x, const typed::Pred& p) {
    x.op.f = Lower::uniform_predicate(p.index) | (p.neg ? 0x100u : 0u);
}
SASSEMU_INLINE bool accumulates(const Op* op, const Warp& w) {
    return (w.p[op->f & 0xff] ^ op->f >> 8) & 1;
}

// A warp's matrix instruction that not all 32 lanes execute changes nothing (measured on an H200).
const Op* no_matrix(const Op* op, Warp& w, uint32_t mask);
inline void matrix_handler(Lower& x, Handler all) { x.handlers(no_matrix, all); }

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
