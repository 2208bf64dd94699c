// SPDX-License-Identifier: Apache-2.0
// Bits: shifted sums (LEA), funnel shifts (SHF), bitwise logic (LOP3), bit fields and bit counts;
// and the same on the uniform datapath.
#include "emu/isa/integer.hpp"

#include "emu/isa/uniform.hpp"
#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// ---- LEA ---------------------------------------------------------------------------------------
//
// The first term is {c:a} << shift, its lower word or, with HI, its upper one; c is the sign of a
// with SX32. As the count is a constant, that is one shift or a funnel shift. m[2] is the count.

enum class Part { shl, shr, sar, funnel };
template <Part P, class V>
SASSEMU_INLINE V shifted(V a, V c, const Op& op) {
    const V n = fill<V>(op.m[2]);
    if constexpr (P == Part::shl) return L::shl(a, n);
    if constexpr (P == Part::shr) return L::shr(a, n);
    if constexpr (P == Part::sar) return L::sar(a, n);
    if constexpr (P == Part::funnel) return L::funnel_l_clamp(a, c, n);
}
template <Part P>
struct LeaSum {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, const Op& op) {
        return L::add(shifted<P>(a, a, op), b);
    }
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op& op) {
        return L::add(shifted<P>(a, c, op), b);
    }
};

// Signs and carries: m[0], m[1] complement the shifted term and b; e, f are the codes of the
// carries in, k[0] the predicate that takes the carry out. Two carries in only when both are
// negated.
template <Part P>
struct LeaCarry {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op& op, Warp& w, Mask mask) {
        const V t = L::xor_(shifted<P>(a, c, op), fill<V>(op.m[0]));
        b = L::xor_(b, fill<V>(op.m[1]));
        Mask out, more = 0;
        V sum = L::add_carry(t, b, predicate_value(w, op.e), &out);
        if (op.f != code_false) sum = L::add_carry(sum, fill<V>(1), 0, &more);
        if (op.k[0] != 7) put_predicate<V>(w, op.k[0], out | more, mask);
        return sum;
    }
};
template <Part P, bool All>
const Op* lea_carry(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read_any(w, op->b, op->k[2] & 2);
    const V32 c = P == Part::funnel ? read_any(w, op->c, op->k[2] & 4) : a;
    write<All>(w, op->d, LeaCarry<P>::apply(a, b, c, *op, w, mask), mask);
    return next(op, w);
}

template <Part P, class T>
void choose_lea(Lower& x, const T& i, const Term& a, const Term& b, const Term& c) {
    if (i.x || i.pd.index != 7 || a.flip || b.flip) {
        x.op.m[0] = a.flip ? ~0u : 0;
        x.op.m[1] = b.flip ? ~0u : 0;
        x.op.k[0] = i.pd.index;
        x.op.e = i.x ? predicate_code(i.pa) : a.flip || b.flip ? code_true : code_false;
        x.op.f = !i.x && a.flip && b.flip ? code_true : code_false;
        if (i.d.uniform) return x.handler(uniform<LeaCarry<P>>);
        return x.handlers(lea_carry<P, false>, lea_carry<P, true>);
    }
    if (i.d.uniform) return x.handler(uniform<LeaSum<P>>);
    if constexpr (P == Part::funnel)
        emit_int3<LeaSum<P>>(x, a, b, c);
    else
        emit_int2<LeaSum<P>>(x, a, b);
}

// ---- SHF ---------------------------------------------------------------------------------------
//
// {c:a} shifted by b. Counts are clamped to the width of the type, or taken modulo it with W.

struct ShlLow {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) { return L::shl(a, b); }
};
struct ShrHigh {
    static SASSEMU_INLINE V32 apply(V32 c, V32 b, const Op&) { return L::shr(c, b); }
};
struct SarHigh {
    static SASSEMU_INLINE V32 apply(V32 c, V32 b, const Op&) { return L::sar(c, b); }
};
struct FunnelLeft {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, V32 c, const Op&) {
        return L::funnel_l_clamp(a, c, b);
    }
};
struct FunnelRight {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, V32 c, const Op&) {
        return L::funnel_r_clamp(a, c, b);
    }
};
struct FunnelLeftWrap {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, V32 c, const Op&) {
        return L::funnel_l_wrap(a, c, b);
    }
};
struct FunnelRightWrap {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, V32 c, const Op&) {
        return L::funnel_r_wrap(a, c, b);
    }
};
// Everything, on 64-bit lanes. m[0]: the width; k[0]: bit 0 right, 1 signed, 2 high, 3 wrap.
struct Shift64 {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op& op, Warp&, Mask) {
        const V width = fill<V>(op.m[0]);
        const V n = op.k[0] & 8 ? L::and_(b, fill<V>(op.m[0] - 1)) : L::min_u(b, width);
        const auto v = L::make64(a, c);
        const auto r = !(op.k[0] & 1) ? L::shl64(v, n)
                       : op.k[0] & 2  ? L::sar64(v, n)
                                      : L::shr64(v, n);
        return op.k[0] & 4 ? L::hi32(r) : L::lo32(r);
    }
};

bool is_row(const Term& t) { return !t.scalar; }

template <class T>
bool is_wide(const T& i) {
    return i.type == typed::ShfType::S64 || i.type == typed::ShfType::U64;
}
template <class T>
bool is_signed(const T& i) {
    return i.type == typed::ShfType::S64 || i.type == typed::ShfType::S32;
}
template <class T>
void set_shift(Lower& x, const T& i) {
    x.op.m[0] = is_wide(i) ? 64 : 32;
    x.op.k[0] = static_cast<uint8_t>((i.dir == typed::ShiftDir::R) | is_signed(i) << 1 | i.hi << 2 |
                                     i.wrap << 3);
}
void lower_shift(Lower& x, const typed::Shf& i, const Term& a, const Term& b, const Term& c) {
    const bool right = i.dir == typed::ShiftDir::R, wide = is_wide(i);
    // Without W the outer words need no help from their neighbour, whatever the width.
    if (!i.wrap && !right && !i.hi) return emit_int2<ShlLow>(x, a, b);
    if (!i.wrap && right && i.hi && is_row(c))
        return is_signed(i) ? emit_int2<SarHigh>(x, c, b) : emit_int2<ShrHigh>(x, c, b);
    if (!wide && right != i.hi) {
        if (i.wrap)
            return right ? emit_int3<FunnelRightWrap>(x, a, b, c)
                         : emit_int3<FunnelLeftWrap>(x, a, b, c);
        return right ? emit_int3<FunnelRight>(x, a, b, c) : emit_int3<FunnelLeft>(x, a, b, c);
    }
    if (wide && b.immediate && right != i.hi) {
        const uint32_t n = i.wrap ? b.value % 64 : b.value < 64 ? b.value : 64;
        if (n < 32) {
            Term count = b;
            count.at = x.immediate(n);
            return right ? emit_int3<FunnelRight>(x, a, count, c)
                         : emit_int3<FunnelLeft>(x, a, count, c);
        }
        Term rest = b;
        rest.at = x.immediate(n - 32);
        if (!right) return emit_int2<ShlLow>(x, a, rest);
        if (is_row(c))
            return is_signed(i) ? emit_int2<SarHigh>(x, c, rest) : emit_int2<ShrHigh>(x, c, rest);
    }
    set_shift(x, i);
    emit_any<Shift64>(x, a, b, c);
}

// ---- LOP3 --------------------------------------------------------------------------------------

template <uint8_t Lut>
struct Logic3 {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, V32 c, const Op&) {
        if constexpr (Lut == 0xf8) return L::or_(a, L::and_(b, c));
        if constexpr (Lut == 0xfe) return L::or_(L::or_(a, b), c);
        if constexpr (Lut == 0x80) return L::and_(L::and_(a, b), c);
        if constexpr (Lut == 0x96) return L::xor_(L::xor_(a, b), c);
        return L::lop3<Lut>(a, b, c);
    }
};
// Tables that do not look at c.
template <uint8_t Lut>
struct Logic2 {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, const Op&) {
        if constexpr (Lut == 0xc0) return L::and_(a, b);
        if constexpr (Lut == 0xfc) return L::or_(a, b);
        if constexpr (Lut == 0x3c) return L::xor_(a, b);
        if constexpr (Lut == 0x33) return L::not_(b);
        return L::lop3<Lut>(a, b, b);
    }
};
struct LogicAny {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op& op) {
        return L::lop3(a, b, c, op.k[1]);
    }
};

template <uint8_t... Luts>
bool logic2(Lower& x, uint8_t lut, const Term& a, const Term& b) {
    return ((lut == Luts && (emit_int2<Logic2<Luts>>(x, a, b), true)) || ...);
}
template <uint8_t... Luts>
bool logic3(Lower& x, uint8_t lut, const Term& a, const Term& b, const Term& c) {
    return ((lut == Luts && (emit_int3<Logic3<Luts>>(x, a, b, c), true)) || ...);
}

// The table with an argument that is always 0: the function that is left, in the same order.
constexpr uint8_t without_a(uint8_t lut) { return static_cast<uint8_t>((lut & 15) * 0x11); }
constexpr uint8_t without_b(uint8_t lut) { return static_cast<uint8_t>((lut & 0x33) * 5); }
constexpr uint8_t without_c(uint8_t lut) { return static_cast<uint8_t>((lut & 0x55) * 3); }

// With a predicate: (result is not 0) OR pa, or AND pa with PAND (k[0] = 1).
template <bool And2>
struct LogicTest {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, V c, const Op& op, Warp& w, Mask mask) {
        const V r = And2 ? L::and_(a, b) : L::lop3(a, b, c, op.k[1]);
        const Mask set = L::nonzero(r), pa = predicate_value(w, op.e);
        put_predicate<V>(w, op.f, op.k[0] ? set & pa : set | pa, mask);
        return r;
    }
};
template <bool And2, Source B>
const Op* logic_test(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b),
              c = read<Source::row>(w, op->c);
    write<false>(w, op->d, LogicTest<And2>::apply(a, b, c, *op, w, mask), mask);
    return next(op, w);
}
// The usual test: no result, predicate of a & b alone.
template <Source B>
const Op* and_test(const Op* op, Warp& w, uint32_t mask) {
    const V32 r = L::and_(read<Source::row>(w, op->a), read<B>(w, op->b));
    write_predicate(w, op->f, L::nonzero(r), mask);
    return next(op, w);
}

// ---- fields and counts -------------------------------------------------------------------------

struct MaskClamp {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, const Op&) {
        return L::bmsk_clamp(a, b);
    }
};
struct MaskWrap {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, const Op&) {
        return L::bmsk_wrap(a, b);
    }
};
// m[0] is the mask of the count: 31 with W, all ones without.
struct ExtendSigned {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, const Op& op) {
        return L::sgxt_s(a, L::and_(b, fill<V>(op.m[0])));
    }
};
struct ExtendUnsigned {
    template <class V>
    static SASSEMU_INLINE V apply(V a, V b, const Op& op) {
        return L::sgxt_u(a, L::and_(b, fill<V>(op.m[0])));
    }
};
// m[1] complements the operand.
struct PopCount {
    template <class V>
    static SASSEMU_INLINE V apply(V b, const Op& op) {
        return L::popc(L::xor_(b, fill<V>(op.m[1])));
    }
};
struct Reverse {
    template <class V>
    static SASSEMU_INLINE V apply(V b, const Op&) {
        return L::brev(b);
    }
};
// The highest set bit (for signed operands the highest that differs from the sign), as its index
// or, with SH, as the shift that moves it to bit 31; ~0 when there is none (PTX ISA, bfind). k[0]:
// bit 0 signed, bit 1 SH.
struct FindLeading {
    template <class V>
    static SASSEMU_INLINE V apply(V b, const Op& op) {
        b = L::xor_(b, fill<V>(op.m[1]));
        if (op.k[0] & 1) b = L::xor_(b, L::sar(b, fill<V>(31)));
        const V zeros = L::clz(b);
        const V index = op.k[0] & 2 ? zeros : L::sub(fill<V>(31), zeros);
        return L::select(L::nonzero(b), index, fill<V>(~0u));
    }
};
// The predicate f says that there is such a bit (measured on an H200).
struct FindLeadingTest {
    template <class V>
    static V apply(V, V b, V, const Op& op, Warp& w, Mask mask) {
        const V at = FindLeading::apply(b, op);
        put_predicate<V>(w, op.f, L::cmp_ne(at, fill<V>(~0u)), mask);
        return at;
    }
};

template <class T>
void lower_lea(Lower& x, const T& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = destination(x, i.d);
    set_any(x, a, b, c);
    const uint32_t n = static_cast<uint32_t>(i.shift.imm);
    x.op.m[2] = n;
    if (!i.hi) return choose_lea<Part::shl>(x, i, a, b, c);
    if (i.sx32 || c.zero) {
        x.op.m[2] = i.sx32 && n == 0 ? 31 : 32 - n;  // a count of 32 leaves 0 bits
        return i.sx32 ? choose_lea<Part::sar>(x, i, a, b, c) : choose_lea<Part::shr>(x, i, a, b, c);
    }
    choose_lea<Part::funnel>(x, i, a, b, c);
}
template <class T>
void set_test(Lower& x, const T& i) {
    x.op.e = predicate_code(i.pa);
    x.op.f = i.pd.index;
    x.op.k[0] = i.pand;
}
template <class T>
void set_find(Lower& x, const T& i) {
    x.op.m[1] = flip_mask(i.a);
    x.op.k[0] = static_cast<uint8_t>((i.type == typed::SignType::S32) | i.sh << 1);
    x.op.f = i.pd.index;
}

}  // namespace

void lower(Lower& x, const typed::Lea& i) { lower_lea(x, i); }
void lower(Lower& x, const typed::Ulea& i) { lower_lea(x, i); }

void lower(Lower& x, const typed::Shf& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    lower_shift(x, i, a, b, c);
}
void lower(Lower& x, const typed::Ushf& i) {
    set_shift(x, i);
    emit_uniform<Shift64>(x, i.d, i.a, i.b, i.c);
}

void lower(Lower& x, const typed::Lop3& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    uint8_t lut = static_cast<uint8_t>(i.lut.imm);
    if (a.zero) lut = without_a(lut);
    if (b.zero) lut = without_b(lut);
    if (c.zero) lut = without_c(lut);
    x.op.k[1] = lut;
    if (i.pd.index != 7) {
        set_any(x, a, b, c);
        set_test(x, i);
        if (lut == 0xc0 && i.d.index == SASSDEC_RZ && !i.pand && x.op.e == code_false)
            return x.handler(b.scalar ? and_test<Source::scalar> : and_test<Source::row>);
        if (lut == 0xc0)
            return x.handler(b.scalar ? logic_test<true, Source::scalar>
                                      : logic_test<true, Source::row>);
        return x.handler(b.scalar ? logic_test<false, Source::scalar>
                                  : logic_test<false, Source::row>);
    }
    // a&b a|b a^b ~b a&~b ~a&b a|~b b
    if (logic2<0xc0, 0xfc, 0x3c, 0x33, 0x30, 0x0c, 0xf3, 0xcc>(x, lut, a, b)) return;
    // a|b&c a|b|c a&b&c a^b^c a?b:c b?a:c a&c|b b?c:a (a|b)&c majority (a&b)^c (a^b)&c
    if (logic3<0xf8, 0xea, 0xfe, 0x80, 0x96, 0xca, 0xe2, 0xec, 0xb8, 0xa8, 0xe8, 0x6a, 0x28>(
            x, lut, a, b, c))
        return;
    emit_int3<LogicAny>(x, a, b, c);
}

void lower(Lower& x, const typed::Ulop3& i) {
    const auto lut = static_cast<uint8_t>(i.lut.imm);
    x.op.k[1] = lut;
    set_test(x, i);
    if (i.pd.index != 7) return emit_uniform<LogicTest<false>>(x, i.d, i.a, i.b, i.c);
    if (lut == 0xc0) return emit_uniform<Logic2<0xc0>>(x, i.d, i.a, i.b);
    if (lut == 0xfc) return emit_uniform<Logic2<0xfc>>(x, i.d, i.a, i.b);
    emit_uniform<LogicAny>(x, i.d, i.a, i.b, i.c);
}

void lower(Lower& x, const typed::Bmsk& i) {
    const Term a = term(x, i.a), b = term(x, i.b);
    x.op.d = x.destination_row(i.d.index);
    i.wrap ? emit_int2<MaskWrap>(x, a, b) : emit_int2<MaskClamp>(x, a, b);
}
void lower(Lower& x, const typed::Ubmsk& i) {
    i.wrap ? emit_uniform<MaskWrap>(x, i.d, i.a, i.b) : emit_uniform<MaskClamp>(x, i.d, i.a, i.b);
}
void lower(Lower& x, const typed::Sgxt& i) {
    const Term a = term(x, i.a), b = term(x, i.b);
    x.op.d = x.destination_row(i.d.index);
    x.op.m[0] = i.wrap ? 31 : ~0u;
    i.type == typed::SignType::S32 ? emit_int2<ExtendSigned>(x, a, b)
                                   : emit_int2<ExtendUnsigned>(x, a, b);
}
void lower(Lower& x, const typed::Usgxt& i) {
    x.op.m[0] = i.wrap ? 31 : ~0u;
    i.type == typed::SignType::S32 ? emit_uniform<ExtendSigned>(x, i.d, i.a, i.b)
                                   : emit_uniform<ExtendUnsigned>(x, i.d, i.a, i.b);
}
void lower(Lower& x, const typed::Flo& i) {
    const Term a = term(x, i.a);
    x.op.d = x.destination_row(i.d.index);
    set_find(x, i);
    if (i.pd.index != 7) return emit_any<FindLeadingTest>(x, {}, a);
    emit_int1<FindLeading>(x, a);
}
void lower(Lower& x, const typed::Uflo& i) {
    set_find(x, i);
    i.pd.index != 7 ? emit_uniform<FindLeadingTest>(x, i.d, {}, i.a)
                    : emit_uniform<FindLeading>(x, i.d, {}, i.a);
}
void lower(Lower& x, const typed::Popc& i) {
    const Term a = term(x, i.a);
    x.op.d = x.destination_row(i.d.index);
    x.op.m[1] = a.flip ? ~0u : 0;
    emit_int1<PopCount>(x, a);
}
void lower(Lower& x, const typed::Upopc& i) {
    x.op.m[1] = flip_mask(i.a);
    emit_uniform<PopCount>(x, i.d, {}, i.a);
}
void lower(Lower& x, const typed::Ubrev& i) { emit_uniform<Reverse>(x, i.d, {}, i.a); }
void lower(Lower& x, const typed::Brev& i) {
    const Term a = term(x, i.a);
    x.op.d = x.destination_row(i.d.index);
    emit_int1<Reverse>(x, a);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
