// SPDX-License-Identifier: Apache-2.0
// HMMA and QMMA: products of f16, bf16, tf32 and smaller floats. The fused step is in lanes/matrix;
// here are the architectures' parameters, the fragments, and the selection of sparse operands.
#include "emu/isa/matrix.hpp"

#include "emu/isa/matrix_fragment.hpp"
#include "emu/isa/matrix_sparse.hpp"
#include "emu/lanes/matrix_rule.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

const Op* no_matrix(const Op* op, Warp&, uint32_t) { return op + 1; }

bool format_of(Lower& x, typed::QmmaType t, MatrixFormat& out) {
    switch (t) {
        case typed::QmmaType::E4M3:
            out = MatrixFormat::e4m3;
            return true;
        case typed::QmmaType::E5M2:
            out = MatrixFormat::e5m2;
            return true;
        case typed::QmmaType::E3M2:
            out = MatrixFormat::e3m2;
            return true;
        case typed::QmmaType::E2M3:
            out = MatrixFormat::e2m3;
            return true;
        case typed::QmmaType::E2M1:
            out = MatrixFormat::e2m1;
            return true;
        default:
            x.reject("QMMA with an invalid type");
            return false;
    }
}

void fused_steps(MatrixTile& tile, const MatrixColumns& b, MatrixFormat fa, MatrixFormat fb,
                 MatrixRule rule, unsigned step, const lanes::MatrixScales* scales) {
    L::MatrixLeft left;
    L::MatrixRight right;
    L::matrix_prepare(tile, fa, rule, left);
    L::matrix_prepare(b, fb, rule, right);
    if (scales) {
        L::matrix_scale(left, scales->row, tile.k);
        L::matrix_scale(right, scales->column, b.k);
    }
    L::matrix_multiply(tile, left, b, right, fa, fb, rule, step, scales);
}
void group_sums(lanes::MatrixGroups& g) { L::matrix_groups(g); }

namespace {

// Layout of an Op: d, a, b, c rows; e the row of metadata
//   m[0] fraction   m[1] floor   m[2] MatrixResult | format of a << 8 | format of b << 16
//   m[3] registers of b | sparse << 8 | k per fused step << 16     k[0] selector
//   k[1] products are negated

constexpr unsigned elements(MatrixFormat f) {
    return f == MatrixFormat::tf32 ? 1 : f == MatrixFormat::f16 || f == MatrixFormat::bf16 ? 2 : 4;
}

template <bool Half, bool Sparse>
const Op* multiply(const Op* op, Warp& w, uint32_t) {
    const auto fa = static_cast<MatrixFormat>(op->m[2] >> 8 & 0xff);
    const auto fb = static_cast<MatrixFormat>(op->m[2] >> 16 & 0xff);
    const MatrixRule rule{static_cast<int>(op->m[0]), static_cast<int>(op->m[1]),
                          static_cast<MatrixResult>(op->m[2] & 0xff)};
    const unsigned registers = op->m[3] & 0xff, each = elements(fb);
    MatrixTile tile;
    MatrixColumns b;
    tile.k = b.k = registers * 4 * each;
    for (unsigned r = 0; r < registers; ++r)
        unpack(b.row[r * 4 * each],
               L::shr(L::load(w.row(op->b + r * row_bytes)), L::splat(shift_in_byte(fb))), each);
    unsigned step = op->m[3] >> 16;
    if constexpr (Sparse) {
        if (expand_sparse(tile, b, w, op, registers, elements(fa), shift_in_byte(fa)) &&
            2 * step == tile.k)
            step = tile.k;
    } else {
        tile.sparse = false;
        for (unsigned r = 0; r < 2 * registers; ++r)
            unpack(tile.a[r & 1][(r >> 1) * 4 * each],
                   L::shr(L::load(w.row(op->a + r * row_bytes)), L::splat(shift_in_byte(fa))),
                   each);
    }
    if (op->k[1]) negate(tile, fa);
    if (accumulates(op, w))
        load_accumulator<Half>(tile, w.row(op->c));
    else
        std::memset(tile.c, 0, sizeof tile.c);
    fused_steps(tile, b, fa, fb, rule, step);
    store_accumulator<Half>(tile, w.row(op->d));
    return op + 1;
}

void choose(Lower& x, MatrixFormat fa, MatrixFormat fb, bool half, unsigned registers,
            bool sparse) {
    const MatrixRule r = matrix_rule(x.sm(), elements(fa) == 4, half);
    x.op.m[0] = static_cast<uint32_t>(r.fraction);
    x.op.m[1] = static_cast<uint32_t>(r.floor);
    x.op.m[2] = static_cast<uint32_t>(r.result) | static_cast<uint32_t>(fa) << 8 |
                static_cast<uint32_t>(fb) << 16;
    // Sparse operands: a register of a meets two of b.
    const unsigned step = 4 * elements(fb) * (one_matrix_step(x.sm()) ? registers : sparse ? 2 : 1);
    x.op.m[3] = registers | sparse << 8 | step << 16;
    if (sparse)
        matrix_handler(x, half ? multiply<true, true> : multiply<false, true>);
    else
        matrix_handler(x, half ? multiply<true, false> : multiply<false, false>);
}

template <class T>
void operands(Lower& x, const T& i, unsigned a, unsigned b, unsigned c) {
    x.op.d = matrix_destination(x, i.d, c);
    x.op.a = matrix_source(x, i.a, a);
    x.op.b = matrix_source(x, i.b, b);
    x.op.c = matrix_source(x, i.c, c);
    x.op.k[1] = i.a.neg != i.b.neg;
    if constexpr (requires { i.pa; })
        set_accumulates(x, i.pa);
    else
        set_accumulates(x, typed::Pred{});
}
template <class T>
void sparse_operand(Lower& x, const T& i) {
    x.op.e = x.source_row(i.e.index);
    x.op.k[0] = static_cast<uint8_t>(i.selector.imm);
}

bool format_of(Lower& x, typed::HmmaType t, MatrixFormat& out) {
    switch (t) {
        case typed::HmmaType::F16:
            out = MatrixFormat::f16;
            return true;
        case typed::HmmaType::BF16:
            out = MatrixFormat::bf16;
            return true;
        case typed::HmmaType::TF32:
            out = MatrixFormat::tf32;
            return true;
        default:
            x.reject("HMMA with an invalid type");
            return false;
    }
}
// sm_89 says how A and B lie, later architectures do not.
template <class T>
bool layouts_of_bytes(const Lower& x, const T& i) {
    return x.sm() > 89 || (i.alayout == 0 && i.blayout == 1);
}

// HMMA.884 of Volta and Turing: four quad pairs (lanes 4q..4q+3 and the same + 16) make products of
// 8x4 and 4x8 elements, and a step fills two of the registers of the result (PTX ISA, "Matrix
// fragments for mma.m8n8k4"). Op: as above; k[0] step, k[1] a by columns, k[2] b by rows.
template <bool Half>
const Op* multiply_quads(const Op* op, Warp& w, uint32_t) {
    const MatrixRule rule{static_cast<int>(op->m[0]), static_cast<int>(op->m[1]),
                          static_cast<MatrixResult>(op->m[2] & 0xff)};
    const uint32_t step = op->k[0];
    const auto operand = [&](uint32_t at, uint32_t lane, uint32_t i) {
        return w.row(at + i / 2 * row_bytes)[lane] >> (16 * (i & 1)) & 0xffff;
    };
    // Row and column of element i of the registers of this step.
    const auto place = [&](uint32_t lane, uint32_t i, uint32_t& row, uint32_t& column) {
        if (Half) {
            row = lane % 4;
            column = 4 * step + i;
        } else {
            const uint32_t all = 2 * step + i;
            row = (lane & 1) + (all & 2);
            column = (all & 4) + (lane & 2) + (all & 1);
        }
        row += lane >= 16 ? 4 : 0;
    };
    const auto word = [](MatrixTile& tile, uint32_t row, uint32_t column) -> uint32_t& {
        return tile.c[column & 1][8 * (column / 2) + row];
    };
    for (uint32_t q = 0; q < 4; ++q) {
        MatrixTile tile{};
        MatrixColumns b{};
        tile.k = b.k = 4;
        for (uint32_t l = 0; l < 8; ++l) {
            const uint32_t lane = 4 * q + l % 4 + (l & 4) * 4, low = l % 4, up = l & 4;
            for (uint32_t i = 0; i < 4; ++i) {
                tile.a[0][op->k[1] ? low : i][op->k[1] ? i + up : l] = operand(op->a, lane, i);
                b.row[op->k[2] ? low : i][op->k[2] ? i + up : l] = operand(op->b, lane, i);
            }
            for (uint32_t i = 0; i < (Half ? 4u : 2u); ++i) {
                uint32_t row, column;
                place(lane, i, row, column);
                word(tile, row, column) =
                    Half ? operand(op->c, lane, i) : w.row(op->c + i * row_bytes)[lane];
            }
        }
        fused_steps(tile, b, MatrixFormat::f16, MatrixFormat::f16, rule, 4);
        for (uint32_t l = 0; l < 8; ++l) {
            const uint32_t lane = 4 * q + l % 4 + (l & 4) * 4;
            for (uint32_t i = 0; i < 2; ++i) {
                uint32_t v[2];
                for (uint32_t h = 0; h < 2; ++h) {
                    uint32_t row, column;
                    place(lane, Half ? 2 * i + h : i, row, column);
                    v[h] = word(tile, row, column);
                }
                w.row(op->d + i * row_bytes)[lane] = Half ? v[0] | v[1] << 16 : v[0];
            }
        }
    }
    return op + 1;
}

}  // namespace

void lower(Lower& x, const typed::Hmma884& i) {
    if (i.dtype != i.ctype) return x.gap("HMMA.884 with an accumulator of another type");
    if (i.sat) return x.gap("HMMA.884.SATFINITE");
    if (i.a.neg || i.b.neg) return x.gap("HMMA.884 with a sign modifier");
    const bool half = i.dtype == typed::MmaAcc::F16;
    operands(x, i, 2, 2, 2);
    const MatrixRule r = matrix_rule(x.sm(), false, half);
    x.op.m[0] = static_cast<uint32_t>(r.fraction);
    x.op.m[1] = static_cast<uint32_t>(r.floor);
    x.op.m[2] = static_cast<uint32_t>(r.result);
    x.op.k[0] = static_cast<uint8_t>(i.step);
    x.op.k[1] = i.alayout == typed::MmaLayoutA::COL;
    x.op.k[2] = i.blayout == typed::MmaLayoutA::ROW;
    matrix_handler(x, half ? multiply_quads<true> : multiply_quads<false>);
}

void lower(Lower& x, const typed::Hmma& i) {
    using S = typed::HmmaShape;
    MatrixFormat f;
    if (!format_of(x, i.type, f)) return;
    const bool half = i.acc == typed::MmaAcc::F16;
    const bool tf32 = f == MatrixFormat::tf32;
    if (i.sat) return x.gap("HMMA.SATFINITE");
    if (half && f != MatrixFormat::f16) return x.reject("HMMA with an f16 result of another type");
    // k of one register of b: 8 of f16 and bf16, 4 of tf32.
    if (i.shape != S::M1688 && i.shape != (tf32 ? S::M1684 : S::M16816))
        return x.reject("HMMA with an invalid shape");
    const unsigned registers = i.shape == S::M16816 || (tf32 && i.shape == S::M1688) ? 2 : 1;
    operands(x, i, 2 * registers, registers, half ? 2 : 4);
    choose(x, f, f, half, registers, false);
}

void lower(Lower& x, const typed::HmmaSp& i) {
    MatrixFormat f;
    if (!format_of(x, i.type, f)) return;
    const bool half = i.acc == typed::MmaAcc::F16;
    const bool tf32 = f == MatrixFormat::tf32;
    if (half && f != MatrixFormat::f16)
        return x.reject("HMMA.SP with an f16 result of another type");
    if (i.shape != 1 && i.shape != (tf32 ? 0 : 3)) return x.reject("HMMA.SP with an invalid shape");
    const unsigned registers = i.shape == (tf32 ? 0 : 1) ? 2 : 4;
    operands(x, i, registers, registers, half ? 2 : 4);
    sparse_operand(x, i);
    choose(x, f, f, half, registers, true);
}

void lower(Lower& x, const typed::Qmma& i) {
    MatrixFormat a, b;
    if (!format_of(x, i.atype, a) || !format_of(x, i.btype, b)) return;
    if (!layouts_of_bytes(x, i) || i.shape > 1) return x.reject("QMMA with an invalid shape");
    const bool half = i.acc == typed::MmaAcc::F16;
    const unsigned registers = i.shape == 0 ? 1 : 2;
    operands(x, i, 2 * registers, registers, half ? 2 : 4);
    choose(x, a, b, half, registers, false);
}

void lower(Lower& x, const typed::QmmaSp& i) {
    MatrixFormat a, b;
    if (!format_of(x, i.atype, a) || !format_of(x, i.btype, b)) return;
    if (!layouts_of_bytes(x, i) || i.shape < 1 || i.shape > 2)
        return x.reject("QMMA.SP with an invalid shape");
    const bool half = i.acc == typed::MmaAcc::F16;
    const unsigned registers = i.shape == 1 ? 2 : 4;
    operands(x, i, registers, registers, half ? 2 : 4);
    sparse_operand(x, i);
    choose(x, a, b, half, registers, true);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
