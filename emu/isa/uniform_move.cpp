// SPDX-License-Identifier: Apache-2.0
// Loads of constants into uniform registers, and what passes from the lanes to the uniform
// datapath: votes, R2UR, S2UR.
#include "emu/isa/uniform.hpp"

#include "emu/isa/system.hpp"
#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// ---- ULDC --------------------------------------------------------------------------------------

using Size = typed::UldcSize;
template <Size S>
SASSEMU_INLINE void load(Warp& w, uint32_t d, const std::byte* at) {
    uint64_t v64 = 0;
    uint32_t v = 0;
    std::memcpy(S == Size::B64 ? static_cast<void*>(&v64) : &v, at,
                S == Size::B64                     ? 8
                : S == Size::B32                   ? 4
                : S == Size::U16 || S == Size::S16 ? 2
                                                   : 1);
    if (S == Size::S8) v = static_cast<uint32_t>(static_cast<int8_t>(v));
    if (S == Size::S16) v = static_cast<uint32_t>(static_cast<int16_t>(v));
    if (S == Size::B64)
        write_uniform64(w, d, v64);
    else
        write_uniform(w, d, v);
}
template <Size S>
const Op* load_constant(const Op* op, Warp& w, uint32_t) {
    load<S>(w, op->d, w.scalar(op->a));
    return next(op, w);
}
// c[bank a][uniform register b + m[0]], m[1] bytes; past the end of the bank it reads zero.
template <Size S>
const Op* load_indexed(const Op* op, Warp& w, uint32_t) {
    static constexpr std::byte zeros[8] = {};
    const uint32_t at = w.scalar32(op->b) + op->m[0];
    load<S>(w, op->d, inside_bank(w, op->a, at, op->m[1]) ? w.scalar(op->a) + at : zeros);
    return next(op, w);
}
template <Size S>
void set_load(Lower& x, bool indexed) {
    x.handler(indexed ? load_indexed<S> : load_constant<S>);
}

// ---- from the lanes ----------------------------------------------------------------------------

// d: the lanes that execute and for which predicate code e holds; k[0]: all, any or equal (k[1]).
const Op* vote(const Op* op, Warp& w, uint32_t mask) {
    const Mask set = predicate_value(w, op->e) & mask;
    write_uniform(w, op->d, set);
    if (op->k[0] != 7) {
        const auto mode = static_cast<typed::VoteMode>(op->k[1]);
        const bool all = set == mask, any = set != 0;
        write_uniform_predicate(w, op->k[0],
                                mode == typed::VoteMode::ALL   ? all
                                : mode == typed::VoteMode::ANY ? any
                                                               : all || !any);
    }
    return next(op, w);
}
// The value of the lowest executing lane. The predicate marks the lanes whose own value is another
// one: compilers branch to a loop where it is set (inferred from such code). With .OR (k[1]) it
// stays set where it was (measured on an H200).
const Op* to_uniform(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t v = w.row(op->a)[static_cast<unsigned>(std::countr_zero(mask))];
    if (op->k[0] != 7) {
        const L::Mask other = L::cmp_ne(L::load(w.row(op->a)), L::splat(v));
        write_predicate(w, op->k[0], other | (op->k[1] ? w.p[op->k[0]] : 0), mask);
    }
    write_uniform(w, op->d, v);
    return next(op, w);
}
// m[0]: the special register; k[1]: a clock.
const Op* special(const Op* op, Warp& w, uint32_t mask) {
    if (op->k[1]) look_at_clock(w);
    write_uniform(w, op->d,
                  special_register(w, static_cast<typed::SpecialRegister>(op->m[0]),
                                   static_cast<unsigned>(std::countr_zero(mask))));
    return next(op, w);
}

}  // namespace

void lower(Lower& x, const typed::Uldc& i) {
    if (i.addr.kind != typed::SrcKind::Const) return x.gap("ULDC from a bindless bank");
    static constexpr uint8_t sizes[6] = {1, 1, 2, 2, 4, 8};
    const auto size = static_cast<uint8_t>(i.size);
    if (size > 5) return x.reject("ULDC with an invalid size");
    const uint32_t bytes = sizes[size];
    x.op.d = x.uniform_destination(i.d.index, bytes == 8 ? 2 : 1);
    if (bytes == 8) check_even_result(x, i.d);
    const bool indexed = i.addr.has_base;
    if (indexed) {
        x.op.a = x.constant(i.addr.bank, 0, 0);
        if (x.op.a >> 28 == static_cast<uint32_t>(Base::immediate))
            return x.gap("ULDC with a register from a bank that kernels do not have");
        x.op.b = x.uniform_scalar(i.addr.index);
        x.op.m[0] = static_cast<uint32_t>(i.addr.offset);
        x.op.m[1] = bytes;
    } else {
        x.op.a = x.constant(i.addr.bank, static_cast<uint32_t>(i.addr.offset) & 0xffff, bytes);
    }
    switch (i.size) {
        case Size::U8:
            return set_load<Size::U8>(x, indexed);
        case Size::S8:
            return set_load<Size::S8>(x, indexed);
        case Size::U16:
            return set_load<Size::U16>(x, indexed);
        case Size::S16:
            return set_load<Size::S16>(x, indexed);
        case Size::B32:
            return set_load<Size::B32>(x, indexed);
        case Size::B64:
            return set_load<Size::B64>(x, indexed);
    }
}

void lower(Lower& x, const typed::Voteu& i) {
    x.op.d = x.uniform_destination(i.d.index);
    x.op.e = predicate_code(i.pa);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = static_cast<uint8_t>(i.mode);
    if (x.op.k[1] > 2) return x.reject("VOTEU with an invalid mode");
    x.handler(vote);
}
void lower(Lower& x, const typed::R2ur& i) {
    // BROADCAST (a value that an elected lane has) and FILL (one that MOV.SPILL has put there) are
    // taken to be the same.
    x.op.d = x.uniform_destination(i.d.index);
    x.op.a = x.source(i.a).at;
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.or_;
    x.handler(to_uniform);
}
void lower(Lower& x, const typed::S2ur& i) {
    x.op.d = x.uniform_destination(i.d.index);
    x.op.m[0] = static_cast<uint32_t>(i.a);
    x.op.k[1] = is_clock(i.a);
    x.handler(special);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
