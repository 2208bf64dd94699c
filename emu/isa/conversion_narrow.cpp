// SPDX-License-Identifier: Apache-2.0
// F2FP from sm_100 on: pairs of 6 and 4 bits and of scale factors, from f32, f16 and bf16 and back,
// to bf16 also times scale factors.
// With random bits halves and fp8 as well. Operand a, or the upper half of b, goes to the upper
// place of the pair; the pair lands below what operand c holds, as the sequences show that
// compilers emit for four and eight values.
#include "emu/isa/conversion.hpp"
#include "emu/isa/small_floats.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// The format that an operation is about, in k[1].
enum Format : uint8_t { to_e2m1, to_e2m3, to_e3m2, to_e4m3, to_e5m2, to_e8, s2_6 };

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

// Times powers of two to bf16. m[2], m[3]: how far the pair lies up in b and the scale factors in
// c; k[2]: how far the upper one's is from the lower one's (0: they have one). An f32 holds every
// product but those that no bf16 holds either, so that only once is rounded.
const Op* unpack_scaled(const Op* op, Warp& w, uint32_t mask) {
    const V32 b = L::shr(any(w, op->b, op->m[0]), L::splat(op->m[2])),
              c = L::shr(any(w, op->c, op->m[1]), L::splat(op->m[3]));
    const unsigned format = op->k[1];
    const auto value = [format](V32 code) {
        switch (format) {
            case to_e2m1:
                return decode(code, e2m1);
            case to_e2m3:
                return decode(code, e2m3);
            case to_e3m2:
                return decode(code, e3m2);
            case s2_6:  // 64ths, in two's complement
                return L::fmul<>(
                    L::s32_to_f32<Rounding::rn>(L::sar(L::shl(code, L::splat(24)), L::splat(24))),
                    L::splat(0x3c800000u));
            default:
                return decode8(code, format == to_e4m3);
        }
    };
    const V32 low = L::fmul<>(value(b), decode_scale(c)),
              high = L::fmul<>(value(L::shr(b, L::splat(format == to_e2m1 ? 4 : 8))),
                               decode_scale(L::shr(c, L::splat(op->k[2]))));
    write<false>(w, op->d, pack_any_mode(high, low, op->k[0]), mask);
    return next(op, w);
}

// Divided by a power of two (2^127 / 2^scale times) to 64ths, saturated; what is not a number
// becomes the largest. No product but those that become 0 is rounded before.
V32 to_fixed(V32 v, V32 scale, unsigned mode) {
    v = L::fmul<>(v, decode_scale(L::sub(L::splat(254), scale)));
    V32 r = L::f32_to_small<Rounding::rn, 8, true>(L::fmul<>(v, L::splat((127 + 6) << 23)));
    if (mode & mode_relu) r = L::max_s(r, L::splat(0));
    return L::and_(L::select(L::fisnan(v), L::splat(0x7f), r), L::splat(0xff));
}
V32 fixed_pair(V32 high, V32 low, V32 c, unsigned mode) {
    const V32 a = to_fixed(high, L::shr(c, L::splat(24)), mode),
              b = to_fixed(low, L::shr(c, L::splat(16)), mode);
    return above(L::or_(L::shl(a, L::splat(8)), b), c, 0);
}
const Op* pack_fixed(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = any(w, op->b, op->m[0]),
              c = any(w, op->c, op->m[1]);
    write<false>(w, op->d, fixed_pair(a, b, c, op->k[0]), mask);
    return next(op, w);
}
const Op* halves_to_fixed(const Op* op, Warp& w, uint32_t mask) {
    const V32 b = any(w, op->b, op->m[0]), c = any(w, op->c, op->m[1]);
    const V32 high = L::bf16_to_f32(L::hi16(b)), low = L::bf16_to_f32(b);
    write<false>(w, op->d, fixed_pair(high, low, c, op->k[0]), mask);
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

// ---- rounding by random bits (.RS): they are added to what is cut off, and what they carry goes
// into the rest (PTX ISA, "cvt"). Operand c has them. Of f16 and bf16 each half takes as many as
// are cut off of a normal number, the lowest of its half. Of less bits the two take the upper half
// of c: b the upper byte, a the lower one with its bits in reverse; c's lower half moves up for the
// next pair.

struct RandomTarget {
    unsigned bits, fraction, least, random;  // least: f32's exponent of the least normal number
    uint32_t largest, overflow, nan;
};
enum RandomFormat : uint8_t {
    random_f16,
    random_bf16,
    random_e4m3,
    random_e5m2,
    random_e2m3,
    random_e3m2,
    random_e2m1
};
constexpr RandomTarget random_targets[] = {{16, 10, 113, 13, 0x7bff, 0x7c00, 0x7fff},
                                           {16, 7, 1, 16, 0x7f7f, 0x7f80, 0x7fff},
                                           {8, 3, 121, 8, 0x7e, 0x7f, 0x7f},
                                           {8, 2, 113, 8, 0x7b, 0x7c, 0x7f},
                                           {6, 3, 127, 8, 0x1f, 0x20, 0x1f},
                                           {6, 2, 125, 8, 0x1f, 0x20, 0x1f},
                                           {4, 1, 127, 8, 7, 8, 7}};

V32 round_at_random(V32 v, V32 random, const RandomTarget& t, unsigned mode) {
    const V32 field = L::and_(L::shr(v, L::splat(23)), L::splat(0xff)), one = L::splat(1);
    const Mask subnormal = ~L::nonzero(field);
    const V32 e = L::select(subnormal, one, field), least = L::splat(t.least);
    const V32 significand = L::or_(L::and_(v, L::splat(0x7fffff)),
                                   L::select(subnormal, L::splat(0), L::splat(0x800000)));
    const Mask small = L::cmp_lt_u(e, least);
    const V32 cut = L::select(small, L::sub(least, e), L::splat(0));
    const V32 kept = L::shr(significand, L::add(cut, L::splat(23 - t.fraction - t.random)));
    const V32 binade = L::select(small, L::splat(0), L::sub(e, least));
    V32 r = L::add(L::shl(binade, L::splat(t.fraction)),
                   L::shr(L::add(kept, random), L::splat(t.random)));
    const Mask over = L::cmp_ge_u(r, L::splat(t.overflow)), nan = L::fisnan(v);
    const bool finite = mode & mode_satfinite || t.nan == t.largest;
    r = L::select(over, L::splat(finite ? t.largest : t.overflow), r);
    r = L::or_(r, L::shl(L::shr(v, L::splat(31)), L::splat(t.bits - 1)));
    if (mode & mode_relu) r = L::select(L::sign_mask(v), L::splat(0), r);
    return L::select(!finite && t.overflow == t.nan ? nan | over : nan, L::splat(t.nan), r);
}
const Op* pack_at_random(const Op* op, Warp& w, uint32_t mask) {
    const RandomTarget& t = random_targets[op->k[1]];
    const V32 a = read<Source::row>(w, op->a), b = any(w, op->b, op->m[0]),
              c = any(w, op->c, op->m[1]);
    const bool halves = t.bits == 16;
    const V32 own = L::splat((1u << t.random) - 1);
    const V32 of_a = halves ? L::shr(c, L::splat(16)) : L::shr(L::brev(c), L::splat(8)),
              of_b = halves ? c : L::shr(c, L::splat(24));
    const unsigned apart = t.bits == 6 ? 8 : t.bits;
    V32 r = L::or_(L::shl(round_at_random(a, L::and_(of_a, own), t, op->k[0]), L::splat(apart)),
                   round_at_random(b, L::and_(of_b, own), t, op->k[0]));
    if (apart == 4) r = L::or_(r, L::shl(L::and_(c, L::splat(0xff)), L::splat(8)));
    if (!halves) r = L::or_(r, L::shl(c, L::splat(16)));
    write<false>(w, op->d, r, mask);
    return next(op, w);
}
template <class T>
void set_random(Lower& x, const T& i, RandomFormat format) {
    set_b_and_c(x, i.d, i.b, i.c);
    x.op.a = x.source(i.a).at;
    x.op.k[0] = static_cast<uint8_t>((i.relu ? mode_relu : 0) | (i.satfinite ? mode_satfinite : 0));
    x.op.k[1] = format;
    x.handler(pack_at_random);
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
void lower(Lower& x, const typed::F2fpUnpackScaled& i) {
    using F = typed::ScaledFormat;
    using S = typed::ScaleSelect;
    if (i.scale > S::B3) return x.reject("an invalid half of the scale factors");
    set_b_and_c(x, i.d, i.b, i.c);
    x.op.k[0] = static_cast<uint8_t>(mode_bf | (i.relu ? mode_relu : 0) |
                                     (i.satfinite ? mode_satfinite : 0));
    x.op.k[1] = i.src == F::E5M2   ? to_e5m2
                : i.src == F::E4M3 ? to_e4m3
                : i.src == F::E2M3 ? to_e2m3
                : i.src == F::E3M2 ? to_e3m2
                : i.src == F::S2_6 ? s2_6
                                   : to_e2m1;
    x.op.m[2] = i.half == typed::HalfSelect::H1 ? 16 : 8 * static_cast<uint32_t>(i.byte);
    const auto scale = static_cast<uint32_t>(i.scale);
    const bool one = i.scale >= S::B0;  // for both values, as PTX's .scaled::n1::ue8m0 has it
    x.op.m[3] = one ? 8 * (scale - static_cast<uint32_t>(S::B0)) : 16 * scale;
    x.op.k[2] = one ? 0 : 8;
    x.handler(unpack_scaled);
}
void lower(Lower& x, const typed::F2fpToFixed& i) {
    set_b_and_c(x, i.d, i.b, i.c);
    x.op.a = x.source(i.a).at;
    x.op.k[0] = i.relu ? mode_relu : 0;
    x.handler(pack_fixed);
}
void lower(Lower& x, const typed::F2fpHalfToFixed& i) {
    set_b_and_c(x, i.d, i.b, i.c);
    x.op.k[0] = i.relu ? mode_relu : 0;
    x.handler(halves_to_fixed);
}
void lower(Lower& x, const typed::F2fpScaled&) {
    x.reject("a scaled conversion to something else than bf16");
}

void lower(Lower& x, const typed::F2fpPackStochastic& i) {
    set_random(x, i, i.dst == typed::FloatFormat::BF16 ? random_bf16 : random_f16);
}
void lower(Lower& x, const typed::F2fpPack8Stochastic& i) {
    set_random(x, i, i.dst == typed::Fp8Format::E4M3 ? random_e4m3 : random_e5m2);
}
void lower(Lower& x, const typed::F2fpPackNarrowStochastic& i) {
    using F = typed::NarrowFormat;
    set_random(x, i, i.dst == F::E2M3 ? random_e2m3 : i.dst == F::E3M2 ? random_e3m2 : random_e2m1);
}
void lower(Lower& x, const typed::F2fpMergeStochastic&) {
    x.gap("rounding by random bits of one value beside others (.MERGE_C.RS), which no PTX becomes");
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
