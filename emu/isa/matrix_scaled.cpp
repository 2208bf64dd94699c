// SPDX-License-Identifier: Apache-2.0
// QMMA.SF and OMMA.SF of sm_120: products whose rows of a and columns of b have scales in registers
// (PTX ISA, "Block scaling for mma.sync"). Of bytes one scale is for all of k, and the sum is the
// fused step of others; of e2m1 each scale is for a group, see MatrixGroups.
#include "emu/isa/matrix.hpp"
#include "emu/isa/matrix_fragment.hpp"
#include "emu/isa/matrix_sparse.hpp"
#include "emu/lanes/matrix_rule.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using lanes::MatrixGroups;

// Layout of an Op: d, a, b, c rows; e the row of metadata; f the predicate of the accumulator
//   m[0], m[1] rows of the scales of a and b   m[2] the uniform register that selects among them
//   m[3] format of a | format of b << 8, or 1: ue4m3 | 2: a scale for every group
//   k[0] selector of metadata   k[1] products are negated   k[2] sparse

// Which of their registers' bytes are scales.
struct Selected {
    explicit Selected(uint32_t word)
        : byte_a(word & 3), lane_a(word >> 1 & 2), byte_b(word >> 3 & 3), lane_b(word >> 5 & 3) {}
    uint32_t byte_a, lane_a, byte_b, lane_b;

    // Of byte `more` behind the first. Rows g and g + 8 lie in two lanes of a row's four, columns
    // in one.
    void scales(const Warp& w, const Op* op, uint32_t more, uint8_t (&row)[16],
                uint8_t (&column)[8]) const {
        const uint32_t *a = w.row(op->m[0]), *b = w.row(op->m[1]);
        for (uint32_t i = 0; i < 16; ++i)
            row[i] = static_cast<uint8_t>(a[i % 8 * 4 + lane_a + i / 8] >> 8 * (byte_a + more));
        for (uint32_t i = 0; i < 8; ++i)
            column[i] = static_cast<uint8_t>(b[i * 4 + lane_b] >> 8 * (byte_b + more));
    }
};

const Op* multiply_bytes(const Op* op, Warp& w, uint32_t) {
    const auto fa = static_cast<MatrixFormat>(op->m[3] & 0xff);
    const auto fb = static_cast<MatrixFormat>(op->m[3] >> 8);
    const bool sparse = op->k[2];
    const unsigned registers = sparse ? 4 : 2;
    MatrixTile tile;
    MatrixColumns b;
    lanes::MatrixScales scales;
    Selected(w.uniform[op->m[2] / 4]).scales(w, op, 0, scales.row, scales.column);
    tile.k = b.k = registers * 16;
    for (unsigned r = 0; r < registers; ++r)
        unpack(b.row[r * 16],
               L::shr(L::load(w.row(op->b + r * row_bytes)), L::splat(shift_in_byte(fb))), 4);
    if (sparse) {
        expand_sparse(tile, b, w, op, 4, 4, shift_in_byte(fa));
    } else {
        tile.sparse = false;
        for (unsigned r = 0; r < 4; ++r)
            unpack(tile.a[r & 1][(r >> 1) * 16],
                   L::shr(L::load(w.row(op->a + r * row_bytes)), L::splat(shift_in_byte(fa))), 4);
    }
    if (op->k[1]) negate(tile, fa);
    if (accumulates(op, w))
        load_accumulator<false>(tile, w.row(op->c));
    else
        std::memset(tile.c, 0, sizeof tile.c);
    const MatrixRule rule = matrix_rule(w.cta->launch->arch, true, false);
    fused_steps(tile, b, fa, fb, rule, tile.k, &scales);
    store_accumulator<false>(tile, w.row(op->d));
    return op + 1;
}

// A register of b, or of a dense a: eight elements of each lane's row or column from k on.
template <size_t Rows>
void take_nibbles(uint32_t (*to)[Rows], const uint32_t* words, unsigned pair, unsigned first,
                  uint32_t signs) {
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 4; ++i)
            to[pair + lane % 4 * 4 + i][first + lane / 4] =
                lanes::twice_e2m1_pairs[(words[lane] ^ signs) >> 8 * i & 0xff];
}
const Op* multiply_nibbles(const Op* op, Warp& w, uint32_t mask) {
    const bool sparse = op->k[2], every = op->m[3] & 2;
    const Selected selected(w.uniform[op->m[2] / 4]);
    // Two scales lie in a half of a word, four fill it.
    if ((selected.byte_a | selected.byte_b) & (every ? 3 : 1))
        return services(w).fault(w, op, mask, FaultKind::other,
                                 every ? "OMMA.SF.4X selects another byte of scales than 0"
                                       : "OMMA.SF selects another byte of scales than 0 and 2",
                                 false, 0);
    MatrixGroups g;
    g.groups = 4;
    g.pairs = sparse ? 16 : 8;
    g.ue4m3 = op->m[3] & 1;
    g.rule = group_rule();
    for (unsigned i = 0; i < 4; ++i)
        selected.scales(w, op, every ? i : i / 2, g.row[i], g.column[i]);
    const uint32_t signs = op->k[1] ? 0x88888888u : 0;
    for (unsigned r = 0; r < (sparse ? 4u : 2u); ++r)
        take_nibbles(g.b, w.row(op->b + r * row_bytes), r * 16, 0, 0);
    if (sparse) {
        // What is named twice meets its element of b twice: the sums are integers.
        int16_t all[16][MatrixGroups::max_k] = {};
        each_stored(
            w, op, 4, 8, [&](unsigned half, unsigned row, unsigned k, uint32_t word, unsigned e) {
                all[8 * half + row][k] = static_cast<int16_t>(
                    all[8 * half + row][k] + lanes::twice_e2m1((word ^ signs) >> 4 * e & 15));
            });
        for (unsigned k = 0; k < MatrixGroups::max_k / 2; ++k)
            for (unsigned row = 0; row < 16; ++row) std::memcpy(&g.a[k][row], &all[row][2 * k], 4);
    } else {
        for (unsigned r = 0; r < 4; ++r)
            take_nibbles(g.a, w.row(op->a + r * row_bytes), r / 2 * 16, r % 2 * 8, signs);
    }
    if (accumulates(op, w))
        load_accumulator<false>(g, w.row(op->c));
    else
        std::memset(g.c, 0, sizeof g.c);
    L::matrix_groups(g);
    store_accumulator<false>(g, w.row(op->d));
    return op + 1;
}

template <class T>
void operands(Lower& x, const T& i, bool sparse) {
    x.op.d = matrix_destination(x, i.d, 4);
    x.op.a = matrix_source(x, i.a, 4);
    x.op.b = matrix_source(x, i.b, sparse ? 4 : 2);
    x.op.c = matrix_source(x, i.c, 4);
    x.op.k[1] = i.a.neg != i.b.neg;
    set_accumulates(x, i.pa);
    x.op.k[2] = sparse;
    x.op.m[0] = sparse ? matrix_source(x, i.e, 2) + row_bytes : x.source_row(i.e.index);
    x.op.m[1] = x.source_row(i.f.index);
    x.op.m[2] = x.uniform_source(i.select.index);
    if constexpr (requires { i.selector; }) {
        x.op.e = x.source_row(i.e.index, 2);
        x.op.k[0] = static_cast<uint8_t>(i.selector.imm);
    }
}
template <class T>
void scaled_bytes(Lower& x, const T& i, bool sparse) {
    MatrixFormat a, b;
    if (!format_of(x, i.atype, a) || !format_of(x, i.btype, b)) return;
    operands(x, i, sparse);
    x.op.m[3] = static_cast<uint32_t>(a) | static_cast<uint32_t>(b) << 8;
    matrix_handler(x, multiply_bytes);
}
template <class T>
void scaled_nibbles(Lower& x, const T& i, bool sparse) {
    const bool ue4m3 = i.scale == 1, every = i.vector == 0;
    if (ue4m3 && !every) return x.reject("OMMA.SF of UE4M3 scales without .4X");
    operands(x, i, sparse);
    x.op.m[3] = static_cast<uint32_t>(ue4m3) | static_cast<uint32_t>(every) << 1;
    matrix_handler(x, multiply_nibbles);
}

}  // namespace

void lower(Lower& x, const typed::QmmaSf& i) { scaled_bytes(x, i, false); }
void lower(Lower& x, const typed::QmmaSfSp& i) { scaled_bytes(x, i, true); }
void lower(Lower& x, const typed::OmmaSf& i) { scaled_nibbles(x, i, false); }
void lower(Lower& x, const typed::OmmaSfSp& i) { scaled_nibbles(x, i, true); }

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
