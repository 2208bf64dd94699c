// SPDX-License-Identifier: Apache-2.0
// fp32 on the uniform datapath of sm_120: the same operations as in vector registers (assumed:
// ARCHITECTURES.md, D4), in one lane. Conversions are beside their namesakes in conversion.cpp.
#include "emu/isa/uniform_float.hpp"

#include "emu/isa/float_arithmetic.hpp"
#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// m[0], m[1], m[2]: modifiers of a, b and c.
V32 operand(const Warp& w, uint32_t at, uint32_t modifier) {
    return apply_modifier(L::splat(w.scalar32(at)), modifier);
}
void set_sources(Lower& x, const typed::Src& a, const typed::Src& b, const typed::Src& c = {}) {
    const Operand sources[3] = {x.source(a), x.source(b), x.source(c)};
    x.op.a = sources[0].at;
    x.op.b = sources[1].at;
    x.op.c = sources[2].at;
    for (unsigned k = 0; k < 3; ++k) x.op.m[k] = sources[k].modifier;
}

template <class F>
const Op* two(const Op* op, Warp& w, uint32_t) {
    write_uniform(
        w, op->d,
        L::lane(F::apply(operand(w, op->a, op->m[0]), operand(w, op->b, op->m[1]), *op), 0));
    return next(op, w);
}
const Op* multiply_add(const Op* op, Warp& w, uint32_t) {
    const V32 r = FmaAnyMode::apply(operand(w, op->a, op->m[0]), operand(w, op->b, op->m[1]),
                                    operand(w, op->c, op->m[2]), *op);
    write_uniform(w, op->d, L::lane(r, 0));
    return next(op, w);
}
// e: the uniform predicate of .IS_A (UPT when there is none).
const Op* extreme(const Op* op, Warp& w, uint32_t) {
    const MinMaxResult r = min_max(L::splat(w.scalar32(op->a)), L::splat(w.scalar32(op->b)),
                                   predicate_source<2>(op, w), *op);
    write_uniform(w, op->d, L::lane(r.value, 0));
    if (op->e != 7) write_uniform_predicate(w, op->e, r.is_a & 1);
    return next(op, w);
}
template <class T>
void lower_extreme(Lower& x, const T& i) {
    x.op.d = x.uniform_destination(i.d.index);
    set_sources(x, i.a, i.b);
    x.op.k[0] = minmax_mode(i);
    set_predicate_source(x, 2, i.pa);
    x.handler(extreme);
}
// k[0]: .FTZ.
const Op* choose(const Op* op, Warp& w, uint32_t) {
    const V32 r =
        predicate_source<2>(op, w) & 1 ? operand(w, op->a, op->m[0]) : operand(w, op->b, op->m[1]);
    write_uniform(w, op->d, L::lane(op->k[0] ? L::ftz(r) : r, 0));
    return next(op, w);
}

// ---- comparisons: k[0] the boolean operation, k[1] the comparison and, in bit 4, .FTZ

bool compare(const Op* op, const Warp& w) {
    V32 a = operand(w, op->a, op->m[0]), b = operand(w, op->b, op->m[1]);
    if (op->k[1] & 16) {
        a = L::ftz(a);
        b = L::ftz(b);
    }
    const Mask less = L::fcmp<Compare::lt>(a, b), equal = L::fcmp<Compare::eq>(a, b),
               greater = L::fcmp<Compare::gt>(a, b);
    const Mask unordered = L::fcmp<Compare::nan>(a, b);
    // A bit of the comparison for each of the four outcomes.
    const unsigned wanted = op->k[1] & 15;
    return ((wanted & 1 ? less : 0) | (wanted & 2 ? equal : 0) | (wanted & 4 ? greater : 0) |
            (wanted & 8 ? unordered : 0)) &
           1;
}
// UFSETP: d and e are the destination predicates, the second gets the complement of the comparison.
const Op* set_predicates(const Op* op, Warp& w, uint32_t) {
    const Mask r = compare(op, w), p = predicate_source<2>(op, w) & 1;
    write_uniform_predicate(w, op->d, combine(r, p, op->k[0]) & 1);
    if (op->e != 7) write_uniform_predicate(w, op->e, combine(~r, p, op->k[0]) & 1);
    return next(op, w);
}
// UFSET.BF: 1.0 or 0.
const Op* set_value(const Op* op, Warp& w, uint32_t) {
    write_uniform(
        w, op->d,
        combine(compare(op, w), predicate_source<2>(op, w) & 1, op->k[0]) & 1 ? 0x3f800000u : 0);
    return next(op, w);
}
template <class T>
void lower_comparison(Lower& x, const T& i, Handler handler) {
    if (!check_bool_op(x, i.bool_)) return;
    set_sources(x, i.a, i.b);
    x.op.k[0] = static_cast<uint8_t>(i.bool_);
    x.op.k[1] = static_cast<uint8_t>(static_cast<unsigned>(i.cmp) | (i.ftz ? 16u : 0u));
    set_predicate_source(x, 2, i.pa);
    x.handler(handler);
}

}  // namespace

void lower(Lower& x, const typed::Ufadd& i) {
    x.op.d = x.uniform_destination(i.d.index);
    set_sources(x, i.a, i.b);
    x.op.k[0] = static_cast<uint8_t>(mode_of(i.rnd, i.ftz, false, i.sat));
    x.handler(two<AddAnyMode>);
}
void lower(Lower& x, const typed::Ufmul& i) {
    check_flush_mode(x, i.fmz);
    if (static_cast<unsigned>(i.scale) == 0) x.reject("an invalid scale");
    x.op.d = x.uniform_destination(i.d.index);
    set_sources(x, i.a, i.b);
    x.op.k[0] = static_cast<uint8_t>(mode_of(i.rnd, flushes(i.fmz), zeroes(i.fmz), i.sat));
    x.op.k[1] = static_cast<uint8_t>(i.scale);
    x.handler(two<MulAnyMode>);
}
void lower(Lower& x, const typed::Uffma& i) {
    check_flush_mode(x, i.fmz);
    x.op.d = x.uniform_destination(i.d.index);
    set_sources(x, i.a, i.b, i.c);
    x.op.k[0] = static_cast<uint8_t>(mode_of(i.rnd, flushes(i.fmz), zeroes(i.fmz), i.sat));
    x.handler(multiply_add);
}
void lower(Lower& x, const typed::Ufmnmx& i) {
    x.op.e = 7;
    lower_extreme(x, i);
}
void lower(Lower& x, const typed::UfmnmxIsA& i) {
    x.op.e = i.pd.index;
    lower_extreme(x, i);
}
void lower(Lower& x, const typed::Ufsel& i) {
    x.op.d = x.uniform_destination(i.d.index);
    set_sources(x, i.a, i.b);
    x.op.k[0] = i.ftz;
    set_predicate_source(x, 2, i.pa);
    x.handler(choose);
}
void lower(Lower& x, const typed::Ufset& i) {
    x.op.d = x.uniform_destination(i.d.index);
    lower_comparison(x, i, set_value);
}
void lower(Lower& x, const typed::Ufsetp& i) {
    x.op.d = i.pd.index;
    x.op.e = i.pd2.index;
    lower_comparison(x, i, set_predicates);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
