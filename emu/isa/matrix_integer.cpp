// SPDX-License-Identifier: Apache-2.0
// IMMA and BMMA: exact sums of integer products, and of the bits that two words have in common.
// Order does not matter and 32 bits hold every sum of products; only the accumulator can overflow.
#include "emu/isa/matrix.hpp"

#include "emu/isa/matrix_fragment.hpp"
#include "emu/isa/matrix_sparse.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// Layout of an Op: d, a, b, c rows; e the row of metadata
//   m[0] registers of b   m[1] halves of eight rows   m[2] bit 0: saturate   k[0] selector

template <bool SignedA, bool SignedB>
struct Bytes {
    static constexpr uint32_t passes = 1, shift = 0;
    static SASSEMU_INLINE V32 part(V32 v, uint32_t) { return v; }
    static SASSEMU_INLINE V32 add(V32 a, V32 b, V32 sum) {
        return L::dp4a<SignedA, SignedB>(a, b, sum);
    }
};
// Each nibble as the high half of a byte: products are 256 times too large.
template <bool SignedA, bool SignedB>
struct Nibbles {
    static constexpr uint32_t passes = 2, shift = 8;
    static SASSEMU_INLINE V32 part(V32 v, uint32_t pass) {
        return L::and_(pass ? v : L::shl(v, L::splat(4)), L::splat(0xf0f0f0f0u));
    }
    static SASSEMU_INLINE V32 add(V32 a, V32 b, V32 sum) {
        return L::dp4a<SignedA, SignedB>(a, b, sum);
    }
};
template <bool Xor>
struct Bits {
    static constexpr uint32_t passes = 1, shift = 0;
    static SASSEMU_INLINE V32 part(V32 v, uint32_t) { return v; }
    static SASSEMU_INLINE V32 add(V32 a, V32 b, V32 sum) {
        return L::add(sum, L::popc(Xor ? L::xor_(a, b) : L::and_(a, b)));
    }
};

SASSEMU_INLINE V32 accumulator(const Op* op, const Warp& w, uint32_t i) {
    return accumulates(op, w) ? L::load(w.row(op->c + i * row_bytes)) : L::splat(0);
}

template <class P>
const Op* multiply(const Op* op, Warp& w, uint32_t) {
    const uint32_t registers = op->m[0], halves = op->m[1];
    V32 sum[4] = {L::splat(0), L::splat(0), L::splat(0), L::splat(0)};
    for (uint32_t r = 0; r < registers; ++r) {
        const V32 b = L::load(w.row(op->b + r * row_bytes));
        for (uint32_t pass = 0; pass < P::passes; ++pass) {
            const V32 bp = P::part(b, pass);
            for (uint32_t t = 0; t < 4; ++t) {
                const V32 b0 = of_column(bp, 0, t), b1 = of_column(bp, 1, t);
                for (uint32_t half = 0; half < halves; ++half) {
                    const V32 a = of_group(
                        P::part(L::load(w.row(op->a + (r * halves + half) * row_bytes)), pass), t);
                    sum[2 * half] = P::add(a, b0, sum[2 * half]);
                    sum[2 * half + 1] = P::add(a, b1, sum[2 * half + 1]);
                }
            }
        }
    }
    V32 d[4];
    for (uint32_t i = 0; i < 2 * halves; ++i)
        d[i] = accumulate(L::sar(sum[i], L::splat(P::shift)), accumulator(op, w, i), op->m[2] & 1);
    for (uint32_t i = 0; i < 2 * halves; ++i) L::store(w.row(op->d + i * row_bytes), d[i]);
    return op + 1;
}

// Element e of a word, extended.
template <bool Signed>
SASSEMU_INLINE int32_t element(uint32_t word, uint32_t e, uint32_t width) {
    const uint32_t up = word << (32 - width * (e + 1));
    return Signed ? static_cast<int32_t>(up) >> (32 - width)
                  : static_cast<int32_t>(up >> (32 - width));
}

template <bool SignedA, bool SignedB, uint32_t Width>
const Op* multiply_sparse(const Op* op, Warp& w, uint32_t) {
    constexpr uint32_t each = 32 / Width;
    int32_t sum[2][8][8] = {};
    each_stored(w, op, op->m[0], each,
                [&](unsigned half, unsigned g, unsigned k, uint32_t word, unsigned e) {
                    const int32_t a = element<SignedA>(word, e, Width);
                    const uint32_t* b = w.row(op->b + k / (4 * each) * row_bytes);
                    for (unsigned n = 0; n < 8; ++n)
                        sum[half][g][n] +=
                            a * element<SignedB>(b[4 * n + k / each % 4], k % each, Width);
                });
    V32 d[4];
    for (uint32_t i = 0; i < 4; ++i) {
        alignas(128) uint32_t plane[32];
        for (uint32_t lane = 0; lane < 32; ++lane)
            plane[lane] = static_cast<uint32_t>(sum[i >> 1][lane / 4][2 * (lane % 4) + (i & 1)]);
        d[i] = accumulate(L::load(plane), accumulator(op, w, i), op->m[2] & 1);
    }
    for (uint32_t i = 0; i < 4; ++i) L::store(w.row(op->d + i * row_bytes), d[i]);
    return op + 1;
}

bool is_nibble(typed::ImmaType t) { return t == typed::ImmaType::U4 || t == typed::ImmaType::S4; }
bool is_signed(typed::ImmaType t) { return t == typed::ImmaType::S8 || t == typed::ImmaType::S4; }

template <class T>
void operands(Lower& x, const T& i, unsigned a, unsigned b, unsigned c) {
    x.op.d = matrix_destination(x, i.d, c);
    x.op.a = matrix_source(x, i.a, a);
    x.op.b = matrix_source(x, i.b, b);
    x.op.c = matrix_source(x, i.c, c);
    set_accumulates(x, i.pa);
    x.op.m[0] = b;
    x.op.m[1] = c / 2;
}
template <template <bool, bool> class P, class T>
void choose(Lower& x, const T& i) {
    const bool a = is_signed(i.atype), b = is_signed(i.btype);
    matrix_handler(x, a   ? b ? multiply<P<true, true>> : multiply<P<true, false>>
                        : b ? multiply<P<false, true>>
                          : multiply<P<false, false>>);
}
template <uint32_t Width, class T>
void choose_sparse(Lower& x, const T& i) {
    const bool a = is_signed(i.atype), b = is_signed(i.btype);
    matrix_handler(x,
                   a ? b ? multiply_sparse<true, true, Width> : multiply_sparse<true, false, Width>
                   : b ? multiply_sparse<false, true, Width>
                       : multiply_sparse<false, false, Width>);
}
template <class T>
bool types_fit(Lower& x, const T& i) {
    using E = typed::ImmaType;
    for (E t : {i.atype, i.btype})
        if (t != E::U8 && t != E::S8 && t != E::U4 && t != E::S4) {
            x.reject("an integer matrix product of an invalid type");
            return false;
        }
    if (is_nibble(i.atype) != is_nibble(i.btype)) {
        x.reject("an integer matrix product of bytes and nibbles");
        return false;
    }
    return true;
}

}  // namespace

void lower(Lower& x, const typed::Imma& i) {
    using S = typed::ImmaShape;
    if (!types_fit(x, i)) return;
    const bool nibbles = is_nibble(i.atype);
    if (i.alayout != 0 || i.blayout != 1) return x.gap("IMMA with another layout than ROW, COL");
    // The shapes by what a register holds: k of 16 bytes or 32 nibbles.
    unsigned registers, halves = 2;
    if (i.shape == (nibbles ? S::M8832 : S::M8816)) {
        registers = halves = 1;
    } else if (i.shape == (nibbles ? S::M16832 : S::M16816)) {
        registers = 1;
    } else if (i.shape == (nibbles ? S::M16864 : S::M16832)) {
        registers = 2;
    } else {
        return x.reject("IMMA with an invalid shape");
    }
    operands(x, i, registers * halves, registers, 2 * halves);
    x.op.m[2] = i.sat;
    nibbles ? choose<Nibbles>(x, i) : choose<Bytes>(x, i);
}

void lower(Lower& x, const typed::ImmaSp& i) {
    using S = typed::ImmaShape;
    if (!types_fit(x, i)) return;
    const bool nibbles = is_nibble(i.atype);
    if (i.alayout != 0 || i.blayout != 1) return x.gap("IMMA.SP with another layout than ROW, COL");
    const S narrow = nibbles ? S::M16864 : S::M16832, wide = nibbles ? S::M168128 : S::M16864;
    if (i.shape != narrow && i.shape != wide) return x.reject("IMMA.SP with an invalid shape");
    const unsigned registers = i.shape == narrow ? 2 : 4;
    operands(x, i, registers, registers, 4);
    x.op.m[2] = i.sat;
    x.op.e = x.source_row(i.e.index);
    x.op.k[0] = static_cast<uint8_t>(i.selector.imm);
    nibbles ? choose_sparse<4>(x, i) : choose_sparse<8>(x, i);
}

void lower(Lower& x, const typed::Bmma& i) {
    using S = typed::BmmaShape;
    if (i.alayout != 0 || i.blayout != 1 || i.popc != 1)
        return x.reject("BMMA with an invalid form");
    const bool has_xor = sassdec::architecture(x.sm()).family->bmma_xor;
    if (i.op != typed::BmmaOp::AND && (i.op != typed::BmmaOp::XOR || !has_xor))
        return x.reject("BMMA with an invalid operation");
    const unsigned halves = i.shape == S::M88128 ? 1 : 2, registers = i.shape == S::M168256 ? 2 : 1;
    if (i.shape != S::M88128 && i.shape != S::M168128 && i.shape != S::M168256)
        return x.reject("BMMA with an invalid shape");
    operands(x, i, registers * halves, registers, 2 * halves);
    matrix_handler(x, i.op == typed::BmmaOp::XOR ? multiply<Bits<true>> : multiply<Bits<false>>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
