// SPDX-License-Identifier: Apache-2.0
// fp32 arithmetic, comparison and selection. Round to nearest without modifiers has handlers of its
// own; the other roundings, .FTZ, .FMZ, .SAT and the scale of FMUL share one that looks at op->k.
#include "emu/isa/float.hpp"

#include "emu/isa/float_arithmetic.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// ---- FADD, FMUL, FFMA ------------------------------------------------------------------------

template <bool Ftz>
struct AddNearest {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) {
        return L::fadd<Rounding::rn, Ftz>(a, b);
    }
};
template <bool Ftz>
struct MulNearest {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) {
        return L::fmul<Rounding::rn, Ftz>(a, b);
    }
};
template <bool Ftz>
struct FmaNearest {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, V32 c, const Op&) {
        return L::ffma<Rounding::rn, Ftz>(a, b, c);
    }
};

// FSWZADD: the lanes of a quad have signs of their own (measured on an H200). m[0], m[1]: the lanes
// that negate a, b; m[2]: the lanes without a.
const Op* quad_add(const Op* op, Warp& w, uint32_t mask) {
    const auto flip = [&](Mask m, V32 v) {
        return L::xor_(v, L::select(m, L::splat(0x80000000u), L::splat(0)));
    };
    const V32 a = flip(op->m[0], read<Source::row>(w, op->a));
    const V32 b = flip(op->m[1], read<Source::row>(w, op->b));
    write<false>(w, op->d, AddAnyMode::apply(L::select(op->m[2], L::splat(0), a), b, *op), mask);
    return next(op, w);
}

// As in every sine and cosine of CUDA's fast mathematics.
struct MulTowardsZero {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) { return L::fmul<Rounding::rz>(a, b); }
};
// ---- FMNMX, FSEL -----------------------------------------------------------------------------

// Two sources and a mask.
template <class F, Source B, bool All>
const Op* alu2_masked(const Op* op, Warp& w, uint32_t mask) {
    V32 a = read<Source::row>(w, op->a);
    V32 b = read<B>(w, op->b);
    if (op->m[0] | op->m[1]) {
        a = apply_modifier(a, op->m[0]);
        b = apply_modifier(b, op->m[1]);
    }
    write<All>(w, op->d, F::apply(a, b, predicate_source<2>(op, w), *op), mask);
    return next(op, w);
}
template <class F>
void emit2_masked(Lower& x, const Operand& a, const Operand& b) {
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.m[0] = a.modifier;
    x.op.m[1] = b.modifier;
    if (b.scalar)
        x.handlers(alu2_masked<F, Source::scalar, false>, alu2_masked<F, Source::scalar, true>);
    else
        x.handlers(alu2_masked<F, Source::row, false>, alu2_masked<F, Source::row, true>);
}

template <bool Max, bool Nan>
struct MinMax {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) {
        if constexpr (Nan) return Max ? L::fmax_nan(a, b) : L::fmin_nan(a, b);
        return Max ? L::fmax(a, b) : L::fmin(a, b);
    }
};

// e: the predicate of .IS_A (PT when there is none).
template <Source B>
const Op* minmax_any_mode(const Op* op, Warp& w, uint32_t mask) {
    const MinMaxResult r =
        min_max(read<Source::row>(w, op->a), read<B>(w, op->b), predicate_source<2>(op, w), *op);
    write<false>(w, op->d, r.value, mask);
    if (op->e != 7) write_predicate(w, op->e, r.is_a, mask);
    return next(op, w);
}

template <class T>
void lower_minmax_any_mode(Lower& x, const T& i, const Operand& a, const Operand& b) {
    x.op.k[0] = minmax_mode(i);
    set_predicate_source(x, 2, i.pa);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.m[0] = a.modifier;
    x.op.m[1] = b.modifier;
    x.handler(b.scalar ? minmax_any_mode<Source::scalar> : minmax_any_mode<Source::row>);
}

// FMNMX3: of three. k[1]: bit 0, b is a scalar; bit 1, c is.
const Op* minmax_three(const Op* op, Warp& w, uint32_t mask) {
    const auto source = [&](uint32_t at, bool scalar, uint32_t modifier) {
        return apply_modifier(scalar ? read<Source::scalar>(w, at) : read<Source::row>(w, at),
                              modifier);
    };
    const V32 a = source(op->a, false, op->m[0]), b = source(op->b, op->k[1] & 1, op->m[1]),
              c = source(op->c, op->k[1] & 2, op->m[2]);
    const Mask min = predicate_source<2>(op, w);
    write<false>(w, op->d, min_max(min_max(a, b, min, op->k[0]), c, min, op->k[0]), mask);
    return next(op, w);
}

struct Select {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, Mask p, const Op&) { return L::select(p, a, b); }
};
struct SelectFtz {
    static V32 apply(V32 a, V32 b, Mask p, const Op&) { return L::ftz(L::select(p, a, b)); }
};

// ---- comparisons -----------------------------------------------------------------------------

template <Compare C, Source B, bool Ftz>
SASSEMU_INLINE Mask compare(const Op* op, const Warp& w) {
    V32 a = read<Source::row>(w, op->a);
    V32 b = read<B>(w, op->b);
    if (op->m[0] | op->m[1]) {
        a = apply_modifier(a, op->m[0]);
        b = apply_modifier(b, op->m[1]);
    }
    if constexpr (Ftz) {
        a = L::ftz(a);
        b = L::ftz(b);
    }
    return L::fcmp<C>(a, b);
}
// FSETP: d and e are the destination predicates, the second gets the complement of the comparison.
template <Compare C, Source B, bool Ftz>
const Op* set_predicate(const Op* op, Warp& w, uint32_t mask) {
    const Mask r = compare<C, B, Ftz>(op, w);
    const Mask p = predicate_source<2>(op, w);
    write_predicate(w, op->d, combine(r, p, op->k[0]), mask);
    if (op->e != 7) write_predicate(w, op->e, combine(~r, p, op->k[0]), mask);
    return next(op, w);
}
// FSET: 1.0 or 0.
template <Compare C, Source B, bool Ftz>
const Op* set_value(const Op* op, Warp& w, uint32_t mask) {
    const Mask r = combine(compare<C, B, Ftz>(op, w), predicate_source<2>(op, w), op->k[0]);
    write<false>(w, op->d, L::select(r, L::splat(0x3f800000u), L::splat(0)), mask);
    return next(op, w);
}

template <bool Value, Source B, bool Ftz, Compare C>
constexpr Handler comparison_of() {
    if constexpr (Value) return set_value<C, B, Ftz>;
    return set_predicate<C, B, Ftz>;
}
template <bool Value, Source B, bool Ftz>
Handler comparison_handler(Compare c) {
    static constexpr Handler table[16] = {
        comparison_of<Value, B, Ftz, Compare::f>(),   comparison_of<Value, B, Ftz, Compare::lt>(),
        comparison_of<Value, B, Ftz, Compare::eq>(),  comparison_of<Value, B, Ftz, Compare::le>(),
        comparison_of<Value, B, Ftz, Compare::gt>(),  comparison_of<Value, B, Ftz, Compare::ne>(),
        comparison_of<Value, B, Ftz, Compare::ge>(),  comparison_of<Value, B, Ftz, Compare::num>(),
        comparison_of<Value, B, Ftz, Compare::nan>(), comparison_of<Value, B, Ftz, Compare::ltu>(),
        comparison_of<Value, B, Ftz, Compare::equ>(), comparison_of<Value, B, Ftz, Compare::leu>(),
        comparison_of<Value, B, Ftz, Compare::gtu>(), comparison_of<Value, B, Ftz, Compare::neu>(),
        comparison_of<Value, B, Ftz, Compare::geu>(), comparison_of<Value, B, Ftz, Compare::t>()};
    return table[static_cast<unsigned>(c)];
}
template <bool Value, class T>
void lower_comparison(Lower& x, const T& i) {
    if (!check_bool_op(x, i.bool_)) return;
    const Operand a = x.source(i.a), b = x.source(i.b);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.m[0] = a.modifier;
    x.op.m[1] = b.modifier;
    x.op.k[0] = static_cast<uint8_t>(i.bool_);
    set_predicate_source(x, 2, i.pa);
    const Compare c = static_cast<Compare>(i.cmp);
    if (b.scalar)
        x.handler(i.ftz ? comparison_handler<Value, Source::scalar, true>(c)
                        : comparison_handler<Value, Source::scalar, false>(c));
    else
        x.handler(i.ftz ? comparison_handler<Value, Source::row, true>(c)
                        : comparison_handler<Value, Source::row, false>(c));
}

// ---- FCHK ------------------------------------------------------------------------------------

// True where the code that follows must not use a * (1 / b) with two Newton steps: a zero,
// subnormal, infinite or NaN operand, a reciprocal that would be subnormal, a quotient near either
// end of the range, or a dividend so small that the remainder would be subnormal. The exponents'
// borders are those of an H200; which code runs changes no quotient.
template <Source B>
const Op* division_needs_slow_path(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = apply_modifier(read<Source::row>(w, op->a), op->m[0]);
    const V32 b = apply_modifier(read<B>(w, op->b), op->m[1]);
    const V32 field = L::splat(0xff);
    const V32 ea = L::and_(L::shr(a, L::splat(23)), field);
    const V32 eb = L::and_(L::shr(b, L::splat(23)), field);
    const V32 quotient = L::sub(ea, eb);
    const Mask unsafe_a = L::cmp_lt_s(ea, L::splat(25)) | L::cmp_eq(ea, field);
    const Mask unsafe_b = L::cmp_lt_s(eb, L::splat(2)) | L::cmp_gt_s(eb, L::splat(251));
    const Mask unsafe_quotient = L::cmp_lt_s(quotient, L::splat(static_cast<uint32_t>(-124))) |
                                 L::cmp_gt_s(quotient, L::splat(126));
    write_predicate(w, op->d, unsafe_a | unsafe_b | unsafe_quotient, mask);
    return next(op, w);
}

// ---- halves and fp32 ---------------------------------------------------------------------------
//
// FHADD, FHFMA (add, sub and fma of PTX with .f32.f16 and .f32.bf16): halves are exact in fp32, and
// so is their product within the fused operation, which rounds once. k[1]: which half, of what.
constexpr unsigned half_a_high = 1, half_b_high = 2, halves_are_bf16 = 4;

SASSEMU_INLINE V32 half_operand(V32 v, bool high, bool bf16, uint32_t modifier) {
    if (high) v = L::hi16(v);
    return apply_modifier(bf16 ? L::bf16_to_f32(v) : L::f16_to_f32(v), modifier);
}
template <Source B>
const Op* add_half(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = half_operand(read<Source::row>(w, op->a), op->k[1] & half_a_high,
                               op->k[1] & halves_are_bf16, op->m[0]);
    const V32 b = apply_modifier(read<B>(w, op->b), op->m[1]);
    write<false>(w, op->d, AddAnyMode::apply(a, b, *op), mask);
    return next(op, w);
}
template <Source B, Source C>
const Op* fma_halves(const Op* op, Warp& w, uint32_t mask) {
    const bool bf16 = op->k[1] & halves_are_bf16;
    const V32 a = half_operand(read<Source::row>(w, op->a), op->k[1] & half_a_high, bf16, op->m[0]);
    const V32 b = half_operand(read<B>(w, op->b), op->k[1] & half_b_high, bf16, op->m[1]);
    const V32 c = apply_modifier(read<C>(w, op->c), op->m[2]);
    write<false>(w, op->d, FmaAnyMode::apply(a, b, c, *op), mask);
    return next(op, w);
}
template <class T>
void set_mixed(Lower& x, const T& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.k[0] = static_cast<uint8_t>(mode_of(i.rnd, false, false, i.sat));
    const Operand a = x.source(i.a);
    x.op.a = a.at;
    x.op.m[0] = a.modifier;
    x.op.k[1] = static_cast<uint8_t>((i.half_a == typed::HalfSelect::H1 ? half_a_high : 0) |
                                     (i.type == typed::MixedType::BF16 ? halves_are_bf16 : 0));
}

}  // namespace

void lower(Lower& x, const typed::Fadd& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.k[0] = static_cast<uint8_t>(mode_of(i.rnd, i.ftz, false, i.sat));
    const Operand a = x.source(i.a), b = x.source(i.b);
    if (x.op.k[0] == 0)
        emit2<AddNearest<false>>(x, a, b);
    else if (x.op.k[0] == mode_ftz)
        emit2<AddNearest<true>>(x, a, b);
    else
        emit2<AddAnyMode>(x, a, b);
}

void lower(Lower& x, const typed::Fhadd& i) {
    set_mixed(x, i);
    const Operand b = x.source(i.b);
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    x.handler(b.scalar ? add_half<Source::scalar> : add_half<Source::row>);
}
void lower(Lower& x, const typed::Fhfma& i) {
    set_mixed(x, i);
    const Operand b = x.source(i.b), c = x.source(i.c);
    x.op.b = b.at;
    x.op.c = c.at;
    x.op.m[1] = b.modifier;
    x.op.m[2] = c.modifier;
    x.op.k[1] |= i.half_b == typed::HalfSelect::H1 ? half_b_high : 0;
    if (c.scalar)
        x.handler(fma_halves<Source::row, Source::scalar>);
    else
        x.handler(b.scalar ? fma_halves<Source::scalar, Source::row>
                           : fma_halves<Source::row, Source::row>);
}

void lower(Lower& x, const typed::Fmul& i) {
    check_flush_mode(x, i.fmz);
    if (static_cast<unsigned>(i.scale) == 0) x.reject("an invalid scale");
    x.op.d = x.destination_row(i.d.index);
    x.op.k[0] = static_cast<uint8_t>(mode_of(i.rnd, flushes(i.fmz), zeroes(i.fmz), i.sat));
    x.op.k[1] = static_cast<uint8_t>(i.scale);
    const Operand a = x.source(i.a), b = x.source(i.b);
    if (x.op.k[0] == 0 && i.scale == typed::FScale::M1)
        emit2<MulNearest<false>>(x, a, b);
    else if (x.op.k[0] == mode_ftz && i.scale == typed::FScale::M1)
        emit2<MulNearest<true>>(x, a, b);
    else if (x.op.k[0] == static_cast<unsigned>(Rounding::rz) && i.scale == typed::FScale::M1)
        emit2<MulTowardsZero>(x, a, b);
    else
        emit2<MulAnyMode>(x, a, b);
}

void lower(Lower& x, const typed::Ffma& i) {
    check_flush_mode(x, i.fmz);
    x.op.d = x.destination_row(i.d.index);
    x.op.k[0] = static_cast<uint8_t>(mode_of(i.rnd, flushes(i.fmz), zeroes(i.fmz), i.sat));
    const Operand a = x.source(i.a), b = x.source(i.b), c = x.source(i.c);
    if (x.op.k[0] == 0)
        emit3<FmaNearest<false>>(x, a, b, c);
    else if (x.op.k[0] == mode_ftz)
        emit3<FmaNearest<true>>(x, a, b, c);
    else
        emit3<FmaAnyMode>(x, a, b, c);
}

void lower(Lower& x, const typed::Fmnmx& i) {
    x.op.d = x.destination_row(i.d.index);
    const Operand a = x.source(i.a), b = x.source(i.b);
    if (i.pa.index == 7 && !i.ftz && !i.xorsign) {
        if (i.pa.neg)
            i.nan ? emit2<MinMax<true, true>>(x, a, b) : emit2<MinMax<true, false>>(x, a, b);
        else
            i.nan ? emit2<MinMax<false, true>>(x, a, b) : emit2<MinMax<false, false>>(x, a, b);
        return;
    }
    x.op.e = 7;
    lower_minmax_any_mode(x, i, a, b);
}

void lower(Lower& x, const typed::FmnmxIsA& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.e = i.pd.index;
    lower_minmax_any_mode(x, i, x.source(i.a), x.source(i.b));
}

void lower(Lower& x, const typed::Fmnmx3& i) {
    x.op.d = x.destination_row(i.d.index);
    const Operand a = x.source(i.a), b = x.source(i.b), c = x.source(i.c);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.c = c.at;
    x.op.m[0] = a.modifier;
    x.op.m[1] = b.modifier;
    x.op.m[2] = c.modifier;
    x.op.k[0] = static_cast<uint8_t>((i.ftz ? minmax_ftz : 0) | (i.nan ? minmax_nan : 0));
    x.op.k[1] = static_cast<uint8_t>(b.scalar | c.scalar << 1);
    set_predicate_source(x, 2, i.pa);
    x.handler(minmax_three);
}

void lower(Lower& x, const typed::Fsel& i) {
    x.op.d = x.destination_row(i.d.index);
    const Operand a = x.source(i.a), b = x.source(i.b);
    set_predicate_source(x, 2, i.pa);
    if (i.ftz)
        emit2_masked<SelectFtz>(x, a, b);
    else
        emit2_masked<Select>(x, a, b);
}

void lower(Lower& x, const typed::Fsetp& i) {
    x.op.d = i.pd.index;
    x.op.e = i.pd2.index;
    lower_comparison<false>(x, i);
}

void lower(Lower& x, const typed::Fset& i) {
    x.op.d = x.destination_row(i.d.index);
    lower_comparison<true>(x, i);
}

void lower(Lower& x, const typed::Fswzadd& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.a = x.source(i.a).at;
    x.op.b = x.source(i.b).at;
    x.op.k[0] = static_cast<uint8_t>(mode_of(i.rnd, i.ftz, false, false));
    const typed::QuadSign signs[4] = {i.lane0, i.lane1, i.lane2, i.lane3};
    for (unsigned lane = 0; lane < 4; ++lane) {
        const uint32_t lanes = 0x11111111u << lane;
        if (signs[lane] == typed::QuadSign::NP) x.op.m[0] |= lanes;
        if (signs[lane] == typed::QuadSign::PN) x.op.m[1] |= lanes;
        if (signs[lane] == typed::QuadSign::ZP) x.op.m[2] |= lanes;
    }
    x.handler(quad_add);
}
void lower(Lower& x, const typed::Fchk& i) {
    x.op.d = i.pd.index;
    const Operand a = x.source(i.a), b = x.source(i.b);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.m[0] = a.modifier;
    x.op.m[1] = b.modifier;
    x.handler(b.scalar ? division_needs_slow_path<Source::scalar>
                       : division_needs_slow_path<Source::row>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
