// SPDX-License-Identifier: Apache-2.0
// Handler shapes of the uniform datapath: scalar sources, scalar results; and what a template that
// serves both datapaths is written with. No instruction is here.
#pragma once

#include "emu/isa/integer_shapes.hpp"
#include "emu/isa/one_lane.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

SASSEMU_INLINE void write_uniform(Warp& w, uint32_t at, uint32_t v) { w.uniform[at / 4] = v; }
SASSEMU_INLINE void write_uniform64(Warp& w, uint32_t at, uint64_t v) {
    w.uniform[at / 4] = static_cast<uint32_t>(v);
    w.uniform[at / 4 + 1] = static_cast<uint32_t>(v >> 32);
}
// `index` as it stands in the instruction; UPT stays true.
SASSEMU_INLINE void write_uniform_predicate(Warp& w, unsigned index, bool v) {
    w.p[8 + index] = v ? ~0u : 0;
    w.p[15] = ~0u;
}
// Whether `bytes` bytes at `at` lie in the constant bank whose start is the scalar operand `bank`.
SASSEMU_INLINE bool inside_bank(const Warp& w, uint32_t bank, uint32_t at, uint32_t bytes) {
    return uint64_t{at} + bytes <= w.cta->launch->bank_bytes[bank >> 28];
}
SASSEMU_INLINE bool uniform_truth(const Warp& w, uint32_t code) {
    return predicate_value(w, code) & 1;
}

// ---- both datapaths --------------------------------------------------------------------------
//
// V is V32 for the lanes and uint32_t for the warp; a 64-bit value V64 or uint64_t.

template <class V>
constexpr bool in_lanes = std::is_same_v<V, V32> || std::is_same_v<V, V64>;
template <class V>
SASSEMU_INLINE V fill(uint32_t v) {
    if constexpr (in_lanes<V>)
        return L::splat(v);
    else
        return v;
}
template <class V>
SASSEMU_INLINE V fill64(uint64_t v) {
    if constexpr (in_lanes<V>)
        return L::splat64(v);
    else
        return v;
}
template <class V>
SASSEMU_INLINE void put_predicate(Warp& w, unsigned index, Mask v, Mask lanes) {
    if constexpr (in_lanes<V>)
        write_predicate(w, index, v, lanes);
    else
        write_uniform_predicate(w, index, v & 1);
}
// `scalar`: of the lanes' operand.
template <class V>
SASSEMU_INLINE V get(const Warp& w, uint32_t at, bool scalar) {
    if constexpr (in_lanes<V>)
        return read_any(w, at, scalar);
    else
        return w.scalar32(at);
}
template <class V>
SASSEMU_INLINE V get64(const Warp& w, uint32_t at, bool scalar) {
    if constexpr (in_lanes<V>)
        return scalar ? read64<Source::scalar>(w, at) : read64<Source::row>(w, at);
    else
        return w.scalar64(at);
}
SASSEMU_INLINE void put(Warp& w, uint32_t at, V32 v, Mask lanes) { write<false>(w, at, v, lanes); }
SASSEMU_INLINE void put(Warp& w, uint32_t at, uint32_t v, Mask) { write_uniform(w, at, v); }
SASSEMU_INLINE void put64(Warp& w, uint32_t at, V64 v, Mask lanes) {
    write64<false>(w, at, v, lanes);
}
SASSEMU_INLINE void put64(Warp& w, uint32_t at, uint64_t v, Mask) { write_uniform64(w, at, v); }

inline bool flipped(const typed::Src& s) { return s.neg || s.inv; }
inline uint32_t flip_mask(const typed::Src& s) { return flipped(s) ? ~0u : 0; }
inline uint32_t destination(Lower& x, const typed::Reg& d, unsigned words = 1) {
    return d.uniform ? x.uniform_destination(d.index, words) : x.destination_row(d.index, words);
}

// ---- shapes ----------------------------------------------------------------------------------

// F as in isa.hpp or as in any3, on uint32_t.
template <class F>
const Op* uniform(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t a = w.scalar32(op->a), b = w.scalar32(op->b), c = w.scalar32(op->c);
    if constexpr (requires { F::apply(a, b, c, *op, w, mask); })
        write_uniform(w, op->d, F::apply(a, b, c, *op, w, mask));
    else if constexpr (requires { F::apply(a, b, c, *op); })
        write_uniform(w, op->d, F::apply(a, b, c, *op));
    else if constexpr (requires { F::apply(a, b, *op); })
        write_uniform(w, op->d, F::apply(a, b, *op));
    else
        write_uniform(w, op->d, F::apply(b, *op));
    return next(op, w);
}
// An operand that an instruction lacks reads a row of zeros: Base::rows is a scalar base as well.
inline void set_scalars(Lower& x, const typed::Src& a, const typed::Src& b = {},
                        const typed::Src& c = {}) {
    x.op.a = x.source(a).at;
    x.op.b = x.source(b).at;
    x.op.c = x.source(c).at;
}
template <class F>
void emit_uniform(Lower& x, const typed::Reg& d, const typed::Src& a, const typed::Src& b,
                  const typed::Src& c = {}) {
    x.op.d = x.uniform_destination(d.index);
    set_scalars(x, a, b, c);
    x.handler(uniform<F>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
