// SPDX-License-Identifier: Apache-2.0
// What moves 8x8 matrices of 16-bit elements: LDSM and STSM between shared memory and fragments,
// MOVM between fragments.
#include "emu/isa/matrix.hpp"

#include "emu/isa/matrix_fragment.hpp"
#include "emu/isa/memory_access.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

const Op* move(const Op* op, Warp& w, uint32_t) {
    L::store(w.row(op->d), transposed(L::load(w.row(op->a))));
    return next(op, w);
}

// Nibbles of an 8x32 matrix, row by row in four lanes, to its bytes: the left 8x16 in the first
// register, the right in the second (what the emulation of mma .b1 on sm_120 feeds to IMMA.16832).
const Op* widen(const Op* op, Warp& w, uint32_t) {
    const V32 v = L::load(w.row(op->a)), l = L::lane_ids();
    const V32 odd = L::and_(l, L::splat(1));  // it has the upper four nibbles of its source
    for (uint32_t half = 0; half < 2; ++half) {
        const V32 from =
            L::add(L::and_(l, L::splat(~3u)),
                   L::add(L::splat(2 * half), L::shr(L::and_(l, L::splat(2)), L::splat(1))));
        V32 x = L::and_(L::shr(L::permute(v, from), L::shl(odd, L::splat(4))), L::splat(0xffff));
        x = L::and_(L::or_(x, L::shl(x, L::splat(8))), L::splat(0x00ff00ff));
        x = L::and_(L::or_(x, L::shl(x, L::splat(4))), L::splat(0x0f0f0f0f));
        L::store(w.row(op->d + half * row_bytes), x);
    }
    return next(op, w);
}

// ---- LDSM, STSM. Op as in memory_access.hpp; k[0] number of matrices, m[2] transposed.

constexpr uint32_t matrix_bytes = 16;  // per row

const Op* matrix_port(const Op* op, Warp& w, uint32_t) {
    const auto& matrix = as<MatrixPayload>(*op);
    Access a = matrix.access(w, matrix.row_lanes());
    a.bytes = matrix_bytes;
    a.matrices = op->k[0];
    a.transposed = op->m[2];
    return services(w).access(w, op, a);
}

// The word that each lane has of matrix i, whose rows lanes 8 * i .. 8 * i + 7 name.
SASSEMU_INLINE V32 word_offsets(V32 rows, uint32_t i) {
    const V32 l = L::lane_ids();
    const V32 row = L::permute(rows, L::add(L::shr(l, L::splat(2)), L::splat(8 * i)));
    return L::add(row, L::shl(L::and_(l, L::splat(3)), L::splat(2)));
}
SASSEMU_INLINE V32 row_addresses(const Op* op, const Warp& w) {
    return L::xor_(near_lanes(as<MemoryPayload>(*op).near(w)), L::splat(shared_rank_bits(w)));
}

template <bool Transposed>
const Op* load_matrices(const Op* op, Warp& w, uint32_t mask) {
    const V32 rows = row_addresses(op, w);
    const Cta& cta = *w.cta;
    if (w.watch || !near_inside(rows, as<MatrixPayload>(*op).row_lanes(), matrix_bytes,
                                cta.shared_bytes)) [[unlikely]]
        return matrix_port(op, w, mask);
    for (uint32_t i = 0; i < op->k[0]; ++i) {
        const V32 v = L::gather_32(cta.shared, word_offsets(rows, i), ~0u);
        L::store(w.row(op->d + i * row_bytes), Transposed ? transposed(v) : v);
    }
    return next(op, w);
}
template <bool Transposed>
const Op* store_matrices(const Op* op, Warp& w, uint32_t mask) {
    const V32 rows = row_addresses(op, w);
    const Cta& cta = *w.cta;
    if (!near_inside(rows, as<MatrixPayload>(*op).row_lanes(), matrix_bytes, cta.shared_bytes))
        [[unlikely]]
        return matrix_port(op, w, mask);
    ++w.effects;
    for (uint32_t i = 0; i < op->k[0]; ++i) {
        const V32 v = L::load(w.row(op->d + i * row_bytes));
        L::scatter_32(cta.shared, word_offsets(rows, i), Transposed ? transposed(v) : v, ~0u);
    }
    return next(op, w);
}

// The shapes' codes, common to both.
constexpr unsigned shape_m88 = 0, shape_mt88 = 1;

template <class T>
unsigned matrices(Lower& x, const T& i) {
    const unsigned count = i.count == typed::MatrixCount::X4   ? 4
                           : i.count == typed::MatrixCount::X2 ? 2
                                                               : 1;
    if (i.shape != shape_m88 && i.shape != shape_mt88) x.gap("matrices of bytes and nibbles");
    near_operand(x, i.addr, 0);
    describe(x);
    x.op.k[0] = static_cast<uint8_t>(count);
    x.op.m[2] = i.shape == shape_mt88;
    return count;
}

}  // namespace

void lower(Lower& x, const typed::Movm& i) {
    if (i.shape != 0) return x.reject("MOVM of another shape than MT88");
    x.op.d = x.destination_row(i.d.index);
    x.op.a = x.source_row(i.a.index);
    matrix_handler(x, move);
}

void lower(Lower& x, const typed::MovmNarrow& i) {
    // 1: .U4TO8, and .M832
    if (i.width != 1 || i.shape != 1) return x.gap("this MOVM between types");
    check_aligned(x, i.d.index, 2);
    x.op.d = x.destination_row(i.d.index, 2);
    x.op.a = x.source_row(i.a.index);
    matrix_handler(x, widen);
}

void lower(Lower& x, const typed::Ldsm& i) {
    const unsigned count = matrices(x, i);
    check_aligned(x, i.d.index, count);
    x.op.d = x.destination_row(i.d.index, count);
    if (x.through_port())
        matrix_handler(x, matrix_port);
    else
        matrix_handler(x, x.op.m[2] ? load_matrices<true> : load_matrices<false>);
}

void lower(Lower& x, const typed::Stsm& i) {
    const unsigned count = matrices(x, i);
    check_aligned(x, i.data.index, count);
    x.op.d = x.source_row(i.data.index, count);
    if (x.through_port())
        matrix_handler(x, matrix_port);
    else
        matrix_handler(x, x.op.m[2] ? store_matrices<true> : store_matrices<false>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
