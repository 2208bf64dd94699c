// SPDX-License-Identifier: Apache-2.0
// Comparisons (ISETP, UISETP, VISET), minimum and maximum in all widths, absolute values and
// differences.
#include "emu/isa/integer.hpp"

#include "emu/isa/uniform.hpp"
#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// ---- ISETP -------------------------------------------------------------------------------------

enum class Cmp { eq, ne, lt_s, le_s, gt_s, ge_s, lt_u, le_u, gt_u, ge_u };
template <Cmp C>
SASSEMU_INLINE Mask compare(V32 a, V32 b) {
    switch (C) {
        case Cmp::eq:
            return L::cmp_eq(a, b);
        case Cmp::ne:
            return L::cmp_ne(a, b);
        case Cmp::lt_s:
            return L::cmp_lt_s(a, b);
        case Cmp::le_s:
            return L::cmp_le_s(a, b);
        case Cmp::gt_s:
            return L::cmp_gt_s(a, b);
        case Cmp::ge_s:
            return L::cmp_ge_s(a, b);
        case Cmp::lt_u:
            return L::cmp_lt_u(a, b);
        case Cmp::le_u:
            return L::cmp_le_u(a, b);
        case Cmp::gt_u:
            return L::cmp_gt_u(a, b);
        case Cmp::ge_u:
            return L::cmp_ge_u(a, b);
    }
}
// f: destination predicate. The comparison alone.
template <Cmp C, Source B>
const Op* set_simple(const Op* op, Warp& w, uint32_t mask) {
    write_predicate(w, op->f, compare<C>(read<Source::row>(w, op->a), read<B>(w, op->b)), mask);
    return next(op, w);
}
template <class V>
SASSEMU_INLINE const Op* set_results(const Op* op, Warp& w, Mask r, Mask mask) {
    const Mask p = predicate_value(w, op->e);
    put_predicate<V>(w, op->f, join(r, p, op->k[0]), mask);
    if (op->m[0] != 7) put_predicate<V>(w, op->m[0], join(~r, p, op->k[0]), mask);
    return next(op, w);
}
// With everything: k[0] boolean operation on predicate code e, m[0] the second destination (it
// takes the complement of the comparison), m[1] = 1 with EX: where the upper words are equal, the
// predicate code m[2], the comparison of the lower words, decides.
template <Cmp C, Source B>
const Op* set_full(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b);
    Mask r = compare<C>(a, b);
    if (op->m[1]) {
        const Mask same = L::cmp_eq(a, b);
        r = (r & ~same) | (predicate_value(w, op->m[2]) & same);
    }
    return set_results<V32>(op, w, r, mask);
}
// Comparisons that are always false or true.
const Op* set_constant(const Op* op, Warp& w, uint32_t mask) {
    return set_results<V32>(op, w, op->k[1] ? ~0u : 0, mask);
}
template <Cmp C>
Handler choose_set(bool simple, bool scalar) {
    if (simple) return scalar ? set_simple<C, Source::scalar> : set_simple<C, Source::row>;
    return scalar ? set_full<C, Source::scalar> : set_full<C, Source::row>;
}

// By the code of the comparison, a set of less (1), equal (2) and greater (4).
SASSEMU_INLINE Mask outcome(unsigned comparison, Mask less, Mask equal) {
    return (comparison & 1 ? less : 0) | (comparison & 2 ? equal : 0) |
           (comparison & 4 ? ~(less | equal) : 0);
}
// On uniform registers, and 64-bit comparisons: k[1] the comparison, k[2] bit 0 signed, bit 1 a
// scalar b.
const Op* set_uniform(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t a = w.scalar32(op->a), b = w.scalar32(op->b);
    const Mask equal = L::cmp_eq(a, b);
    Mask r = outcome(op->k[1], op->k[2] & 1 ? L::cmp_lt_s(a, b) : L::cmp_lt_u(a, b), equal);
    if (op->m[1] & equal) r = predicate_value(w, op->m[2]);
    return set_results<uint32_t>(op, w, r, mask);
}
template <class V>
const Op* set_wide(const Op* op, Warp& w, uint32_t mask) {
    const V a = get64<V>(w, op->a, false), b = get64<V>(w, op->b, op->k[2] & 2);
    const Mask less = op->k[2] & 1 ? L::cmp_lt_s64(a, b) : L::cmp_lt_u64(a, b);
    return set_results<V>(op, w, outcome(op->k[1], less, L::cmp_eq64(a, b)), mask);
}
template <class T>
void lower_wide_compare(Lower& x, const T& i) {
    if (i.ex) return x.gap("a 64-bit comparison with EX");
    check_even(x, i.a);
    check_even(x, i.b);
    const Term a = term(x, i.a, 2), b = term(x, i.b, 2);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.k[2] = static_cast<uint8_t>((i.type == typed::SignType::S64) | b.scalar << 1);
    x.handler(a.scalar ? set_wide<uint64_t> : set_wide<V64>);
}
// Everything but the operands. False: it is refused, or 64 bits wide and lowered.
template <class T>
bool set_comparison(Lower& x, const T& i) {
    x.op.k[0] = static_cast<uint8_t>(i.bool_);
    if (x.op.k[0] > 2) {
        x.reject("an invalid boolean operation");
        return false;
    }
    x.op.k[1] = static_cast<uint8_t>(i.cmp);
    x.op.e = predicate_code(i.pa);
    x.op.f = i.pd.index;
    x.op.m[0] = i.pd2.index;
    x.op.m[1] = i.ex && i.cmp != typed::ICmp::F && i.cmp != typed::ICmp::T;
    x.op.m[2] = predicate_code(i.pb);
    if (i.type != typed::SignType::U64 && i.type != typed::SignType::S64) return true;
    lower_wide_compare(x, i);
    return false;
}

// VISET: all ones or zeros for each element of m[0] bits, which compares at the top of a lane as by
// itself. k[0]: signed, k[1] the comparison.
struct SetElements {
    static V32 apply(V32 a, V32 b, V32, const Op& op, Warp&, Mask) {
        V32 r = L::splat(0);
        const V32 element = L::splat(~0u << (32 - op.m[0]));
        for (uint32_t at = 0; at < 32; at += op.m[0]) {
            const V32 up = L::splat(32 - op.m[0] - at);
            const V32 u = L::and_(L::shl(a, up), element), v = L::and_(L::shl(b, up), element);
            const Mask less = op.k[0] ? L::cmp_lt_s(u, v) : L::cmp_lt_u(u, v);
            r = L::select(outcome(op.k[1], less, L::cmp_eq(u, v)), L::or_(r, L::shr(element, up)),
                          r);
        }
        return r;
    }
};

// ---- minimum and maximum -----------------------------------------------------------------------

using Type = typed::VMinMaxType;
template <Type T, bool Max>
SASSEMU_INLINE V32 extreme(V32 a, V32 b) {
    if constexpr (T == Type::U32) return Max ? L::max_u(a, b) : L::min_u(a, b);
    if constexpr (T == Type::S32) return Max ? L::max_s(a, b) : L::min_s(a, b);
    if constexpr (T == Type::U16x2) return Max ? L::max_u16x2(a, b) : L::min_u16x2(a, b);
    if constexpr (T == Type::S16x2) return Max ? L::max_s16x2(a, b) : L::min_s16x2(a, b);
    if constexpr (T == Type::U8x4) {  // even and odd bytes, in halves of their own
        const V32 even = L::splat(0x00ff00ff), eight = L::splat(8);
        const V32 high = extreme<Type::U16x2, Max>(L::and_(L::shr(a, eight), even),
                                                   L::and_(L::shr(b, eight), even));
        return L::or_(extreme<Type::U16x2, Max>(L::and_(a, even), L::and_(b, even)),
                      L::shl(high, eight));
    }
    if constexpr (T == Type::S8x4) {
        const V32 sign = L::splat(0x80808080u);
        return L::xor_(extreme<Type::U8x4, Max>(L::xor_(a, sign), L::xor_(b, sign)), sign);
    }
}
template <Type T, bool Max>
struct Extreme {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, const Op&) { return extreme<T, Max>(a, b); }
};
// The type at run time: k[0]; the predicate code e selects the minimum; k[1]: RELU.
template <Type T>
SASSEMU_INLINE V32 choose_extreme(Mask minimum, V32 a, V32 b) {
    if (minimum == ~0u) return extreme<T, false>(a, b);
    if (minimum == 0) return extreme<T, true>(a, b);
    return L::select(minimum, extreme<T, false>(a, b), extreme<T, true>(a, b));
}
__attribute__((noinline)) V32 any_extreme(const Op& op, Mask minimum, V32 a, V32 b) {
    switch (static_cast<Type>(op.k[0])) {
        case Type::U32:
            return choose_extreme<Type::U32>(minimum, a, b);
        case Type::S32:
            return choose_extreme<Type::S32>(minimum, a, b);
        case Type::U16x2:
            return choose_extreme<Type::U16x2>(minimum, a, b);
        case Type::U8x4:
            return choose_extreme<Type::U8x4>(minimum, a, b);
        case Type::S8x4:
            return choose_extreme<Type::S8x4>(minimum, a, b);
        default:
            return choose_extreme<Type::S16x2>(minimum, a, b);
    }
}
// Negative results become 0.
V32 relu(const Op& op, V32 v) {
    if (!op.k[1]) return v;
    return op.k[0] & 2 ? L::max_s16x2(v, L::splat(0)) : L::max_s(v, L::splat(0));
}
bool packed(const Op& op) { return op.k[0] & 2; }

struct AnyExtreme {
    static V32 apply(V32 a, V32 b, V32, const Op& op, Warp& w, Mask) {
        return relu(op, any_extreme(op, predicate_value(w, op.e), a, b));
    }
};
// The predicates f and m[0] say that a is the result (of the lower and the upper half, if packed);
// where both name one predicate it holds the first (measured on an H200).
struct AnyExtremeTest {
    static V32 apply(V32 a, V32 b, V32 c, const Op& op, Warp& w, Mask mask) {
        const V32 r = AnyExtreme::apply(a, b, c, op, w, mask), other = L::xor_(r, a);
        const V32 low = L::splat(packed(op) ? 0xffffu : ~0u),
                  high = L::splat(packed(op) ? 0xffff0000u : ~0u);
        write_predicate(w, op.m[0], ~L::nonzero(L::and_(other, high)), mask);
        write_predicate(w, op.f, ~L::nonzero(L::and_(other, low)), mask);
        return r;
    }
};
struct AnyExtreme3 {
    static V32 apply(V32 a, V32 b, V32 c, const Op& op, Warp& w, Mask) {
        const Mask minimum = predicate_value(w, op.e);
        return relu(op, any_extreme(op, minimum, any_extreme(op, minimum, a, b), c));
    }
};
// a + b, then the extreme with c. m[1] complements b, m[0] is one per element then.
struct AddExtreme {
    static V32 apply(V32 a, V32 b, V32 c, const Op& op, Warp& w, Mask) {
        b = L::xor_(b, L::splat(op.m[1]));
        const V32 one = L::splat(op.m[0]);
        const V32 sum = packed(op) ? L::add_16x2(L::add_16x2(a, b), one) : L::add3(a, b, one);
        return relu(op, any_extreme(op, predicate_value(w, op.e), sum, c));
    }
};
template <Type T>
void emit_extreme(Lower& x, const Term& a, const Term& b, bool max) {
    max ? emit_int2<Extreme<T, true>>(x, a, b) : emit_int2<Extreme<T, false>>(x, a, b);
}
// RELU is a signed notion; what it does to an unsigned minimum is not known.
bool check_type(Lower& x, Type t, bool relu_, bool bytes = false) {
    if (t > Type::S8x4) {
        x.reject("an invalid type of minimum or maximum");
        return false;
    }
    if (t > Type::S16x2 && !bytes) {
        x.gap("this minimum or maximum of four bytes");
        return false;
    }
    if (!relu_ || t == Type::S32 || t == Type::S16x2) return true;
    x.gap("RELU of an unsigned minimum or maximum");
    return false;
}
void lower_extreme(Lower& x, Type t, bool relu_, const typed::Pred& minimum, const Term& a,
                   const Term& b) {
    if (!check_type(x, t, relu_, true)) return;
    x.op.e = predicate_code(minimum);
    x.op.k[0] = static_cast<uint8_t>(t);
    x.op.k[1] = relu_;
    if (relu_ || (x.op.e & 15) != 7) return emit_any<AnyExtreme>(x, a, b);
    const bool max = x.op.e == code_false;
    switch (t) {
        case Type::U32:
            return emit_extreme<Type::U32>(x, a, b, max);
        case Type::S32:
            return emit_extreme<Type::S32>(x, a, b, max);
        case Type::U16x2:
            return emit_extreme<Type::U16x2>(x, a, b, max);
        case Type::U8x4:
        case Type::S8x4:
            return emit_any<AnyExtreme>(x, a, b);
        default:
            return emit_extreme<Type::S16x2>(x, a, b, max);
    }
}

// ---- absolute values and differences -----------------------------------------------------------

struct Absolute {
    static SASSEMU_INLINE V32 apply(V32 b, const Op&) { return L::abs(b); }
};
// The predicate f is the carry out of the unsigned addition of c (measured on an H200).
V32 add_to(V32 c, V32 difference, const Op& op, Warp& w, Mask mask) {
    Mask carry;
    const V32 r = L::add_carry(difference, c, 0, &carry);
    write_predicate(w, op.f, carry, mask);
    return r;
}
template <bool Signed>
struct AbsDiff {
    static SASSEMU_INLINE V32 apply(V32 a, V32 b, V32 c, const Op& op, Warp& w, Mask mask) {
        return add_to(c, Signed ? L::absdiff_s(a, b) : L::absdiff_u(a, b), op, w, mask);
    }
};
// |a - b| of four bytes, summed onto c (k[0] = 1) or side by side. Signed bytes (k[1] = 1) are
// moved to the unsigned range first, which keeps their differences.
struct AbsDiff4 {
    static V32 apply(V32 a, V32 b, V32 c, const Op& op, Warp& w, Mask mask) {
        if (op.k[1]) {
            a = L::xor_(a, L::splat(0x80808080u));
            b = L::xor_(b, L::splat(0x80808080u));
        }
        if (op.k[0]) return add_to(c, L::sad_u8x4(a, b, L::splat(0)), op, w, mask);
        write_predicate(w, op.f, 0, mask);
        V32 r = L::splat(0);
        for (uint32_t shift = 0; shift < 32; shift += 8) {
            const V32 n = L::splat(shift), byte = L::splat(0xff);
            const V32 d = L::absdiff_u(L::and_(L::shr(a, n), byte), L::and_(L::shr(b, n), byte));
            r = L::or_(r, L::shl(d, n));
        }
        return r;
    }
};

}  // namespace

void lower(Lower& x, const typed::Isetp& i) {
    if (!set_comparison(x, i)) return;
    const Term a = term(x, i.a), b = term(x, i.b);
    x.op.a = a.at;
    x.op.b = b.at;
    const bool neutral =
        (x.op.k[0] == 0 && x.op.e == code_true) || (x.op.k[0] != 0 && x.op.e == code_false);
    const bool simple = neutral && i.pd2.index == 7 && !i.ex;
    const bool is_signed = i.type == typed::SignType::S32;
    Handler h = nullptr;
    switch (i.cmp) {
        case typed::ICmp::F:
        case typed::ICmp::T:
            return x.handler(set_constant);
        case typed::ICmp::EQ:
            h = choose_set<Cmp::eq>(simple, b.scalar);
            break;
        case typed::ICmp::NE:
            h = choose_set<Cmp::ne>(simple, b.scalar);
            break;
        case typed::ICmp::LT:
            h = is_signed ? choose_set<Cmp::lt_s>(simple, b.scalar)
                          : choose_set<Cmp::lt_u>(simple, b.scalar);
            break;
        case typed::ICmp::LE:
            h = is_signed ? choose_set<Cmp::le_s>(simple, b.scalar)
                          : choose_set<Cmp::le_u>(simple, b.scalar);
            break;
        case typed::ICmp::GT:
            h = is_signed ? choose_set<Cmp::gt_s>(simple, b.scalar)
                          : choose_set<Cmp::gt_u>(simple, b.scalar);
            break;
        case typed::ICmp::GE:
            h = is_signed ? choose_set<Cmp::ge_s>(simple, b.scalar)
                          : choose_set<Cmp::ge_u>(simple, b.scalar);
            break;
    }
    x.handler(h);
}

void lower(Lower& x, const typed::Uisetp& i) {
    if (!set_comparison(x, i)) return;
    set_scalars(x, i.a, i.b);
    x.op.k[2] = i.type == typed::SignType::S32;
    x.handler(set_uniform);
}
void lower(Lower& x, const typed::Viset& i) {
    const auto type = static_cast<uint32_t>(i.type);
    if (type > static_cast<uint32_t>(typed::SimdCompareType::S8x4))
        return x.reject("VISET of an invalid type");
    x.op.d = x.destination_row(i.d.index);
    x.op.m[0] = 32 >> type / 2;
    x.op.k[0] = type & 1;
    x.op.k[1] = static_cast<uint8_t>(i.cmp);
    emit_any<SetElements>(x, term(x, i.a), term(x, i.b));
}

void lower(Lower& x, const typed::Iabs& i) {
    x.op.d = x.destination_row(i.d.index);
    emit_int1<Absolute>(x, term(x, i.a));
}
void lower(Lower& x, const typed::Imnmx& i) {
    const Term a = term(x, i.a), b = term(x, i.b);
    x.op.d = x.destination_row(i.d.index);
    lower_extreme(x, i.type == typed::SignType::S32 ? Type::S32 : Type::U32, false, i.pa, a, b);
}
void lower(Lower& x, const typed::Vimnmx& i) {
    const Term a = term(x, i.a), b = term(x, i.b);
    x.op.d = x.destination_row(i.d.index);
    if (i.pd.index == 7 && i.pd2.index == 7) return lower_extreme(x, i.type, i.relu, i.pa, a, b);
    if (!check_type(x, i.type, i.relu)) return;
    x.op.e = predicate_code(i.pa);
    x.op.k[0] = static_cast<uint8_t>(i.type);
    x.op.k[1] = i.relu;
    x.op.f = i.pd.index;
    x.op.m[0] = i.pd2.index;
    emit_any<AnyExtremeTest>(x, a, b);
}
void lower(Lower& x, const typed::Vimnmx3& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    if (!check_type(x, i.type, i.relu)) return;
    x.op.e = predicate_code(i.pa);
    x.op.k[0] = static_cast<uint8_t>(i.type);
    x.op.k[1] = i.relu;
    emit_any<AnyExtreme3>(x, a, b, c);
}
void lower(Lower& x, const typed::Viaddmnmx& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    if (!check_type(x, i.type, i.relu)) return;
    x.op.e = predicate_code(i.pa);
    x.op.k[0] = static_cast<uint8_t>(i.type);
    x.op.k[1] = i.relu;
    x.op.m[0] = !b.flip ? 0 : packed(x.op) ? 0x00010001u : 1;
    x.op.m[1] = b.flip ? ~0u : 0;
    emit_any<AddExtreme>(x, a, b, c);
}

void lower(Lower& x, const typed::Vabsdiff& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    x.op.f = i.pd.index;
    i.type ? emit_any<AbsDiff<true>>(x, a, b, c) : emit_any<AbsDiff<false>>(x, a, b, c);
}
void lower(Lower& x, const typed::Vabsdiff4& i) {
    const Term a = term(x, i.a), b = term(x, i.b), c = term(x, i.c);
    x.op.d = x.destination_row(i.d.index);
    x.op.f = i.pd.index;
    x.op.k[0] = i.acc;
    x.op.k[1] = i.type;
    emit_any<AbsDiff4>(x, a, b, c);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
