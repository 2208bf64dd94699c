// SPDX-License-Identifier: Apache-2.0
// fp16x2 and bf16x2 arithmetic and comparison. An operation is a fetch that swizzles and negates
// halves, and a value. Round to nearest without modifiers is inlined per operand kind; flushing,
// saturation, .RELU, .FMZ and fp32 results share code that looks at op->k[0].
#include "emu/isa/half.hpp"

#include "emu/isa/float_modes.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using typed::HalfSwizzle;

// ---- operands --------------------------------------------------------------------------------

// op->f is zero when no operand is changed on its way; else k[1] holds the swizzles of a (low
// nibble) and b, m[0..2] the modifiers, and (of three-operand forms) k[2] the swizzle of c.
SASSEMU_INLINE V32 fetch(V32 v, unsigned swizzle, uint32_t modifier) {
    const V32 sixteen = L::splat(16);
    switch (static_cast<HalfSwizzle>(swizzle)) {
        case HalfSwizzle::H0_H0:
            v = L::and_(v, L::splat(0xffffu));
            v = L::or_(v, L::shl(v, sixteen));
            break;
        case HalfSwizzle::H1_H1:
            v = L::or_(L::shr(v, sixteen), L::and_(v, L::splat(0xffff0000u)));
            break;
        case HalfSwizzle::H0_NH1:  // the halves change places, H1 negated (measured on an H200)
            v = L::or_(L::shl(v, sixteen), L::shr(v, sixteen));
            v = L::xor_(v, L::splat(0x8000u));
            break;
        default:
            break;
    }
    const uint32_t clear = modifier & modifier_abs ? 0x7fff7fffu : ~0u;
    return L::xor_(L::and_(v, L::splat(clear)), L::splat((modifier >> 31) * 0x80008000u));
}
// Constants and immediates are scalars; the fp32 swizzle of HADD2 keeps the whole register.
uint32_t set_operand(Lower& x, const typed::Src& s, HalfSwizzle swizzle, int slot) {
    const Operand o = x.source(s);
    if (s.kind == typed::SrcKind::Imm) swizzle = HalfSwizzle::H1_H0;
    if (static_cast<unsigned>(swizzle) > 4) x.reject("an invalid half selection");
    // Operand b of HFMA2 has an fp32 selection there too; nothing else has.
    if (swizzle == HalfSwizzle::F32 && !sassdec::architecture(x.sm()).family->fp32_half)
        x.gap("an fp32 source on sm_90 and later");
    const unsigned code = static_cast<unsigned>(swizzle);
    x.op.m[slot] = o.modifier;
    if (slot == 0) x.op.k[1] |= static_cast<uint8_t>(code);
    if (slot == 1) x.op.k[1] |= static_cast<uint8_t>(code << 4);
    if (slot == 2) x.op.k[2] = static_cast<uint8_t>(code);
    if (code || o.modifier) x.op.f = 1;
    return o.at;
}
void no_f32_source(Lower& x, HalfSwizzle s, const typed::Src& o) {
    if (s == HalfSwizzle::F32 && o.kind != typed::SrcKind::Imm)
        x.gap("an fp32 source in half-precision arithmetic");
}
bool is_scalar(const typed::Src& s) {
    return s.kind != typed::SrcKind::Reg && s.kind != typed::SrcKind::None;
}

// ---- values ----------------------------------------------------------------------------------

enum class What : uint8_t { add, mul, fma };
constexpr unsigned mode_ftz = 1, mode_fmz = 2, mode_sat = 4, mode_relu = 8, mode_f32 = 16,
                   mode_oob = 32;

template <What W, bool Bf, bool Ftz>
SASSEMU_INLINE V32 nearest(V32 a, V32 b, V32 c) {
    if constexpr (Bf) {
        if constexpr (W == What::add) return L::badd2<>(a, b);
        if constexpr (W == What::mul) return L::bmul2<>(a, b);
        if constexpr (W == What::fma) return L::bfma2<>(a, b, c);
    } else {
        if constexpr (W == What::add) return L::hadd2<Ftz>(a, b);
        if constexpr (W == What::mul) return L::hmul2<Ftz>(a, b);
        if constexpr (W == What::fma) return L::hfma2<Ftz>(a, b, c);
    }
}

// 0xffff in the halves whose exponent field is not zero.
template <bool Bf>
SASSEMU_INLINE V32 normal_halves(V32 v) {
    const uint32_t field = Bf ? 0x7f80u : 0x7c00u;
    const Mask lo = L::nonzero(L::and_(v, L::splat(field)));
    const Mask hi = L::nonzero(L::and_(v, L::splat(field << 16)));
    return L::or_(L::select(lo, L::splat(0xffffu), L::splat(0)),
                  L::select(hi, L::splat(0xffff0000u), L::splat(0)));
}
template <bool Bf>
SASSEMU_INLINE V32 flush_halves(V32 v) {
    return L::and_(v, L::or_(normal_halves<Bf>(v), L::splat(0x80008000u)));
}

template <What W>
SASSEMU_INLINE V32 single_value(V32 a, V32 b, V32 c, unsigned mode) {
    if (mode & mode_ftz) {
        a = L::ftz_f16x2(a);
        b = L::ftz_f16x2(b);
        c = L::ftz_f16x2(c);
    }
    const V32 x = L::f16_to_f32(a), y = L::f16_to_f32(b), z = L::f16_to_f32(c);
    V32 r;
    if constexpr (W == What::add) r = L::fadd<>(x, y);
    if constexpr (W == What::mul) r = L::fmul<>(x, y);
    if constexpr (W == What::fma) r = L::ffma<>(x, y, z);
    if (mode & mode_ftz) r = L::ftz(r);
    return mode & mode_sat ? L::fsat(r) : r;
}

// PTX ISA, .oob: a NaN that stands for an element outside of a tensor. 0xffff in the halves that
// are it; the sign does not count, and bf16 has the same pattern (measured on an H200).
SASSEMU_INLINE V32 outside_halves(V32 v) {
    const V32 rest = L::xor_(L::and_(v, L::splat(0x7fff7fffu)), L::splat(0x7ff77ff7u));
    const Mask lo = L::nonzero(L::and_(rest, L::splat(0xffffu)));
    const Mask hi = L::nonzero(L::and_(rest, L::splat(0xffff0000u)));
    return L::or_(L::select(lo, L::splat(0), L::splat(0xffffu)),
                  L::select(hi, L::splat(0), L::splat(0xffff0000u)));
}

// `relu`: the lanes that .RELU is for.
template <What W, bool Bf>
SASSEMU_RARE V32 any_mode(V32 a, V32 b, V32 c, unsigned mode, Mask relu) {
    if (mode & mode_oob) {  // a product with a factor outside makes the result +0
        const V32 outside = L::or_(outside_halves(a), outside_halves(b));
        return L::andn(outside, any_mode<W, Bf>(a, b, c, mode & ~mode_oob, relu));
    }
    if (mode & mode_fmz) {  // a product with a zero factor is +0
        const V32 keep = L::and_(normal_halves<Bf>(a), normal_halves<Bf>(b));
        a = L::and_(a, keep);
        b = L::and_(b, keep);
        mode |= mode_ftz;
    }
    if (!Bf && (mode & mode_f32)) return single_value<W>(a, b, c, mode);
    V32 r;
    if (mode & mode_ftz) {
        if constexpr (Bf) {
            a = flush_halves<true>(a);
            b = flush_halves<true>(b);
            c = flush_halves<true>(c);
        }
        r = nearest<W, Bf, true>(a, b, c);
        if constexpr (Bf) r = flush_halves<true>(r);
    } else {
        r = nearest<W, Bf, false>(a, b, c);
    }
    const V32 zero = L::splat(0), one = L::splat(Bf ? 0x3f803f80u : 0x3c003c00u);
    if (mode & mode_relu)
        r = L::select(relu, Bf ? L::bmax2<true>(r, zero) : L::hmax2<true>(r, zero), r);
    if (mode & mode_sat)
        r = Bf ? L::bmin2<>(L::bmax2<>(r, zero), one) : L::hmin2<>(L::hmax2<>(r, zero), one);
    return r;
}

// ---- handlers of HADD2, HMUL2, HFMA2 ---------------------------------------------------------
// e and m[3] are the predicate of .RELU and whether it is negated; k[0] the mode.

template <What W, bool Bf, bool Plain, Source B, Source C, bool All>
const Op* arithmetic(const Op* op, Warp& w, uint32_t mask) {
    V32 a = read<Source::row>(w, op->a);
    V32 b = read<B>(w, op->b);
    V32 c = W == What::fma ? read<C>(w, op->c) : L::splat(0);
    if (op->f) {
        a = fetch(a, op->k[1] & 15, op->m[0]);
        b = fetch(b, op->k[1] >> 4, op->m[1]);
        if constexpr (W == What::fma) c = fetch(c, op->k[2], op->m[2]);
    }
    if constexpr (Plain)
        write<All>(w, op->d, nearest<W, Bf, false>(a, b, c), mask);
    else
        write<All>(w, op->d, any_mode<W, Bf>(a, b, c, op->k[0], w.p[op->e] ^ op->m[3]), mask);
    return op + 1;
}
// HFMA2 of registers without sign modifiers, the common one; m holds a L::HalfPick per operand.
template <bool Picks, bool All>
const Op* fma_registers(const Op* op, Warp& w, uint32_t mask) {
    const auto pick = [&](int slot) { return static_cast<L::HalfPick>(Picks ? op->m[slot] : 0); };
    const L::HalfPicks picks{pick(0), pick(1), pick(2)};
    write<All>(w, op->d, L::hfma2_rows(w.row(op->a), w.row(op->b), w.row(op->c), picks), mask);
    return op + 1;
}
// HADD2.F32: the fp32 sum of one half of each source, the usual way from fp16 to fp32.
template <Source B>
const Op* add_to_f32(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = fetch(read<Source::row>(w, op->a), op->k[1] & 15, op->m[0]);
    const V32 b = fetch(read<B>(w, op->b), op->k[1] >> 4, op->m[1]);
    write<false>(w, op->d, single_value<What::add>(a, b, b, op->k[0]), mask);
    return op + 1;
}
// HADD2 with an fp32 source (to sm_89): the way from fp32 to fp16 towards zero. The sum is rounded
// once to fp64, which is exact for the additions of zero that compilers emit, then to fp16, into
// both halves.
template <Source B>
const Op* add_from_f32(const Op* op, Warp& w, uint32_t mask) {
    const auto widen = [&](V32 v, unsigned swizzle, uint32_t modifier) {
        if (static_cast<HalfSwizzle>(swizzle) == HalfSwizzle::F32)
            return L::f32_to_f64(apply_modifier(v, modifier));
        return L::f32_to_f64(L::f16_to_f32(fetch(v, swizzle, modifier)));
    };
    const V64 a = widen(read<Source::row>(w, op->a), op->k[1] & 15, op->m[0]);
    const V64 b = widen(read<B>(w, op->b), op->k[1] >> 4, op->m[1]);
    const V64 sum = L::dadd<Rounding::rn>(a, b);
    V32 r;
    if (op->k[0] & mode_f32) {
        r = L::f64_to_f32<Rounding::rn>(sum);
        if (op->k[0] & mode_ftz) r = L::ftz(r);
        if (op->k[0] & mode_sat) r = L::fsat(r);
    } else {
        // Towards zero: it is what ptxas 13.0 lowers cvt.rz.f16.f32 to on sm_75.
        r = L::f64_to_f16<Rounding::rz>(sum);
        r = L::select(L::dcmp<Compare::nan>(sum, sum), L::splat(L::kF16Nan), r);
        if (op->k[0] & mode_ftz) r = L::ftz_f16x2(r);
        if (op->k[0] & mode_sat) r = L::hmin2<>(L::hmax2<>(r, L::splat(0)), L::splat(0x3c003c00u));
        r = L::pack16(r, r);
    }
    write<false>(w, op->d, r, mask);
    return op + 1;
}

template <What W, bool Bf, bool Plain>
void choose(Lower& x, bool b_scalar, bool c_scalar) {
    constexpr Source row = Source::row, scalar = Source::scalar;
    if constexpr (W == What::fma) {
        if constexpr (!Bf && Plain) {
            const int swizzles[3] = {x.op.k[1] & 15, x.op.k[1] >> 4, x.op.k[2]};
            bool picks = !b_scalar && !c_scalar && !(x.op.m[0] | x.op.m[1] | x.op.m[2]);
            for (int s : swizzles) picks &= static_cast<HalfSwizzle>(s) != HalfSwizzle::H0_NH1;
            if (picks) {
                for (int slot = 0; slot < 3; ++slot) {
                    const auto s = static_cast<HalfSwizzle>(swizzles[slot]);
                    x.op.m[slot] =
                        static_cast<uint32_t>(s == HalfSwizzle::H0_H0   ? L::HalfPick::low
                                              : s == HalfSwizzle::H1_H1 ? L::HalfPick::high
                                                                        : L::HalfPick::both);
                }
                x.op.f ? x.handlers(fma_registers<true, false>, fma_registers<true, true>)
                       : x.handlers(fma_registers<false, false>, fma_registers<false, true>);
                return;
            }
        }
        if (c_scalar) {
            x.handlers(arithmetic<W, Bf, Plain, row, scalar, false>,
                       arithmetic<W, Bf, Plain, row, scalar, true>);
            return;
        }
    }
    if (b_scalar)
        x.handlers(arithmetic<W, Bf, Plain, scalar, row, false>,
                   arithmetic<W, Bf, Plain, scalar, row, true>);
    else
        x.handlers(arithmetic<W, Bf, Plain, row, row, false>,
                   arithmetic<W, Bf, Plain, row, row, true>);
}
template <What W, bool Bf>
void choose(Lower& x, bool b_scalar, bool c_scalar) {
    x.op.k[0] ? choose<W, Bf, false>(x, b_scalar, c_scalar)
              : choose<W, Bf, true>(x, b_scalar, c_scalar);
}

unsigned fmz_mode(Lower&, typed::HalfFmz f) {
    if (f == typed::HalfFmz::OOB) return mode_oob;
    return f == typed::HalfFmz::FTZ ? mode_ftz : f == typed::HalfFmz::FMZ ? mode_fmz : 0;
}
unsigned fmz_mode(Lower& x, typed::Fmz f) {
    if (static_cast<unsigned>(f) > 2) x.reject("an invalid flush mode");
    return f == typed::Fmz::FTZ ? mode_ftz : f == typed::Fmz::FMZ ? mode_fmz : 0;
}
template <class T>
void two_sources(Lower& x, const T& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.a = set_operand(x, i.a, i.swizzle_a, 0);
    x.op.b = set_operand(x, i.b, i.swizzle_b, 1);
}
template <bool Bf, class T>
void lower_mul(Lower& x, const T& i, unsigned mode) {
    two_sources(x, i);
    no_f32_source(x, i.swizzle_a, i.a);
    no_f32_source(x, i.swizzle_b, i.b);
    x.op.k[0] = static_cast<uint8_t>(mode | fmz_mode(x, i.fmz) | (i.sat ? mode_sat : 0));
    choose<What::mul, Bf>(x, is_scalar(i.b), false);
}
template <bool Bf, class T>
void lower_fma(Lower& x, const T& i, unsigned mode) {
    two_sources(x, i);
    x.op.c = set_operand(x, i.c, i.swizzle_c, 2);
    no_f32_source(x, i.swizzle_a, i.a);
    no_f32_source(x, i.swizzle_b, i.b);
    no_f32_source(x, i.swizzle_c, i.c);
    if constexpr (requires { i.f32; })
        if (i.f32 && i.fmz == typed::HalfFmz::OOB) x.reject("HFMA2.F32 in the .OOB mode");
    if (i.relu) {
        x.op.e = Lower::predicate(i.pa.index);
        x.op.m[3] = i.pa.neg ? ~0u : 0;
    }
    x.op.k[0] = static_cast<uint8_t>(mode | fmz_mode(x, i.fmz) | (i.sat ? mode_sat : 0) |
                                     (i.relu ? mode_relu : 0));
    choose<What::fma, Bf>(x, is_scalar(i.b), is_scalar(i.c));
}

// ---- HMNMX2, VHMNMX --------------------------------------------------------------------------

// k[0]: 1 flush, 2 NaN wins, 4 .XORSIGN, 8 bf16. The predicate chooses the minimum.
constexpr unsigned minmax_ftz = 1, minmax_nan = 2, minmax_xorsign = 4, minmax_bf = 8;
SASSEMU_RARE V32 minmax_value(V32 a, V32 b, Mask min, unsigned mode) {
    if (mode & minmax_bf)
        return mode & minmax_nan ? L::select(min, L::bmin2<true>(a, b), L::bmax2<true>(a, b))
                                 : L::select(min, L::bmin2<>(a, b), L::bmax2<>(a, b));
    return mode & minmax_nan ? L::select(min, L::hmin2<true>(a, b), L::hmax2<true>(a, b))
                             : L::select(min, L::hmin2<>(a, b), L::hmax2<>(a, b));
}
template <Source B>
const Op* minmax(const Op* op, Warp& w, uint32_t mask) {
    const unsigned mode = op->k[0];
    const V32 raw_a = read<Source::row>(w, op->a), raw_b = read<B>(w, op->b);
    // As in FMNMX: .XORSIGN takes the signs as they are in the registers.
    const V32 signs =
        L::and_(L::xor_(fetch(raw_a, op->k[1] & 15, 0), fetch(raw_b, op->k[1] >> 4, 0)),
                L::splat(0x80008000u));
    V32 a = fetch(raw_a, op->k[1] & 15, op->m[0]), b = fetch(raw_b, op->k[1] >> 4, op->m[1]);
    if (mode & minmax_ftz) {
        a = mode & minmax_bf ? flush_halves<true>(a) : flush_halves<false>(a);
        b = mode & minmax_bf ? flush_halves<true>(b) : flush_halves<false>(b);
    }
    V32 r = minmax_value(a, b, predicate_source<2>(op, w), mode);
    if (mode & minmax_xorsign) {  // a NaN half stays canonical
        const L::MaskPair nan =
            mode & minmax_bf ? L::bcmp2(r, r, Compare::nan) : L::hcmp2(r, r, Compare::nan);
        const V32 keep = L::or_(L::select(nan.lo, L::splat(0), L::splat(0x8000u)),
                                L::select(nan.hi, L::splat(0), L::splat(0x80000000u)));
        r = L::or_(L::andn(keep, r), L::and_(signs, keep));
    }
    write<false>(w, op->d, r, mask);
    return op + 1;
}
// VHMNMX: of three, as HMNMX2 twice, for which ptxas takes it. The predicate as in arithmetic().
template <Source B>
const Op* minmax_three(const Op* op, Warp& w, uint32_t mask) {
    const unsigned mode = op->k[0];
    V32 v[3] = {fetch(read<Source::row>(w, op->a), op->k[1] & 15, op->m[0]),
                fetch(read<B>(w, op->b), op->k[1] >> 4, op->m[1]),
                fetch(read<Source::row>(w, op->c), op->k[2], op->m[2])};
    if (mode & minmax_ftz)
        for (V32& x : v) x = mode & minmax_bf ? flush_halves<true>(x) : flush_halves<false>(x);
    const Mask min = w.p[op->e] ^ op->m[3];
    write<false>(w, op->d, minmax_value(minmax_value(v[0], v[1], min, mode), v[2], min, mode),
                 mask);
    return op + 1;
}
template <class T>
void lower_minmax(Lower& x, const T& i, unsigned mode) {
    two_sources(x, i);
    no_f32_source(x, i.swizzle_a, i.a);
    no_f32_source(x, i.swizzle_b, i.b);
    if constexpr (requires { i.f32; })
        if (i.f32) x.gap("HMNMX2.F32");
    x.op.k[0] = static_cast<uint8_t>(mode | (i.ftz ? minmax_ftz : 0) | (i.nan ? minmax_nan : 0) |
                                     (i.xorsign ? minmax_xorsign : 0));
    set_predicate_source(x, 2, i.pa);
    x.handler(is_scalar(i.b) ? minmax<Source::scalar> : minmax<Source::row>);
}

// ---- HSET2, HSETP2 ---------------------------------------------------------------------------

// k[0]: comparison in bits 3..0, boolean operation in 5..4, flush 64, and .BF or .H_AND 128.
constexpr unsigned compare_ftz = 64, compare_flag = 128;
template <bool Bf, Source B>
SASSEMU_INLINE L::MaskPair compare_halves(const Op* op, const Warp& w) {
    V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b);
    if (op->f) {
        a = fetch(a, op->k[1] & 15, op->m[0]);
        b = fetch(b, op->k[1] >> 4, op->m[1]);
    }
    if (op->k[0] & compare_ftz) {
        a = flush_halves<Bf>(a);
        b = flush_halves<Bf>(b);
    }
    const Compare c = static_cast<Compare>(op->k[0] & 15);
    return Bf ? L::bcmp2(a, b, c) : L::hcmp2(a, b, c);
}
template <bool Bf, Source B>
const Op* set_halves(const Op* op, Warp& w, uint32_t mask) {
    const L::MaskPair r = compare_halves<Bf, B>(op, w);
    const Mask p = predicate_source<2>(op, w);
    const unsigned bool_op = op->k[0] >> 4 & 3;
    const uint32_t yes = op->k[0] & compare_flag ? (Bf ? 0x3f80u : 0x3c00u) : 0xffffu;
    write<false>(w, op->d,
                 L::or_(L::select(combine(r.lo, p, bool_op), L::splat(yes), L::splat(0)),
                        L::select(combine(r.hi, p, bool_op), L::splat(yes << 16), L::splat(0))),
                 mask);
    return op + 1;
}
// The two predicates are those of the halves; with .H_AND, their conjunction and its complement.
template <bool Bf, Source B>
const Op* set_predicates(const Op* op, Warp& w, uint32_t mask) {
    L::MaskPair r = compare_halves<Bf, B>(op, w);
    const Mask p = predicate_source<2>(op, w);
    const unsigned bool_op = op->k[0] >> 4 & 3;
    if (op->k[0] & compare_flag) {
        r.lo &= r.hi;
        r.hi = ~r.lo;
    }
    write_predicate(w, op->d, combine(r.lo, p, bool_op), mask);
    if (op->e != 7) write_predicate(w, op->e, combine(r.hi, p, bool_op), mask);
    return op + 1;
}
template <class T>
bool lower_compare(Lower& x, const T& i, bool flag) {
    if (!check_bool_op(x, i.bool_)) return false;
    x.op.a = set_operand(x, i.a, i.swizzle_a, 0);
    x.op.b = set_operand(x, i.b, i.swizzle_b, 1);
    no_f32_source(x, i.swizzle_a, i.a);
    no_f32_source(x, i.swizzle_b, i.b);
    x.op.k[0] =
        static_cast<uint8_t>(static_cast<unsigned>(i.cmp) | static_cast<unsigned>(i.bool_) << 4 |
                             (i.ftz ? compare_ftz : 0) | (flag ? compare_flag : 0));
    set_predicate_source(x, 2, i.pa);
    return true;
}
template <bool Bf, class T>
void lower_set(Lower& x, const T& i) {
    x.op.d = x.destination_row(i.d.index);
    if (lower_compare(x, i, i.bf))
        x.handler(is_scalar(i.b) ? set_halves<Bf, Source::scalar> : set_halves<Bf, Source::row>);
}
template <bool Bf, class T>
void lower_setp(Lower& x, const T& i) {
    x.op.d = i.pd.index;
    x.op.e = i.pd2.index;
    if (lower_compare(x, i, i.h_and))
        x.handler(is_scalar(i.b) ? set_predicates<Bf, Source::scalar>
                                 : set_predicates<Bf, Source::row>);
}

template <class T>
unsigned add_mode(const T& i) {
    return (i.ftz ? mode_ftz : 0) | (i.sat ? mode_sat : 0);
}
void lower_add_f32(Lower& x, const typed::Src& b) {
    x.handler(is_scalar(b) ? add_to_f32<Source::scalar> : add_to_f32<Source::row>);
}

}  // namespace

void lower(Lower& x, const typed::Hadd2& i) {
    two_sources(x, i);
    x.op.k[0] = static_cast<uint8_t>(add_mode(i) | (i.f32 ? mode_f32 : 0));
    const bool f32_b = i.swizzle_b == HalfSwizzle::F32 && i.b.kind != typed::SrcKind::Imm;
    if (i.swizzle_a == HalfSwizzle::F32 || f32_b)
        x.handler(is_scalar(i.b) ? add_from_f32<Source::scalar> : add_from_f32<Source::row>);
    else if (i.f32)
        lower_add_f32(x, i.b);
    else
        choose<What::add, false>(x, is_scalar(i.b), false);
}
void lower(Lower& x, const typed::Hadd2F32& i) {
    two_sources(x, i);
    x.op.k[0] = static_cast<uint8_t>(add_mode(i));
    if (i.swizzle_a == HalfSwizzle::F32 ||
        (i.swizzle_b == HalfSwizzle::F32 && i.b.kind != typed::SrcKind::Imm)) {
        x.op.k[0] |= mode_f32;
        x.handler(is_scalar(i.b) ? add_from_f32<Source::scalar> : add_from_f32<Source::row>);
        return;
    }
    lower_add_f32(x, i.b);
}
void lower(Lower& x, const typed::Hadd2Bf16& i) {
    two_sources(x, i);
    no_f32_source(x, i.swizzle_a, i.a);
    no_f32_source(x, i.swizzle_b, i.b);
    x.op.k[0] = static_cast<uint8_t>(add_mode(i));
    choose<What::add, true>(x, is_scalar(i.b), false);
}
void lower(Lower& x, const typed::Hmul2& i) { lower_mul<false>(x, i, i.f32 ? mode_f32 : 0); }
void lower(Lower& x, const typed::Hmul2Bf16& i) { lower_mul<true>(x, i, 0); }
void lower(Lower& x, const typed::Hfma2& i) { lower_fma<false>(x, i, i.f32 ? mode_f32 : 0); }
void lower(Lower& x, const typed::Hfma2Bf16& i) { lower_fma<true>(x, i, 0); }
void lower(Lower& x, const typed::Hmnmx2& i) { lower_minmax(x, i, 0); }
void lower(Lower& x, const typed::Hmnmx2Bf16& i) { lower_minmax(x, i, minmax_bf); }
void lower(Lower& x, const typed::Vhmnmx& i) {
    constexpr unsigned f16 = 0, bf16 = 2;  // of i.format
    two_sources(x, i);
    x.op.c = set_operand(x, i.c, i.swizzle_c, 2);
    no_f32_source(x, i.swizzle_a, i.a);
    no_f32_source(x, i.swizzle_b, i.b);
    no_f32_source(x, i.swizzle_c, i.c);
    if (i.format != f16 && i.format != bf16) x.reject("an invalid format");
    if (i.xorsign) x.gap("VHMNMX.XORSIGN");
    x.op.k[0] = static_cast<uint8_t>((i.format == bf16 ? minmax_bf : 0) | (i.ftz ? minmax_ftz : 0) |
                                     (i.nan ? minmax_nan : 0));
    x.op.e = Lower::predicate(i.pa.index);
    x.op.m[3] = i.pa.neg ? ~0u : 0;
    x.handler(is_scalar(i.b) ? minmax_three<Source::scalar> : minmax_three<Source::row>);
}
void lower(Lower& x, const typed::Hset2& i) { lower_set<false>(x, i); }
void lower(Lower& x, const typed::Hset2Bf16& i) { lower_set<true>(x, i); }
void lower(Lower& x, const typed::Hsetp2& i) { lower_setp<false>(x, i); }
void lower(Lower& x, const typed::Hsetp2Bf16& i) { lower_setp<true>(x, i); }

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
