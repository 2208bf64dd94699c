// SPDX-License-Identifier: Apache-2.0
// fp64 arithmetic and comparison on register pairs. Round to nearest has handlers of its own; the
// other roundings share one that looks at op->k[0].
#include "emu/isa/double.hpp"

#include "emu/isa/float_modes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

template <bool Nearest>
struct Add {
    static SASSEMU_INLINE V64 apply(V64 a, V64 b, const Op& op) {
        if constexpr (Nearest) return L::dadd<Rounding::rn>(a, b);
        return with_rounding(op.k[0], [&]<Rounding R>() { return L::dadd<R>(a, b); });
    }
    template <class B>
    static SASSEMU_INLINE bool numbers(V64* r, const uint32_t* a, B b) {
        return L::dadd_numbers(r, a, b);
    }
};
template <bool Nearest>
struct Mul {
    static SASSEMU_INLINE V64 apply(V64 a, V64 b, const Op& op) {
        if constexpr (Nearest) return L::dmul<Rounding::rn>(a, b);
        return with_rounding(op.k[0], [&]<Rounding R>() { return L::dmul<R>(a, b); });
    }
    template <class B>
    static SASSEMU_INLINE bool numbers(V64* r, const uint32_t* a, B b) {
        return L::dmul_numbers(r, a, b);
    }
};
template <bool Nearest>
struct Fma {
    static SASSEMU_INLINE V64 apply(V64 a, V64 b, V64 c, const Op& op) {
        if constexpr (Nearest) return L::dfma<Rounding::rn>(a, b, c);
        return with_rounding(op.k[0], [&]<Rounding R>() { return L::dfma<R>(a, b, c); });
    }
    template <class B, class C>
    static SASSEMU_INLINE bool numbers(V64* r, const uint32_t* a, B b, C c) {
        return L::dfma_numbers(r, a, b, c);
    }
};

template <class F, Source B, bool All>
const Op* pair2(const Op* op, Warp& w, uint32_t mask) {
    V64 a = read64<Source::row>(w, op->a);
    V64 b = read64<B>(w, op->b);
    if (op->m[0] | op->m[1]) {
        a = modify_number(a, op->m[0]);
        b = modify_number(b, op->m[1]);
    }
    write64<All>(w, op->d, F::apply(a, b, *op), mask);
    return next(op, w);
}
template <class F, Source B, Source C, bool All>
const Op* pair3(const Op* op, Warp& w, uint32_t mask) {
    V64 a = read64<Source::row>(w, op->a);
    V64 b = read64<B>(w, op->b);
    V64 c = read64<C>(w, op->c);
    if (op->m[0] | op->m[1] | op->m[2]) {
        a = modify_number(a, op->m[0]);
        b = modify_number(b, op->m[1]);
        c = modify_number(c, op->m[2]);
    }
    write64<All>(w, op->d, F::apply(a, b, c, *op), mask);
    return next(op, w);
}

// To nearest, unmodified operands, results that are numbers: nearly all there is. The rest is
// settled by the handlers above.
template <Source K>
SASSEMU_INLINE auto operand64(const Warp& w, uint32_t at) {
    if constexpr (K == Source::row)
        return w.row(at);
    else
        return w.scalar64(at);
}
template <class F, Source B, bool All>
const Op* plain2(const Op* op, Warp& w, uint32_t mask) {
    V64 r;
    if (!F::numbers(&r, w.row(op->a), operand64<B>(w, op->b))) [[unlikely]]
        return pair2<F, B, All>(op, w, mask);
    write64<All>(w, op->d, r, mask);
    return next(op, w);
}
template <class F, Source B, Source C, bool All>
const Op* plain3(const Op* op, Warp& w, uint32_t mask) {
    V64 r;
    if (!F::numbers(&r, w.row(op->a), operand64<B>(w, op->b), operand64<C>(w, op->c))) [[unlikely]]
        return pair3<F, B, C, All>(op, w, mask);
    write64<All>(w, op->d, r, mask);
    return next(op, w);
}
template <class F, Source B>
void choose2(Lower& x, bool plain) {
    plain ? x.handlers(plain2<F, B, false>, plain2<F, B, true>)
          : x.handlers(pair2<F, B, false>, pair2<F, B, true>);
}
template <class F, Source B, Source C>
void choose3(Lower& x, bool plain) {
    plain ? x.handlers(plain3<F, B, C, false>, plain3<F, B, C, true>)
          : x.handlers(pair3<F, B, C, false>, pair3<F, B, C, true>);
}

// A pair that starts at an odd register is a machine fault (RZ stands for a pair of zeros).
void check_pair(Lower& x, const typed::Src& s) {
    if (s.kind == typed::SrcKind::Reg && s.index != SASSDEC_RZ && s.index % 2)
        x.reject("a 64-bit operand in an odd register");
    if (s.kind == typed::SrcKind::UReg && s.index != SASSDEC_URZ && s.index % 2)
        x.reject("a 64-bit operand in an odd uniform register");
    if (s.kind == typed::SrcKind::Const && s.offset % 8)
        x.reject("a misaligned 64-bit constant operand");
}
Operand pair_source(Lower& x, const typed::Src& s, int slot) {
    check_pair(x, s);
    const Operand o = x.source(s, 2);
    x.op.m[slot] = o.modifier;
    return o;
}
uint32_t pair_destination(Lower& x, const typed::Reg& r) {
    if (r.index != SASSDEC_RZ && r.index % 2) x.reject("a 64-bit result in an odd register");
    return x.destination_row(r.index, 2);
}

template <class F, class T>
void lower2(Lower& x, const T& i) {
    x.op.d = pair_destination(x, i.d);
    x.op.k[0] = static_cast<uint8_t>(i.rnd);
    const Operand a = pair_source(x, i.a, 0), b = pair_source(x, i.b, 1);
    x.op.a = a.at;
    x.op.b = b.at;
    const bool plain = i.rnd == typed::Rounding::RN && !(a.modifier | b.modifier);
    b.scalar ? choose2<F, Source::scalar>(x, plain) : choose2<F, Source::row>(x, plain);
}
template <class F>
void lower3(Lower& x, const typed::Dfma& i) {
    x.op.d = pair_destination(x, i.d);
    x.op.k[0] = static_cast<uint8_t>(i.rnd);
    const Operand a = pair_source(x, i.a, 0), b = pair_source(x, i.b, 1),
                  c = pair_source(x, i.c, 2);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.c = c.at;
    const bool plain = i.rnd == typed::Rounding::RN && !(a.modifier | b.modifier | c.modifier);
    if (c.scalar)
        choose3<F, Source::row, Source::scalar>(x, plain);
    else if (b.scalar)
        choose3<F, Source::scalar, Source::row>(x, plain);
    else
        choose3<F, Source::row, Source::row>(x, plain);
}

// ---- DSETP -----------------------------------------------------------------------------------

// .MIN and .MAX: the first result says that a is the minimum (maximum), where a number beats a NaN
// and -0 < +0; equal operands count as a for .MIN and as b for .MAX. The second says that both are
// NaN, without the boolean operation (measured on an H200). Compilers select by the first and quiet
// the selected operand where the second holds.
template <bool Max>
SASSEMU_RARE Mask takes_a(V64 a, V64 b, Mask* both_nan) {
    const Mask nan_a = L::dcmp<Compare::nan>(a, a), nan_b = L::dcmp<Compare::nan>(b, b);
    *both_nan = nan_a & nan_b;
    const Mask better = Max ? L::dcmp<Compare::gt>(a, b) : L::dcmp<Compare::lt>(a, b);
    const Mask sign_a = L::sign_mask(L::hi32(a)), sign_b = L::sign_mask(L::hi32(b));
    const Mask tie = L::dcmp<Compare::eq>(a, b) & (Max ? ~sign_a & sign_b : sign_a | ~sign_b);
    return better | tie | (nan_b & ~nan_a);
}

constexpr unsigned compare_min = 0, compare_max = 15;

// d and e are the destination predicates; k[0] the boolean operation, k[1] the comparison.
template <Source B>
const Op* set_predicate(const Op* op, Warp& w, uint32_t mask) {
    V64 a = read64<Source::row>(w, op->a);
    V64 b = read64<B>(w, op->b);
    if (op->m[0] | op->m[1]) {
        a = apply_modifier64(a, op->m[0]);
        b = apply_modifier64(b, op->m[1]);
    }
    const Mask p = predicate_source<2>(op, w);
    Mask first, second;
    bool plain = false;  // the second result is not combined
    if (op->k[1] == compare_max) {
        first = takes_a<true>(a, b, &second);
        plain = true;
    } else if (op->k[1] == compare_min) {
        first = takes_a<false>(a, b, &second);
        plain = true;
    } else {
        first = L::dcmp(a, b, static_cast<Compare>(op->k[1]));
        second = ~first;
    }
    write_predicate(w, op->d, combine(first, p, op->k[0]), mask);
    if (op->e != 7) write_predicate(w, op->e, plain ? second : combine(second, p, op->k[0]), mask);
    return next(op, w);
}

}  // namespace

void lower(Lower& x, const typed::Dadd& i) {
    i.rnd == typed::Rounding::RN ? lower2<Add<true>>(x, i) : lower2<Add<false>>(x, i);
}
void lower(Lower& x, const typed::Dmul& i) {
    i.rnd == typed::Rounding::RN ? lower2<Mul<true>>(x, i) : lower2<Mul<false>>(x, i);
}
void lower(Lower& x, const typed::Dfma& i) {
    i.rnd == typed::Rounding::RN ? lower3<Fma<true>>(x, i) : lower3<Fma<false>>(x, i);
}

void lower(Lower& x, const typed::Dsetp& i) {
    if (!check_bool_op(x, i.bool_)) return;
    x.op.d = i.pd.index;
    x.op.e = i.pd2.index;
    const Operand a = pair_source(x, i.a, 0), b = pair_source(x, i.b, 1);
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.k[0] = static_cast<uint8_t>(i.bool_);
    x.op.k[1] = static_cast<uint8_t>(i.cmp);
    set_predicate_source(x, 2, i.pa);
    x.handler(b.scalar ? set_predicate<Source::scalar> : set_predicate<Source::row>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
