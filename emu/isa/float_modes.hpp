// SPDX-License-Identifier: Apache-2.0
// What the float families share: the rounding and flushing mode of an operation that is chosen at
// run time, comparison results combined with a predicate, and predicate sources. No instruction is
// here.
#pragma once

#include "emu/isa/isa.hpp"

// Code that is not hot, kept out of line so that it is compiled once.
#define SASSEMU_RARE __attribute__((noinline, noclone))

namespace sassemu {
namespace SASSEMU_ISA_NS {

using L::Compare;
using L::Mask;
using L::Post;
using L::Rounding;

// Calls f.template operator()<R>() for a rounding mode known at run time.
template <class F>
SASSEMU_INLINE auto with_rounding(unsigned r, F&& f) {
    switch (static_cast<Rounding>(r & 3)) {
        case Rounding::rm:
            return f.template operator()<Rounding::rm>();
        case Rounding::rp:
            return f.template operator()<Rounding::rp>();
        case Rounding::rz:
            return f.template operator()<Rounding::rz>();
        default:
            return f.template operator()<Rounding::rn>();
    }
}

// Source modifiers leave an f64 NaN alone: -NaN in a subtraction keeps its sign (measured on an
// H200).
SASSEMU_INLINE V64 modify_number(V64 v, uint32_t modifier) {
    return L::select64(L::dcmp<Compare::nan>(v, v), v, apply_modifier64(v, modifier));
}

// A predicate source of an operation: index in k[K], its negation in m[3].
template <int K>
SASSEMU_INLINE Mask predicate_source(const Op* op, const Warp& w) {
    return w.p[op->k[K]] ^ op->m[3];
}
static inline void set_predicate_source(Lower& x, int k, const typed::Pred& p) {
    x.op.k[k] = p.uniform ? Lower::uniform_predicate(p.index) : Lower::predicate(p.index);
    x.op.m[3] = p.neg ? ~0u : 0u;
}

// compare BOOL accumulated predicate; the field's order is AND, OR, XOR.
SASSEMU_INLINE Mask combine(Mask compare, Mask accumulated, unsigned bool_op) {
    switch (bool_op) {
        case 0:
            return compare & accumulated;
        case 1:
            return compare | accumulated;
        default:
            return compare ^ accumulated;
    }
}
// False for the fourth code of the field, which no instruction has.
static inline bool check_bool_op(Lower& x, typed::BoolOp b) {
    if (static_cast<unsigned>(b) <= 2) return true;
    x.reject("an invalid boolean operation");
    return false;
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
