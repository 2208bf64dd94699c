// SPDX-License-Identifier: Apache-2.0
// FADD2, FMUL2, FFMA2: the fp32 operation on each half of register pairs (PTX ISA, add, mul and fma
// of .f32x2).
#include "emu/isa/float_pairs.hpp"

#include "emu/isa/float_arithmetic.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

struct Sum {
    static V32 apply(const V32* v, const Op& op) { return AddAnyMode::apply(v[0], v[1], op); }
};
struct Product {
    static V32 apply(const V32* v, const Op& op) { return MulAnyMode::apply(v[0], v[1], op); }
};
struct ProductAndSum {
    static V32 apply(const V32* v, const Op& op) { return FmaAnyMode::apply(v[0], v[1], v[2], op); }
};

// a, b, c; m[k]: modifiers of source k. e: in bits 4k..4k+3 of source k: its halves are swapped, it
// has but one, it is a scalar, what the upper half of the result gets of it is negated once more
// (.NP, as ptxas 13.0 uses it for pairs of which one number is negated).
constexpr uint32_t swapped = 1, single = 2, scalar = 4, opposed = 8;
template <unsigned Sources, class F>
const Op* pairs(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t at[3] = {op->a, op->b, op->c};
    V32 r[2];
    for (uint32_t half = 0; half < 2; ++half) {
        V32 v[Sources];
        for (unsigned k = 0; k < Sources; ++k) {
            const uint32_t how = op->e >> (4 * k);
            const uint32_t from = how & single ? 0 : half ^ (how & swapped);
            v[k] = apply_modifier(how & scalar ? L::splat(w.scalar32(at[k] + 4 * from))
                                               : L::load(w.row(at[k] + from * row_bytes)),
                                  op->m[k]);
            if (half && how & opposed) v[k] = L::xor_(v[k], L::splat(0x80000000));
        }
        r[half] = F::apply(v, *op);
    }
    write<false>(w, op->d, r[0], mask);
    write<false>(w, op->d + row_bytes, r[1], mask);
    return next(op, w);
}

// `opposes`: of an immediate, whose .NP is a field of its own.
void set_source(Lower& x, unsigned k, const typed::Src& s, typed::PairHalf half,
                bool opposes = false) {
    using typed::PairHalf;
    const bool immediate = s.kind == typed::SrcKind::Imm;
    if (!immediate) {
        opposes = half >= PairHalf::HI_LO_NP;
        if (opposes)
            half = static_cast<PairHalf>(static_cast<uint32_t>(half) -
                                         static_cast<uint32_t>(PairHalf::HI_LO_NP));
        if (half > PairHalf::F32) return x.reject("an invalid choice of halves");
    }
    const bool one = immediate || half == PairHalf::F32;
    const Operand o = x.source(s, one ? 1 : 2);
    (k == 0 ? x.op.a : k == 1 ? x.op.b : x.op.c) = o.at;
    x.op.m[k] = o.modifier;
    x.op.e |= ((half == PairHalf::LO_HI ? swapped : 0) | (one ? single : 0) |
               (o.scalar ? scalar : 0) | (opposes ? opposed : 0))
              << (4 * k);
}
void set_result(Lower& x, const typed::Reg& d, unsigned mode, Handler handler) {
    x.op.d = x.destination_row(d.index, 2);
    x.op.k[0] = static_cast<uint8_t>(mode);
    x.op.k[1] = static_cast<uint8_t>(typed::FScale::M1);  // of products: none
    x.handler(handler);
}

}  // namespace

void lower(Lower& x, const typed::Fadd2& i) {
    set_source(x, 0, i.a, i.ahalf);
    set_source(x, 1, i.b, i.bhalf, i.bimm);
    set_result(x, i.d, mode_of(i.rnd, i.ftz, false, false), pairs<2, Sum>);
}
void lower(Lower& x, const typed::Fmul2& i) {
    check_flush_mode(x, i.fmz);
    set_source(x, 0, i.a, i.ahalf);
    set_source(x, 1, i.b, i.bhalf);
    set_result(x, i.d, mode_of(i.rnd, flushes(i.fmz), zeroes(i.fmz), false), pairs<2, Product>);
}
void lower(Lower& x, const typed::Ffma2& i) {
    check_flush_mode(x, i.fmz);
    set_source(x, 0, i.a, i.ahalf);
    set_source(x, 1, i.b, i.bhalf);
    set_source(x, 2, i.c, i.chalf, i.cimm);
    set_result(x, i.d, mode_of(i.rnd, flushes(i.fmz), zeroes(i.fmz), false),
               pairs<3, ProductAndSum>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
