// SPDX-License-Identifier: Apache-2.0
// F2FP from sm_100 on: pairs of 6 and 4 bits and of scale factors, from f32, f16 and bf16 and back.
// Operand a, or the upper half of b, goes to the upper place of the pair; the pair lands below what
// operand c holds, as the sequences show that compilers emit for four and eight values.
#include "emu/isa/conversion.hpp"
#include "emu/isa/small_floats.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// The format that an operation is about, in k[1].
enum Format : uint8_t { to_e2m1, to_e2m3, to_e3m2, to_e4m3, to_e5m2, to_e8 };

// k[2]: 1 round up (E8), 2 the source is bf16, 4 (of one handler) b is a scalar.
constexpr unsigned rounds_up = 1, from_bf16 = 2;

V32 encode_as(V32 v, const Op& op) {
    const unsigned mode = op.k[0];
    switch (op.k[1]) {
        case to_e2m1:
            return encode(v, e2m1, mode & mode_relu);
        case to_e2m3:
            return encode(v, e2m3, mode & mode_relu);
        case to_e3m2:
            return encode(v, e3m2, mode & mode_relu);
        case to_e8:
            return encode_scale(v, op.k[2] & rounds_up, mode & mode_satfinite);
        default:
            return encode8(v, mode | (op.k[1] == to_e4m3 ? mode_e4m3 : 0));
    }
}
SASSEMU_RARE V32 pair_above(V32 high, V32 low, V32 c, const Op& op) {
    const V32 a = encode_as(high, op), b = encode_as(low, op);
    if (op.k[1] == to_e2m1)
        return L::or_(L::or_(L::shl(a, L::splat(4)), b), L::shl(c, L::splat(8)));
    return above(L::or_(L::shl(a, L::splat(8)), b), c, op.k[0]);
}
// m[0], m[1]: b, c are scalars.
V32 any(const Warp& w, uint32_t at, uint32_t scalar) {
    return scalar ? read<Source::scalar>(w, at) : read<Source::row>(w, at);
}
const Op* pack_narrow(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = any(w, op->b, op->m[0]),
              c = any(w, op->c, op->m[1]);
    write<false>(w, op->d, pair_above(a, b, c, *op), mask);
    return next(op, w);
}
const Op* narrow_halves(const Op* op, Warp& w, uint32_t mask) {
    const V32 b = any(w, op->b, op->m[0]), c = any(w, op->c, op->m[1]);
    const bool bf = op->k[2] & from_bf16;
    const V32 high = bf ? L::bf16_to_f32(L::hi16(b)) : L::f16_to_f32(L::hi16(b)),
              low = bf ? L::bf16_to_f32(b) : L::f16_to_f32(b);
    write<false>(w, op->d, pair_above(high, low, c, *op), mask);
    return next(op, w);
}

// m[1]: how far the pair lies up in b.
const Op* unpack_narrow(const Op* op, Warp& w, uint32_t mask) {
    const V32 b = L::shr(any(w, op->b, op->m[0]), L::splat(op->m[1]));
    V32 r;
    if (op->k[1] == to_e8) {
        r = L::f32x2_to_bf16x2<>(decode_scale(b), decode_scale(L::shr(b, L::splat(8))));
    } else {
        const SmallFormat& f = op->k[1] == to_e2m1 ? e2m1 : op->k[1] == to_e2m3 ? e2m3 : e3m2;
        const V32 above_it = L::shr(b, L::splat(f.bits == 4 ? 4 : 8));
        r = L::f32x2_to_f16x2<>(decode(b, f), decode(above_it, f));
        if (op->k[0] & mode_relu) r = L::hmax2<true>(r, L::splat(0));
    }
    write<false>(w, op->d, r, mask);
    return next(op, w);
}

void set_b_and_c(Lower& x, const typed::Reg& d, const typed::Src& b, const typed::Src& c) {
    const Operand of_b = x.source(b), of_c = x.source(c);
    x.op.d = x.destination_row(d.index);
    x.op.b = of_b.at;
    x.op.c = of_c.at;
    x.op.m[0] = of_b.scalar;
    x.op.m[1] = of_c.scalar;
}
template <class T>
void set_format(Lower& x, const T& i, Format format) {
    using R = typed::PackRounding;
    x.op.k[1] = format;
    unsigned mode = 0;
    if constexpr (requires { i.relu; }) mode |= i.relu ? mode_relu : 0;
    if constexpr (requires { i.satfinite; }) mode |= i.satfinite ? mode_satfinite : 0;
    if constexpr (requires { i.half; }) mode |= i.half == typed::HalfSelect::H1 ? mode_h1 : 0;
    x.op.k[0] = static_cast<uint8_t>(mode);
    if (format == to_e8) {
        if (static_cast<unsigned>(i.rnd) != 2 && i.rnd != R::RZ)
            return x.reject("a scale factor is rounded up or towards zero");
        if (mode & mode_relu) return x.reject("a scale factor has no sign for .RELU");
        x.op.k[2] |= i.rnd == R::RZ ? 0 : rounds_up;
    } else if (i.rnd != R::RN) {
        x.reject("6 and 4 bits are rounded to nearest");
    }
}
Format format_of(Lower& x, typed::NarrowFormat f) {
    using F = typed::NarrowFormat;
    switch (f) {
        case F::E2M3:
            return to_e2m3;
        case F::E3M2:
            return to_e3m2;
        case F::E5M2:
            return to_e5m2;
        case F::E4M3:
            return to_e4m3;
        case F::E8:
            return to_e8;
        default:
            x.reject("an invalid format");
            return to_e2m1;
    }
}
void set_unpack(Lower& x, const typed::Reg& d, const typed::Src& b, Format format, uint32_t up) {
    const Operand of_b = x.source(b);
    x.op.d = x.destination_row(d.index);
    x.op.b = of_b.at;
    x.op.m[0] = of_b.scalar;
    x.op.m[1] = up;
    x.op.k[1] = format;
    x.handler(unpack_narrow);
}

}  // namespace

void lower(Lower& x, const typed::F2fpPackNarrow& i) {
    set_b_and_c(x, i.d, i.b, i.c);
    x.op.a = x.source(i.a).at;
    set_format(x, i, format_of(x, i.dst));
    x.handler(pack_narrow);
}
void lower(Lower& x, const typed::F2fpPackFp4& i) {
    set_b_and_c(x, i.d, i.b, i.c);
    x.op.a = x.source(i.a).at;
    set_format(x, i, to_e2m1);
    x.handler(pack_narrow);
}
void lower(Lower& x, const typed::F2fpNarrowHalf& i) {
    set_b_and_c(x, i.d, i.b, i.c);
    x.op.k[2] = i.src ? from_bf16 : 0;
    set_format(x, i, format_of(x, i.dst));
    x.handler(narrow_halves);
}
void lower(Lower& x, const typed::F2fpNarrowHalfFp4& i) {
    set_b_and_c(x, i.d, i.b, i.c);
    x.op.k[2] = i.src ? from_bf16 : 0;
    set_format(x, i, to_e2m1);
    x.handler(narrow_halves);
}
void lower(Lower& x, const typed::F2fpUnpackNarrow& i) {
    set_unpack(x, i.d, i.b, i.src ? to_e3m2 : to_e2m3, i.half == typed::HalfSelect::H1 ? 16 : 0);
    x.op.k[0] = i.relu ? mode_relu : 0;
}
void lower(Lower& x, const typed::F2fpUnpackFp4& i) {
    set_unpack(x, i.d, i.b, to_e2m1, 8 * static_cast<uint32_t>(i.byte));
    x.op.k[0] = i.relu ? mode_relu : 0;
}
void lower(Lower& x, const typed::F2fpUnpackScale& i) {
    set_unpack(x, i.d, i.b, to_e8, i.half == typed::HalfSelect::H1 ? 16 : 0);
}

// Which of the random bits an element takes is published in figures that were not at hand.
void lower(Lower& x, const typed::F2fpPackStochastic&) { x.gap("rounding by random bits (.RS)"); }
void lower(Lower& x, const typed::F2fpPack8Stochastic&) { x.gap("rounding by random bits (.RS)"); }
void lower(Lower& x, const typed::F2fpPackNarrowStochastic&) {
    x.gap("rounding by random bits (.RS)");
}
void lower(Lower& x, const typed::F2fpMergeStochastic&) { x.gap("rounding by random bits (.RS)"); }

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
