// SPDX-License-Identifier: Apache-2.0
// Handler shapes of the integer and move families: operands without float modifiers, operands whose
// kind is looked up at run time (for what is not hot), and predicate sources. No instruction is
// here.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

using L::Mask;

// ---- operands --------------------------------------------------------------------------------

// A source of an integer operation, with what lowering wants to know about it.
struct Term {
    uint32_t at = 0;
    bool scalar = false;
    bool flip = false;  // negated, or complemented where carries come in
    bool zero = false;  // reads 0: RZ, URZ or the immediate 0
    bool immediate = false;
    uint32_t value = 0;  // of an immediate
};

inline Term term(Lower& x, const typed::Src& s, unsigned words = 1) {
    const Operand o = x.source(s, words);
    Term t;
    t.at = o.at;
    t.scalar = o.scalar;
    t.flip = s.neg || s.inv;
    t.immediate = s.kind == typed::SrcKind::Imm;
    t.value = t.immediate ? static_cast<uint32_t>(s.imm) : 0;
    t.zero = s.kind == typed::SrcKind::None ||
             (s.kind == typed::SrcKind::Reg && s.index == SASSDEC_RZ) ||
             (s.kind == typed::SrcKind::UReg && s.index == SASSDEC_URZ) ||
             (t.immediate && t.value == 0);
    return t;
}

// A 64-bit operand starts at an even register (RZ is a pair of zeros).
inline void check_even(Lower& x, const typed::Src& s) {
    if (s.kind == typed::SrcKind::Reg && s.index != SASSDEC_RZ && s.index % 2)
        x.reject("a 64-bit operand in an odd register");
    if (s.kind == typed::SrcKind::UReg && s.index != SASSDEC_URZ && s.index % 2)
        x.reject("a 64-bit operand in an odd uniform register");
    if (s.kind == typed::SrcKind::Const && s.offset % 8)
        x.reject("a misaligned 64-bit constant operand");
}

inline void check_even_result(Lower& x, const typed::Reg& r) {
    if (r.index != SASSDEC_RZ && r.index % 2)
        x.reject(r.uniform ? "a 64-bit result in an odd uniform register"
                           : "a 64-bit result in an odd register");
}

// ---- predicates ------------------------------------------------------------------------------

// A predicate source as one number: index into Warp::p, bit 31 set when negated.
constexpr uint32_t code_true = 7, code_false = 7 | 0x80000000u;
inline uint32_t predicate_code(const typed::Pred& p) {
    return (p.uniform ? Lower::uniform_predicate(p.index) : Lower::predicate(p.index)) |
           (p.neg ? 0x80000000u : 0);
}
SASSEMU_INLINE Mask predicate_value(const Warp& w, uint32_t code) {
    return w.p[code & 15] ^ (0u - (code >> 31));
}
// a BOOL b; the field's order is AND, OR, XOR.
SASSEMU_INLINE Mask join(Mask a, Mask b, unsigned bool_op) {
    return bool_op == 0 ? a & b : bool_op == 1 ? a | b : a ^ b;
}

// ---- shapes ----------------------------------------------------------------------------------
//
// Those of isa.hpp, without float modifiers.

template <class F>
void emit_int3(Lower& x, const Term& a, const Term& b, const Term& c) {
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.c = c.at;
    choose3<F, false>(x, b.scalar, c.scalar);
}
template <class F>
void emit_int2(Lower& x, const Term& a, const Term& b) {
    x.op.a = a.at;
    x.op.b = b.at;
    choose2<F, false>(x, b.scalar);
}
template <class F>
void emit_int1(Lower& x, const Term& b) {
    x.op.b = b.at;
    choose1<F, false>(x, b.scalar);
}

// For what is not hot: operand kinds are looked up at run time, in bits 0..2 of k[2]; F::apply also
// gets the warp and the mask. It may not write predicates before it has read all it needs.
SASSEMU_INLINE V32 read_any(const Warp& w, uint32_t at, bool scalar) {
    return scalar ? read<Source::scalar>(w, at) : read<Source::row>(w, at);
}
template <class F>
const Op* any3(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read_any(w, op->a, op->k[2] & 1), b = read_any(w, op->b, op->k[2] & 2),
              c = read_any(w, op->c, op->k[2] & 4);
    write<false>(w, op->d, F::apply(a, b, c, *op, w, mask), mask);
    return next(op, w);
}
inline void set_any(Lower& x, const Term& a, const Term& b, const Term& c) {
    x.op.a = a.at;
    x.op.b = b.at;
    x.op.c = c.at;
    x.op.k[2] = static_cast<uint8_t>(a.scalar | b.scalar << 1 | c.scalar << 2);
}
template <class F>
void emit_any(Lower& x, const Term& a, const Term& b, const Term& c = {}) {
    set_any(x, a, b, c);
    x.handler(any3<F>);
}

// Per-lane ~0 where the mask is set.
SASSEMU_INLINE V32 ones(Mask m) { return L::select(m, L::splat(~0u), L::splat(0)); }

struct Copy {
    template <class V>
    static SASSEMU_INLINE V apply(V b, const Op&) {
        return b;
    }
};

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
