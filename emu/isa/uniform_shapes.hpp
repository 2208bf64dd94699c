// SPDX-License-Identifier: Apache-2.0
// Handler shapes of the uniform datapath: scalar sources, scalar results. No instruction is here.
#pragma once

#include "emu/isa/integer_shapes.hpp"

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

// F: `static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, const Op&, Warp&)`.
template <class F>
const Op* scalar3(const Op* op, Warp& w, uint32_t) {
    write_uniform(w, op->d,
                  F::apply(w.scalar32(op->a), w.scalar32(op->b), w.scalar32(op->c), *op, w));
    return op + 1;
}
// An operand that an instruction lacks reads a row of zeros: Base::rows is a scalar base as well.
inline void set_scalars(Lower& x, const typed::Src& a, const typed::Src& b = {},
                        const typed::Src& c = {}) {
    x.op.a = x.source(a).at;
    x.op.b = x.source(b).at;
    x.op.c = x.source(c).at;
}
template <class F>
void emit_scalar(Lower& x, const typed::Reg& d, const typed::Src& a, const typed::Src& b = {},
                 const typed::Src& c = {}) {
    x.op.d = x.uniform_destination(d.index);
    set_scalars(x, a, b, c);
    x.handler(scalar3<F>);
}
inline bool flipped(const typed::Src& s) { return s.neg || s.inv; }
inline uint32_t flip_mask(const typed::Src& s) { return flipped(s) ? ~0u : 0; }

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
