// SPDX-License-Identifier: Apache-2.0
// Integer sums and products: IADD3, IMAD with its wide and high forms, their twins on the uniform
// datapath, VIADD. Lowering picks the cheapest handler that gives the same bits: zero operands
// vanish, a factor of one adds, a power of two shifts.
#include "emu/isa/integer.hpp"

#include "emu/isa/uniform.hpp"
#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

struct Neg {
    static SASSEMU_INLINE V32 apply(V32 b, const Op&) { return L::neg(b); }
};
struct Add {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) { return L::add(a, b); }
};
struct Sub {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) { return L::sub(a, b); }
};
struct SubFrom {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) { return L::sub(b, a); }
};
struct Add3 {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op&) {
        return L::add3(a, b, c);
    }
};
// Any signs: m[0..2] complement, m[3] is how many of them are set.
struct Signed3 {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op& op) {
        a = L::xor_(a, fill<V>(op.m[0]));
        b = L::xor_(b, fill<V>(op.m[1]));
        c = L::xor_(c, fill<V>(op.m[2]));
        return L::add(L::add3(a, b, c), fill<V>(op.m[3]));
    }
};

void set_signs(Lower& x, const Term& a, const Term& b, const Term& c) {
    x.op.m[0] = a.flip ? ~0u : 0;
    x.op.m[1] = b.flip ? ~0u : 0;
    x.op.m[2] = c.flip ? ~0u : 0;
    x.op.m[3] = static_cast<uint32_t>(a.flip + b.flip + c.flip);
}

void emit_copy(Lower& x, const Term& t) { t.flip ? emit_int1<Neg>(x, t) : emit_int1<Copy>(x, t); }

// The sum of two terms, at most one of them scalar.
void emit_sum2(Lower& x, Term a, Term b) {
    if (a.scalar) {
        const Term scalar = a;
        a = b;
        b = scalar;
    }
    if (!a.flip && !b.flip) return emit_int2<Add>(x, a, b);
    if (!a.flip) return emit_int2<Sub>(x, a, b);
    if (!b.flip) return emit_int2<SubFrom>(x, a, b);
    set_signs(x, a, b, {});
    emit_int3<Signed3>(x, a, b, {});
}

// ---- IADD3 with carries ------------------------------------------------------------------------
//
// A negated operand is its complement and a carry of one. The carries in are predicate codes in e
// and f (PT is the constant one), the carries out predicates k[0] and k[1]: the sum is at least
// 2^32, and at least 2^33. Where both go to one predicate it holds the first (measured on an H200).

template <Source B, bool All>
const Op* carry2(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = L::xor_(read<Source::row>(w, op->a), L::splat(op->m[0]));
    const V32 b = L::xor_(read<B>(w, op->b), L::splat(op->m[1]));
    Mask out;
    write<All>(w, op->d, L::add_carry(a, b, predicate_value(w, op->e), &out), mask);
    if (op->k[0] != 7) write_predicate(w, op->k[0], out, mask);
    return next(op, w);
}
struct Carry3 {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op& op, Warp& w, Mask mask) {
        a = L::xor_(a, fill<V>(op.m[0]));
        b = L::xor_(b, fill<V>(op.m[1]));
        c = L::xor_(c, fill<V>(op.m[2]));
        Mask first, second;
        V sum = L::add3_carry(a, b, c, predicate_value(w, op.e), predicate_value(w, op.f), &first,
                              &second);
        if constexpr (!in_lanes<V>) {
            Mask third = 0;
            if (op.m[3] == 3) sum = L::add_carry(sum, fill<V>(1), 0, &third);
            second |= first & third;
            first |= third;
        }
        put_predicate<V>(w, op.k[1], second, mask);
        put_predicate<V>(w, op.k[0], first, mask);
        return sum;
    }
};
template <Source B>
const Op* carry3(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b),
              c = read<Source::row>(w, op->c);
    write<false>(w, op->d, Carry3::apply(a, b, c, *op, w, mask), mask);
    return next(op, w);
}

template <class T>
void set_carries(Lower& x, const T& i, const Term& a, const Term& b, const Term& c) {
    set_any(x, a, b, c);
    set_signs(x, a, b, c);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.pd2.index;
    if (i.x) {
        x.op.m[3] = 0;
        x.op.e = predicate_code(i.pa);
        x.op.f = predicate_code(i.pb);
        if (x.op.e == code_false) {
            x.op.e = x.op.f;
            x.op.f = code_false;
        }
    } else {
        const uint32_t negative = x.op.m[3];
        if (negative == 3 && !i.d.uniform)
            return x.reject("IADD3 with carry out and three negated operands");
        x.op.e = negative >= 1 ? code_true : code_false;
        x.op.f = negative >= 2 ? code_true : code_false;
    }
}
void lower_carries(Lower& x, const typed::Iadd3& i, const Term& a, const Term& b, const Term& c) {
    set_carries(x, i, a, b, c);
    if (c.zero && !c.flip && x.op.f == code_false && x.op.k[1] == 7) {
        if (b.scalar)
            x.handlers(carry2<Source::scalar, false>, carry2<Source::scalar, true>);
        else
            x.handlers(carry2<Source::row, false>, carry2<Source::row, true>);
    } else {
        x.handler(b.scalar ? carry3<Source::scalar> : carry3<Source::row>);
    }
}

// ---- products ----------------------------------------------------------------------------------

struct Mul {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) { return L::mul_lo(a, b); }
};
struct Mad {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op&) {
        return L::mad(a, b, c);
    }
};
struct MulSub {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op&) {
        return L::sub(L::mul_lo(a, b), c);
    }
};
// IMAD.X: c complemented by m[2], carry in from the predicate code in e.
struct MadX {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op& op, Warp& w, Mask) {
        const V sum = L::mad(a, b, L::xor_(c, fill<V>(op.m[2])));
        return L::add(sum, L::select(predicate_value(w, op.e), fill<V>(1), fill<V>(0)));
    }
};
// m[0] is the count.
struct ShiftLeft {
    static SASSEMU_INLINE V32 apply(V32 b, const Op& op) { return L::shl(b, L::splat(op.m[0])); }
};

template <bool Signed, class V>
SASSEMU_INLINE auto product(V a, V b) {
    return Signed ? L::mul_wide_s(a, b) : L::mul_wide_u(a, b);
}

enum class Addend { none, row, scalar };
template <Addend C>
SASSEMU_INLINE V64 add_to(const Warp& w, const Op* op, V64 v) {
    if constexpr (C == Addend::row) return L::add64(v, read64<Source::row>(w, op->c));
    if constexpr (C == Addend::scalar) return L::add64(v, read64<Source::scalar>(w, op->c));
    return v;
}
template <bool Signed, Source B, Addend C, bool All>
const Op* wide(const Op* op, Warp& w, uint32_t mask) {
    const V64 v = product<Signed>(read<Source::row>(w, op->a), read<B>(w, op->b));
    write64<All>(w, op->d, add_to<C>(w, op, v), mask);
    return next(op, w);
}
template <bool Signed, Source B, Addend C, bool All>
const Op* high(const Op* op, Warp& w, uint32_t mask) {
    const V64 v = product<Signed>(read<Source::row>(w, op->a), read<B>(w, op->b));
    write<All>(w, op->d, L::hi32(add_to<C>(w, op, v)), mask);
    return next(op, w);
}
// With carries or a negated addend: c is complemented by m[2], the carry in is predicate code e,
// the carry out of the 64-bit sum goes to predicate k[0]. k[1]: bit 0 signed, bit 1 upper half
// only.
template <class V, class Wide>
const Op* wide_carry(const Op* op, Warp& w, uint32_t mask) {
    const V a = get<V>(w, op->a, false), b = get<V>(w, op->b, op->k[2] & 2);
    const Wide p = op->k[1] & 1 ? product<true>(a, b) : product<false>(a, b);
    const Wide c =
        L::xor64(get64<Wide>(w, op->c, op->k[2] & 4), fill64<Wide>(op->m[2] ? ~uint64_t{0} : 0));
    const Wide one = L::select64(predicate_value(w, op->e), fill64<Wide>(1), fill64<Wide>(0));
    const Wide first = L::add64(p, c), sum = L::add64(first, one);
    const Mask out = L::cmp_lt_u64(first, p) | L::cmp_lt_u64(sum, first);
    if (op->k[1] & 2)
        put(w, op->d, L::hi32(sum), mask);
    else
        put64(w, op->d, sum, mask);
    put_predicate<V>(w, op->k[0], out, mask);
    return next(op, w);
}

template <bool High, bool Signed, Source B, Addend C>
void set_product(Lower& x) {
    if constexpr (High)
        x.handlers(high<Signed, B, C, false>, high<Signed, B, C, true>);
    else
        x.handlers(wide<Signed, B, C, false>, wide<Signed, B, C, true>);
}
template <bool High, bool Signed>
void choose_product(Lower& x, const Term& b, const Term& c) {
    if (c.zero && b.scalar) return set_product<High, Signed, Source::scalar, Addend::none>(x);
    if (c.zero) return set_product<High, Signed, Source::row, Addend::none>(x);
    if (c.scalar) return set_product<High, Signed, Source::row, Addend::scalar>(x);
    if (b.scalar) return set_product<High, Signed, Source::scalar, Addend::row>(x);
    set_product<High, Signed, Source::row, Addend::row>(x);
}
template <bool High, class T>
void lower_product(Lower& x, const T& i) {
    check_even(x, i.c);
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c, 2);
    if (i.c.kind == typed::SrcKind::Imm && !i.d.uniform)
        return x.gap("a 64-bit sum with an immediate addend");
    set_any(x, a, b, c);
    x.op.d = destination(x, i.d, High ? 1 : 2);
    if (!High) check_even_result(x, i.d);
    const bool is_signed = i.type == typed::SignType::S32;
    x.op.e = c.flip ? code_true : code_false;
    if constexpr (requires { i.x; })
        if (i.x) x.op.e = predicate_code(i.pa);
    if (i.d.uniform || x.op.e != code_false || i.pd.index != 7 || c.flip) {
        x.op.m[2] = c.flip ? ~0u : 0;
        x.op.k[0] = i.pd.index;
        x.op.k[1] = static_cast<uint8_t>(is_signed | (High ? 2 : 0));
        return x.handler(i.d.uniform ? wide_carry<uint32_t, uint64_t> : wide_carry<V32, V64>);
    }
    is_signed ? choose_product<High, true>(x, b, c) : choose_product<High, false>(x, b, c);
}

// VIADD.16x2; m[1] complements b, m[0] is the carry in of both halves; m[3] and m[2] the same of a.
struct AddHalves {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op& op) {
        a = L::add_16x2(L::xor_(a, L::splat(op.m[3])), L::splat(op.m[2]));
        b = L::add_16x2(L::xor_(b, L::splat(op.m[1])), L::splat(op.m[0]));
        return L::add_16x2(a, b);
    }
};
// VIADD of bytes: the upper bits apart, so that no carry leaves a byte. m as for halves.
struct AddBytes {
    static SASSEMU_INLINE V32 add(V32 a, V32 b) {
        const V32 low = L::splat(0x7f7f7f7f);
        return L::xor_(L::add(L::and_(a, low), L::and_(b, low)),
                       L::and_(L::splat(0x80808080), L::xor_(a, b)));
    }
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op& op) {
        a = add(L::xor_(a, L::splat(op.m[3])), L::splat(op.m[2]));
        b = add(L::xor_(b, L::splat(op.m[1])), L::splat(op.m[0]));
        return add(a, b);
    }
};
// UVIADD: parts of m[2] bits, added apart; m[0], m[1] negate a and b; m[3]: saturated.
struct AddParts {
    static uint32_t apply(uint32_t a, uint32_t b, const Op& op) {
        const int64_t sign_a = op.m[0] ? -1 : 1, sign_b = op.m[1] ? -1 : 1;
        if (op.m[3]) {
            const int64_t sum = sign_a * static_cast<int32_t>(a) + sign_b * static_cast<int32_t>(b);
            return static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
        }
        const uint32_t bits = op.m[2], part = ~0u >> (32 - bits);
        uint32_t sum = 0;
        for (uint32_t at = 0; at < 32; at += bits)
            sum |= (static_cast<uint32_t>(sign_a * (a >> at & part) + sign_b * (b >> at & part)) &
                    part)
                   << at;
        return sum;
    }
};
// VIADD.S32.ISAT: the exact sum, a - b if m[0], b - a if m[1], as near as 32 bits come. PTX ISA,
// add.sat.s32.
struct AddSaturated {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op& op) {
        if (op.m[1]) std::swap(a, b);
        const V32 r = op.m[0] ? L::sub(a, b) : L::add(a, b), zero = L::splat(0);
        const V32 differ = L::xor_(
            a, op.m[0]
                   ? b
                   : L::xor_(b, L::splat(~0u)));  // the sign bit: of like sign, so it may overflow
        const Mask over = L::cmp_lt_s(L::and_(differ, L::xor_(a, r)), zero);
        return L::select(
            over, L::select(L::cmp_lt_s(a, zero), L::splat(0x80000000u), L::splat(0x7fffffffu)), r);
    }
};

}  // namespace

void lower(Lower& x, const typed::Iadd3& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    if (i.x || i.pd.index != 7 || i.pd2.index != 7) return lower_carries(x, i, a, b, c);
    Term left[3];
    int count = 0;
    for (const Term& t : {a, b, c})
        if (!t.zero) left[count++] = t;
    if (count <= 1) return emit_copy(x, left[0]);  // the default Term is a row of zeros
    if (count == 2) return emit_sum2(x, left[0], left[1]);
    if (!a.flip && !b.flip && !c.flip) return emit_int3<Add3>(x, a, b, c);
    set_signs(x, a, b, c);
    emit_int3<Signed3>(x, a, b, c);
}

void lower(Lower& x, const typed::Uiadd3& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.uniform_destination(i.d.index);
    if (i.x || i.pd.index != 7 || i.pd2.index != 7) {
        set_carries(x, i, a, b, c);
        return x.handler(uniform<Carry3>);
    }
    set_any(x, a, b, c);
    set_signs(x, a, b, c);
    x.handler(x.op.m[3] ? uniform<Signed3> : uniform<Add3>);
}

void lower(Lower& x, const typed::Imad& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    if (i.x) {
        x.op.m[2] = c.flip ? ~0u : 0;
        x.op.e = predicate_code(i.pa);
        return emit_any<MadX>(x, a, b, c);
    }
    if (a.zero || b.zero) return emit_copy(x, c);
    if (b.immediate && b.value == 1) return c.zero ? emit_copy(x, a) : emit_sum2(x, a, c);
    if (b.immediate && c.zero && std::has_single_bit(b.value)) {
        x.op.m[0] = static_cast<uint32_t>(std::countr_zero(b.value));
        return emit_int1<ShiftLeft>(x, a);
    }
    if (c.zero) return emit_int2<Mul>(x, a, b);
    c.flip ? emit_int3<MulSub>(x, a, b, c) : emit_int3<Mad>(x, a, b, c);
}

void lower(Lower& x, const typed::Uimad& i) {
    x.op.m[2] = flip_mask(i.c);
    x.op.e = predicate_code(i.pa);
    if (i.x) return emit_uniform<MadX>(x, i.d, i.a, i.b, i.c);
    flipped(i.c) ? emit_uniform<MulSub>(x, i.d, i.a, i.b, i.c)
                 : emit_uniform<Mad>(x, i.d, i.a, i.b, i.c);
}

void lower(Lower& x, const typed::ImadWide& i) { lower_product<false>(x, i); }
void lower(Lower& x, const typed::ImadHi& i) { lower_product<true>(x, i); }
void lower(Lower& x, const typed::UimadWide& i) { lower_product<false>(x, i); }
void lower(Lower& x, const typed::UimadHi& i) { lower_product<true>(x, i); }

// The types of VIADD and UVIADD of sm_120.
enum AddType : uint8_t { b32, b16x2, s32, s16x2, u8x4, s8x4 };

void lower(Lower& x, const typed::Viadd& i) {
    const Term a = term(x, i.a), b = term(x, i.b);
    x.op.d = x.destination_row(i.d.index);
    if (i.type > s8x4) return x.reject("VIADD of an invalid type");
    if (i.isat) {
        if (i.type != s32 || (a.flip && b.flip))
            return x.gap(
                "a saturating sum of packed elements or of two negated operands, which no PTX "
                "becomes");
        x.op.m[0] = a.flip || b.flip;
        x.op.m[1] = a.flip;
        return emit_int2<AddSaturated>(x, a, b);
    }
    const bool bytes = i.type == u8x4 || i.type == s8x4;
    if (bytes || i.simd || i.type == b16x2 || i.type == s16x2) {
        const uint32_t one = bytes ? 0x01010101 : 0x00010001;
        x.op.m[0] = b.flip ? one : 0;
        x.op.m[1] = b.flip ? ~0u : 0;
        x.op.m[2] = a.flip ? one : 0;
        x.op.m[3] = a.flip ? ~0u : 0;
        return bytes ? emit_int2<AddBytes>(x, a, b) : emit_int2<AddHalves>(x, a, b);
    }
    emit_sum2(x, a, b);
}

void lower(Lower& x, const typed::Uviadd& i) {
    const auto type = static_cast<uint8_t>(i.type);
    if (type > s8x4) return x.reject("UVIADD of an invalid type");
    if (i.isat && type != s32)
        return x.gap(
            "a saturating sum of packed elements or of two negated operands, which no PTX becomes");
    const Term a = term(x, i.a), b = term(x, i.b);
    x.op.d = x.uniform_destination(i.d.index);
    set_any(x, a, b, {});
    x.op.m[0] = a.flip ? ~0u : 0;
    x.op.m[1] = b.flip ? ~0u : 0;
    x.op.m[2] = type == b16x2 || type == s16x2 ? 16 : type == b32 || type == s32 ? 32 : 8;
    x.op.m[3] = i.isat;
    x.handler(uniform<AddParts>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
