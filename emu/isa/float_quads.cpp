// SPDX-License-Identifier: Apache-2.0
// QADD4, QMUL4, QFMA4: sums and products of four values of 8, 6 or 4 bits, to four of 8 bits (PTX
// ISA 9.4, "add", "sub", "mul", "fma" with .e4m3x4 and .e5m2x4). Each element is computed exactly
// and rounded once; what overflows and what is no number become as F2FP makes them.
#include "emu/isa/float_quads.hpp"

#include "emu/isa/small_floats.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using Format = typed::QuadFormat;
using Lanes = typed::QuadLanes;

// k[slot]: format and lanes of operand a, b or c; m[slot]: its sign; m[3]: a bit per slot, it is a
// scalar; e: the mode.
enum Slot : unsigned { slot_a, slot_b, slot_c };

V32 decode_quarter(V32 code, Format f) {
    switch (f) {
        case Format::E5M2x4:
            return decode8(code, false);
        case Format::E4M3x4:
            return decode8(code, true);
        case Format::E3M2x4:
            return decode(code, e3m2);
        case Format::E2M3x4:
            return decode(code, e2m3);
        case Format::E2M1x4:
            return decode(code, e2m1);
        default:
            return decode_scale(code);
    }
}
// How far element i lies up in its operand.
unsigned shift_of(Lanes lanes, unsigned i) {
    switch (lanes) {
        case Lanes::B3210:
            return 8 * i;
        case Lanes::N7654:
            return 4 * i + 16;
        case Lanes::N3210:
            return 4 * i;
        case Lanes::N6420:
            return 8 * i;
        default:  // one byte for all
            return 8 * (static_cast<unsigned>(Lanes::B0) - static_cast<unsigned>(lanes));
    }
}

struct Operands {
    V32 word[3];
    const Op& op;
    Operands(const Op& o, const Warp& w) : op(o) {
        const uint32_t at[3] = {o.a, o.b, o.c};
        for (unsigned s = 0; s < 3; ++s)
            word[s] =
                o.m[3] >> s & 1 ? read<Source::scalar>(w, at[s]) : read<Source::row>(w, at[s]);
    }
    V32 operator()(Slot s, unsigned i) const {
        const auto lanes = static_cast<Lanes>(op.k[s] >> 4);
        const V32 v = decode_quarter(L::shr(word[s], L::splat(shift_of(lanes, i))),
                                     static_cast<Format>(op.k[s] & 15));
        return apply_modifier(v, op.m[s]);
    }
};

// Rounded to odd: what is rounded once more, to fewer bits, is as if it had been exact before.
template <class F>
V32 to_odd(F f) {
    const V32 low = f.template operator()<Rounding::rm>(),
              high = f.template operator()<Rounding::rp>(),
              cut = f.template operator()<Rounding::rz>();
    return L::or_(cut, L::select(L::cmp_eq(low, high), L::splat(0), L::splat(1)));
}

template <class F>
const Op* quad(const Op* op, Warp& w, uint32_t mask) {
    const Operands operands(*op, w);
    V32 r = L::splat(0);
    for (unsigned i = 0; i < 4; ++i)
        r = L::or_(
            r,
            L::shl(encode8(to_odd([&]<Rounding R>() { return F::template apply<R>(operands, i); }),
                           op->e),
                   L::splat(8 * i)));
    write<false>(w, op->d, r, mask);
    return next(op, w);
}
struct Add {
    template <Rounding R>
    static V32 apply(const Operands& of, unsigned i) {
        return L::fadd<R>(of(slot_a, i), of(slot_c, i));
    }
};
struct Mul {
    template <Rounding R>
    static V32 apply(const Operands& of, unsigned i) {
        return L::fmul<R>(of(slot_a, i), of(slot_b, i));
    }
};
struct Fma {
    template <Rounding R>
    static V32 apply(const Operands& of, unsigned i) {
        return L::ffma<R>(of(slot_a, i), of(slot_b, i), of(slot_c, i));
    }
};

void set(Lower& x, Slot s, const typed::Src& source, Format format, Lanes lanes) {
    const Operand o = x.source(source);
    uint32_t* const at[3] = {&x.op.a, &x.op.b, &x.op.c};
    *at[s] = o.at;
    x.op.m[s] = o.modifier;
    x.op.m[3] |= static_cast<uint32_t>(o.scalar) << s;
    x.op.k[s] =
        static_cast<uint8_t>(static_cast<unsigned>(format) | static_cast<unsigned>(lanes) << 4);
    const bool nibbles = lanes >= Lanes::N7654;
    if (nibbles && format != Format::E2M1x4) x.gap("nibbles of values that have more bits");
}
template <class T>
void set_result(Lower& x, const T& i) {
    x.op.d = x.destination_row(i.d.index);
    x.op.e = (i.satfinite ? mode_satfinite : 0) | (i.to == Format::E4M3x4 ? mode_e4m3 : 0);
    if (i.to != Format::E4M3x4 && i.to != Format::E5M2x4) x.reject("an invalid format");
}

}  // namespace

void lower(Lower& x, const typed::Qadd4& i) {
    set_result(x, i);
    set(x, slot_a, i.a, i.from, i.lanes_a);
    set(x, slot_c, i.c, i.to, i.lanes_c);
    x.handler(quad<Add>);
}
void lower(Lower& x, const typed::Qmul4& i) {
    set_result(x, i);
    set(x, slot_a, i.a, i.from, i.lanes_a);
    set(x, slot_b, i.b, i.from_b, i.lanes_b);
    x.handler(quad<Mul>);
}
void lower(Lower& x, const typed::Qfma4& i) {
    set_result(x, i);
    set(x, slot_a, i.a, i.from, i.lanes_a);
    set(x, slot_b, i.b, i.from_b, i.lanes_b);
    set(x, slot_c, i.c, i.to, i.lanes_c);
    x.handler(quad<Fma>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
