// SPDX-License-Identifier: Apache-2.0
// MUFU: operands and handlers of the functions in special_functions.hpp. Measured on an H200 over
// all operands (SPECIAL.md); other architectures are taken to be the same.
#include "emu/isa/special.hpp"

#include "emu/isa/float_modes.hpp"
#include "emu/isa/special_functions.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using special::Part;
using typed::MufuFunction;

struct alignas(64) Row {
    uint32_t word[L::kLanes];
};
template <Part (*F)(Part)>
SASSEMU_RARE void of_row(uint32_t* to, const uint32_t* from, uint32_t modifier) {
    special::by_part<F>(to, from, ~((modifier & modifier_abs) << 31), modifier & modifier_neg);
}
template <Part (*F)(Part), Source B, bool All>
const Op* special_function(const Op* op, Warp& w, uint32_t mask) {
    if constexpr (B == Source::row && All) {
        of_row<F>(w.row(op->d), w.row(op->b), op->m[1]);
    } else {
        Row row;
        L::store(row.word, read<B>(w, op->b));
        of_row<F>(row.word, row.word, op->m[1]);
        write<All>(w, op->d, L::load(row.word), mask);
    }
    return next(op, w);
}
// f16 and bf16 in either half; k[0]: high half 1, bf16 2. Results round towards zero, but from
// 2^16 on an f16 is infinite (measured on an H200).
template <Part (*F)(Part)>
V32 of_low_half(V32 x, const Op* op) {
    Row row;
    L::store(row.word, op->k[0] & 2 ? L::bf16_to_f32(x) : L::f16_to_f32(x));
    of_row<F>(row.word, row.word, op->m[1]);
    V32 r = L::load(row.word);
    if (op->k[0] & 2) {
        r = L::f32_to_bf16<Rounding::rz>(r);
    } else {
        const Mask large = L::cmp_ge_u(L::fabs(r), L::splat(0x47800000u)) & ~L::fisnan(r);
        const V32 infinite = L::or_(L::and_(r, L::splat(0x80000000u)), L::splat(special::infinity));
        r = L::f32_to_f16<Rounding::rz>(L::select(large, infinite, r));
    }
    return r;
}
template <Part (*F)(Part), Source B>
const Op* half_function(const Op* op, Warp& w, uint32_t mask) {
    V32 x = read<B>(w, op->b);
    if (op->k[0] & 1) x = L::hi16(x);
    write<false>(w, op->d, of_low_half<F>(x, op), mask);
    return next(op, w);
}
// Both halves (sm_103); assumed to be as of either alone. The signs of m[1] are fp32's.
template <Part (*F)(Part), Source B>
const Op* pair_function(const Op* op, Warp& w, uint32_t mask) {
    const V32 x = read<B>(w, op->b);
    const V32 low = of_low_half<F>(x, op), high = of_low_half<F>(L::hi16(x), op);
    write<false>(w, op->d, L::or_(low, L::shl(high, L::splat(16))), mask);
    return next(op, w);
}

template <Part (*F)(Part)>
void set_handler(Lower& x, bool scalar) {
    if (scalar)
        x.handlers(special_function<F, Source::scalar, false>,
                   special_function<F, Source::scalar, true>);
    else
        x.handlers(special_function<F, Source::row, false>, special_function<F, Source::row, true>);
}
template <Part (*F)(Part)>
void set_half_handler(Lower& x, bool scalar) {
    x.handler(scalar ? half_function<F, Source::scalar> : half_function<F, Source::row>);
}

template <class Unit>
void set_function(Lower& x, MufuFunction fn, bool scalar) {
    switch (fn) {
        case MufuFunction::RCP:
            set_handler<Unit::reciprocal>(x, scalar);
            break;
        case MufuFunction::RSQ:
            set_handler<Unit::root_reciprocal>(x, scalar);
            break;
        case MufuFunction::SQRT:
            set_handler<Unit::root>(x, scalar);
            break;
        case MufuFunction::EX2:
            set_handler<Unit::power>(x, scalar);
            break;
        case MufuFunction::LG2:
            set_handler<Unit::logarithm>(x, scalar);
            break;
        case MufuFunction::SIN:
            set_handler<Unit::sine>(x, scalar);
            break;
        case MufuFunction::COS:
            set_handler<Unit::cosine>(x, scalar);
            break;
        case MufuFunction::TANH:
            set_handler<Unit::tangent>(x, scalar);
            break;
        case MufuFunction::RCP64H:
            set_handler<Unit::reciprocal_high>(x, scalar);
            break;
        case MufuFunction::RSQ64H:
            set_handler<Unit::root_reciprocal_high>(x, scalar);
            break;
        default:
            x.reject("an invalid function of MUFU");
            break;
    }
}
template <class Unit>
void set_half_function(Lower& x, MufuFunction fn, bool scalar) {
    switch (fn) {
        case MufuFunction::RCP:
            set_half_handler<Unit::reciprocal>(x, scalar);
            break;
        case MufuFunction::RSQ:
            set_half_handler<Unit::root_reciprocal>(x, scalar);
            break;
        case MufuFunction::SQRT:
            set_half_handler<Unit::root>(x, scalar);
            break;
        case MufuFunction::EX2:
            set_half_handler<Unit::power>(x, scalar);
            break;
        case MufuFunction::LG2:
            set_half_handler<Unit::logarithm>(x, scalar);
            break;
        case MufuFunction::SIN:
            set_half_handler<Unit::sine>(x, scalar);
            break;
        case MufuFunction::COS:
            set_half_handler<Unit::cosine>(x, scalar);
            break;
        case MufuFunction::TANH:
            set_half_handler<Unit::tangent>(x, scalar);
            break;
        default:
            x.reject("a function of MUFU without a half-precision form");
            break;
    }
}

// The tables of an architecture; all have those of sm_90 so far.
using Measured = special::Functions<special_tables::Sm90>;

}  // namespace

void lower(Lower& x, const typed::Mufu& i) {
    typed::Src s = i.b;
    const bool high = i.fn == MufuFunction::RCP64H || i.fn == MufuFunction::RSQ64H;
    if (high && s.kind == typed::SrcKind::Imm) s.imm >>= 32;
    x.op.d = x.destination_row(i.d.index);
    const Operand b = x.source(s);
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    set_function<Measured>(x, i.fn, b.scalar);
}

void lower(Lower& x, const typed::MufuPair& i) {
    if (i.fn != typed::MufuHalfFunction::EX2)
        return x.reject("a function of MUFU without a form of pairs");
    x.op.d = x.destination_row(i.d.index);
    const Operand b = x.source(i.b);
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    x.op.k[0] = i.type ? 2 : 0;
    x.handler(b.scalar ? pair_function<Measured::power, Source::scalar>
                       : pair_function<Measured::power, Source::row>);
}

void lower(Lower& x, const typed::MufuHalf& i) {
    x.op.d = x.destination_row(i.d.index);
    const Operand b = x.source(i.b);
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    const bool h1 = i.b.kind != typed::SrcKind::Imm && i.half == typed::HalfSelect::H1;
    x.op.k[0] = static_cast<uint8_t>((h1 ? 1 : 0) | (i.type == typed::MufuType::BF16 ? 2 : 0));
    set_half_function<Measured>(x, i.fn, b.scalar);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
