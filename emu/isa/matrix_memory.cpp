// SPDX-License-Identifier: Apache-2.0
// What moves 8x8 matrices of 16-bit elements, and matrices of bytes: LDSM and STSM between shared
// memory and fragments, MOVM between fragments.
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

// ---- LDSM, STSM: MatrixPayload.

constexpr uint32_t matrix_bytes = MatrixPayload::bytes;

const Op* matrix_port(const Op* op, Warp& w, uint32_t) {
    return services(w).access(w, op, as<MatrixPayload>(*op).access(w));
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

// Word(shared memory, rows, i): what each lane has of register i.
template <auto Word>
const Op* load_words(const Op* op, Warp& w, uint32_t mask) {
    const V32 rows = row_addresses(op, w);
    const Cta& cta = *w.cta;
    if (w.watch || !near_inside(rows, as<MatrixPayload>(*op).row_lanes(), matrix_bytes,
                                cta.shared_bytes)) [[unlikely]]
        return matrix_port(op, w, mask);
    for (uint32_t i = 0; i < op->k[0]; ++i)
        L::store(w.row(op->d + i * row_bytes), Word(cta.shared, rows, i));
    return next(op, w);
}

template <bool Transposed>
SASSEMU_INLINE V32 halves(const std::byte* shared, V32 rows, uint32_t i) {
    const V32 v = L::gather_32(shared, word_offsets(rows, i), ~0u);
    return Transposed ? transposed(v) : v;
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

// ---- Matrices of bytes (perform.cpp says which lane has what)

// Four bytes of a row that become the word of a lane: the bits from `at` on, of `Width` each.
template <unsigned Width>
SASSEMU_INLINE V32 widened(V32 v) {
    const V32 mask = L::splat((1u << Width) - 1);
    V32 out = L::and_(v, mask);
    for (unsigned b = 1; b < 4; ++b)
        out = L::or_(out, L::shl(L::and_(L::shr(v, L::splat(Width * b)), mask), L::splat(8 * b)));
    return out;
}

template <unsigned Width>
SASSEMU_INLINE V32 bytes(const std::byte* shared, V32 rows, uint32_t i) {
    const V32 l = L::lane_ids();
    const V32 row = L::permute(rows, L::add(L::shr(l, L::splat(2)), L::splat(8 * i)));
    // Width / 2 bytes a lane; four are read, which stay inside of the row.
    const V32 at = L::mul_lo(L::and_(l, L::splat(3)), L::splat(Width / 2));
    return widened<Width>(L::gather_32(shared, L::add(row, at), ~0u));
}

template <unsigned Width>
SASSEMU_INLINE V32 square(const std::byte* shared, V32 rows, uint32_t i) {
    const V32 l = L::lane_ids(), column = L::shr(l, L::splat(2));
    const V32 named = L::shl(L::and_(l, L::splat(3)), L::splat(2));  // the first of four rows
    V32 out = L::splat(0);
    for (uint32_t b = 0; b < 4; ++b) {
        const V32 row =
            L::permute(rows, L::add(named, L::splat(16 * (i / 2) + 2 * (i % 2) + b % 2)));
        const V32 bit = L::mul_lo(L::add(column, L::splat(b / 2 * 8)), L::splat(Width));
        const V32 at = L::min_u(L::shr(bit, L::splat(3)), L::splat(matrix_bytes - 4));
        const V32 v = L::gather_32(shared, L::add(row, at), ~0u);
        const V32 e = L::shr(v, L::sub(bit, L::shl(at, L::splat(3))));
        out = L::or_(out, L::shl(L::and_(e, L::splat((1u << Width) - 1)), L::splat(8 * b)));
    }
    return out;
}

const Op* store_bytes(const Op* op, Warp& w, uint32_t mask) {
    const V32 rows = row_addresses(op, w);
    const Cta& cta = *w.cta;
    if (!near_inside(rows, as<MatrixPayload>(*op).row_lanes(), matrix_bytes, cta.shared_bytes))
        [[unlikely]]
        return matrix_port(op, w, mask);
    ++w.effects;
    // Lane l writes elements 4 * (l % 4) .. of row l / 4.
    const V32 l = L::lane_ids(), half = L::splat(1);
    const V32 first = L::shl(L::and_(l, half), L::splat(4));  // lane of element 0 or 4, mod 8
    const V32 shift =
        L::shl(L::or_(L::and_(L::shr(l, L::splat(2)), half), L::and_(l, L::splat(2))), L::splat(3));
    for (uint32_t i = 0; i < op->k[0]; ++i) {
        const V32 v = L::load(w.row(op->d + i * row_bytes));
        V32 out = L::splat(0);
        for (uint32_t b = 0; b < 4; ++b) {
            const V32 from = L::add(L::add(first, L::splat(4 * b)), L::shr(l, L::splat(3)));
            const V32 e = L::and_(L::shr(L::permute(v, from), shift), L::splat(255));
            out = L::or_(out, L::shl(e, L::splat(8 * b)));
        }
        L::scatter_32(cta.shared, word_offsets(rows, i), out, ~0u);
    }
    return next(op, w);
}

// The shapes' codes; those of LdsmSquare begin at .MT1616.
constexpr unsigned shape_m88 = 0, shape_mt88 = 1, shape_m816 = 2, shape_mt168 = 2;
constexpr unsigned width_bits4 = 5, width_bits6 = 6, width_bytes = 7;

template <class T>
unsigned matrices(Lower& x, const T& i, MatrixElement element, bool transposed, unsigned rows = 8) {
    const unsigned count = (i.count == typed::MatrixCount::X4   ? 4
                            : i.count == typed::MatrixCount::X2 ? 2
                                                                : 1) *
                           rows / 8;
    near_operand(x, i.addr, 0);
    describe(x);
    x.op.k[0] = static_cast<uint8_t>(count);
    x.op.m[2] = static_cast<uint32_t>(transposed) | static_cast<uint32_t>(element) << 1;
    return count;
}

template <class T>
void load_lowered(Lower& x, const T& i, unsigned count, Handler handler) {
    check_aligned(x, i.d.index, count);
    x.op.d = x.destination_row(i.d.index, count);
    matrix_handler(x, x.through_port() ? matrix_port : handler);
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
    if (i.width != 1 || i.shape != 1) return x.gap("a MOVM between types that no PTX becomes");
    check_aligned(x, i.d.index, 2);
    x.op.d = x.destination_row(i.d.index, 2);
    x.op.a = x.source_row(i.a.index);
    matrix_handler(x, widen);
}

void lower(Lower& x, const typed::Ldsm& i) {
    if (i.shape != shape_m88 && i.shape != shape_mt88) x.gap("matrices of nibbles");
    const bool transposed = i.shape == shape_mt88;
    load_lowered(x, i, matrices(x, i, MatrixElement::half, transposed),
                 transposed ? load_words<halves<true>> : load_words<halves<false>>);
}

void lower(Lower& x, const typed::LdsmNarrow& i) {
    if (i.shape != shape_m816 || (i.width != width_bits4 && i.width != width_bits6))
        return x.gap("a matrix that no PTX loads");
    const bool four = i.width == width_bits4;
    load_lowered(x, i, matrices(x, i, four ? MatrixElement::bits4 : MatrixElement::bits6, false),
                 four ? load_words<bytes<4>> : load_words<bytes<6>>);
}

void lower(Lower& x, const typed::LdsmSquare& i) {
    if (i.shape != 0 || i.width < width_bits4 || i.count == typed::MatrixCount::X4)
        return x.gap("a matrix that no PTX loads");
    const MatrixElement element = i.width == width_bits4   ? MatrixElement::bits4
                                  : i.width == width_bits6 ? MatrixElement::bits6
                                                           : MatrixElement::byte;
    load_lowered(x, i, matrices(x, i, element, true, 16),
                 i.width == width_bits4   ? load_words<square<4>>
                 : i.width == width_bits6 ? load_words<square<6>>
                                          : load_words<square<8>>);
}

void lower(Lower& x, const typed::Stsm& i) {
    const bool bytes = i.width == 1;
    if (bytes ? i.shape != shape_mt168 : i.shape != shape_m88 && i.shape != shape_mt88)
        x.gap("a matrix that no PTX stores");
    const bool transposed = i.shape != shape_m88;
    const unsigned count =
        matrices(x, i, bytes ? MatrixElement::byte : MatrixElement::half, transposed);
    check_aligned(x, i.data.index, count);
    x.op.d = x.source_row(i.data.index, count);
    matrix_handler(x, x.through_port() ? matrix_port
                      : bytes          ? store_bytes
                      : transposed     ? store_matrices<true>
                                       : store_matrices<false>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
