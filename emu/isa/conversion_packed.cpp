// SPDX-License-Identifier: Apache-2.0
// Packed conversions: F2FP (pairs of f16, bf16, fp8; tf32) and F2IP. Operand a goes to the upper
// half or byte. A 16-bit pair lands below what operand c holds: d = c << 16 | pair, as the
// sequences show that compilers emit for four values.
#include "emu/isa/conversion.hpp"
#include "emu/isa/float_modes.hpp"
#include "emu/isa/small_floats.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// ---- f16 and bf16 pairs ----------------------------------------------------------------------

template <bool Bf, Source B, bool All>
const Op* pack(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b);
    write<All>(w, op->d, Bf ? L::f32x2_to_bf16x2<>(b, a) : L::f32x2_to_f16x2<>(b, a), mask);
    return next(op, w);
}
template <Source B>
const Op* pack_general(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b);
    write<false>(w, op->d, pack_any_mode(a, b, op->k[0]), mask);
    return next(op, w);
}

template <Source B>
const Op* pack_merge(const Op* op, Warp& w, uint32_t mask) {
    const V32 b = read<B>(w, op->b), c = read<Source::row>(w, op->c);
    const V32 one = pack_any_mode(L::splat(0), b, op->k[0]);
    write<false>(w, op->d, above(L::and_(one, L::splat(0xffff)), c, op->k[0]), mask);
    return next(op, w);
}

// ---- fp8 -------------------------------------------------------------------------------------

SASSEMU_RARE V32 pack8(V32 a, V32 b, V32 c, unsigned mode) {
    const V32 pair = L::or_(L::shl(encode8(a, mode), L::splat(8)), encode8(b, mode));
    return above(pair, c, mode);
}
template <Source B>
const Op* pack_8(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b),
              c = read<Source::row>(w, op->c);
    write<false>(w, op->d, pack8(a, b, c, op->k[0]), mask);
    return next(op, w);
}
template <Source B>
const Op* narrow_8(const Op* op, Warp& w, uint32_t mask) {
    const V32 b = read<B>(w, op->b), c = read<Source::row>(w, op->c);
    const V32 hi = L::f16_to_f32(L::hi16(b)), lo = L::f16_to_f32(b);
    write<false>(w, op->d, pack8(hi, lo, c, op->k[0]), mask);
    return next(op, w);
}
SASSEMU_RARE V32 unpack8(V32 b, unsigned mode) {
    const bool e4m3 = mode & mode_e4m3;
    if (mode & mode_h1) b = L::hi16(b);
    return pack_any_mode(decode8(L::shr(b, L::splat(8)), e4m3), decode8(b, e4m3),
                         mode & (mode_bf | mode_relu));
}
template <Source B>
const Op* unpack_8(const Op* op, Warp& w, uint32_t mask) {
    write<false>(w, op->d, unpack8(read<B>(w, op->b), op->k[0]), mask);
    return next(op, w);
}

// ---- tf32 and bytes --------------------------------------------------------------------------

// 10 fraction bits; the 13 others are zero.
template <Source B>
const Op* to_tf32(const Op* op, Warp& w, uint32_t mask) {
    const V32 v = read<B>(w, op->b);
    const V32 odd = L::and_(L::shr(v, L::splat(13)), L::splat(1));
    V32 r = op->k[0] & mode_rz ? v : L::add3(v, L::splat(0xfffu), odd);
    r = L::and_(r, L::splat(0xffffe000u));
    // An infinity has no fraction bits and stays.
    if (op->k[0] & mode_relu) r = L::select(L::sign_mask(v), L::splat(0), r);
    write<false>(w, op->d, L::select(L::fisnan(v), L::splat(0x7fffe000u), r), mask);
    return next(op, w);
}
// Two f32 to saturated bytes. A NaN is 0, without .NTZ the highest bit, as those of F2I; but never
// below 0 with .RELU.
SASSEMU_RARE V32 to_byte(V32 v, unsigned mode) {
    V32 r =
        with_rounding(mode & mode_rz ? static_cast<unsigned>(Rounding::rz) : 0, [&]<Rounding R>() {
            return mode & mode_signed ? L::f32_to_small<R, 8, true>(v)
                                      : L::f32_to_small<R, 8, false>(v);
        });
    const bool relu = mode & mode_relu && mode & mode_signed;
    if (relu) r = L::max_s(r, L::splat(0));
    return mode & mode_ntz || relu ? r : L::select(L::fisnan(v), L::splat(0x80u), r);
}
template <Source B>
const Op* pack_bytes(const Op* op, Warp& w, uint32_t mask) {
    const V32 a = read<Source::row>(w, op->a), b = read<B>(w, op->b),
              c = read<Source::row>(w, op->c);
    const V32 high = to_byte(a, op->k[0]), low = to_byte(b, op->k[0]);
    const V32 byte = L::splat(0xffu);
    const V32 pair = L::or_(L::shl(L::and_(high, byte), L::splat(8)), L::and_(low, byte));
    write<false>(w, op->d, above(pair, c, op->k[0]), mask);
    return next(op, w);
}

bool set_b(Lower& x, const typed::Reg& d, const typed::Src& b, unsigned mode) {
    x.op.d = x.destination_row(d.index);
    const Operand o = x.source(b);
    x.op.b = o.at;
    x.op.k[0] = static_cast<uint8_t>(mode);
    return o.scalar;
}
template <class T>
unsigned pack_mode(Lower& x, const T& i) {
    if (i.rnd != typed::PackRounding::RN && i.rnd != typed::PackRounding::RZ)
        x.reject("an invalid rounding");
    unsigned mode = i.relu ? mode_relu : 0;
    if constexpr (requires { i.satfinite; }) mode |= i.satfinite ? mode_satfinite : 0;
    if (i.rnd == typed::PackRounding::RZ) mode |= mode_rz;
    return mode;
}
template <class T>
unsigned fp8_mode(Lower& x, const T& i, typed::Fp8Format f) {
    if (i.rnd != typed::PackRounding::RN) x.gap("an fp8 conversion that does not round to nearest");
    const bool h1 = i.half == typed::HalfSelect::H1;
    return pack_mode(x, i) | (h1 ? mode_h1 : 0) | (f == typed::Fp8Format::E4M3 ? mode_e4m3 : 0);
}

}  // namespace

void lower(Lower& x, const typed::F2fpPack& i) {
    const bool bf = i.dst == typed::FloatFormat::BF16;
    const unsigned mode = pack_mode(x, i) | (bf ? mode_bf : 0);
    const bool scalar = set_b(x, i.d, i.b, mode);
    x.op.a = x.source(i.a).at;
    if (mode & ~mode_bf)
        x.handler(scalar ? pack_general<Source::scalar> : pack_general<Source::row>);
    else if (bf)
        scalar ? x.handlers(pack<true, Source::scalar, false>, pack<true, Source::scalar, true>)
               : x.handlers(pack<true, Source::row, false>, pack<true, Source::row, true>);
    else
        scalar ? x.handlers(pack<false, Source::scalar, false>, pack<false, Source::scalar, true>)
               : x.handlers(pack<false, Source::row, false>, pack<false, Source::row, true>);
}
void lower(Lower& x, const typed::F2fpMerge& i) {
    const unsigned bf = i.dst == typed::FloatFormat::BF16 ? mode_bf : 0;
    const unsigned h1 = i.half == typed::HalfSelect::H1 ? mode_h1 : 0;
    const bool scalar = set_b(x, i.d, i.b, pack_mode(x, i) | bf | h1);
    x.op.c = x.source(i.c).at;
    x.handler(scalar ? pack_merge<Source::scalar> : pack_merge<Source::row>);
}
void lower(Lower& x, const typed::F2fpPack8& i) {
    const bool scalar = set_b(x, i.d, i.b, fp8_mode(x, i, i.dst));
    x.op.a = x.source(i.a).at;
    x.op.c = x.source(i.c).at;
    x.handler(scalar ? pack_8<Source::scalar> : pack_8<Source::row>);
}
void lower(Lower& x, const typed::F2fpNarrow8& i) {
    const bool scalar = set_b(x, i.d, i.b, fp8_mode(x, i, i.dst));
    x.op.c = x.source(i.c).at;
    x.handler(scalar ? narrow_8<Source::scalar> : narrow_8<Source::row>);
}
void lower(Lower& x, const typed::F2fpUnpack8& i) {
    const unsigned bf = i.dst == typed::FloatFormat::BF16 ? mode_bf : 0;
    const bool scalar = set_b(x, i.d, i.b, fp8_mode(x, i, i.src) | bf);
    x.handler(scalar ? unpack_8<Source::scalar> : unpack_8<Source::row>);
}
void lower(Lower& x, const typed::F2fpTf32& i) {
    const bool scalar = set_b(x, i.d, i.b, pack_mode(x, i));
    x.handler(scalar ? to_tf32<Source::scalar> : to_tf32<Source::row>);
}
void lower(Lower& x, const typed::F2ip& i) {
    if (i.rnd != static_cast<unsigned>(Rounding::rn) &&
        i.rnd != static_cast<unsigned>(Rounding::rz))
        x.reject("an invalid rounding");
    if (i.dst > 1) x.reject("an invalid integer format");
    if (i.c.kind != typed::SrcKind::Reg)
        return x.gap("F2IP above an immediate or a uniform register");
    const bool h1 = i.half == typed::HalfSelect::H1;
    const bool scalar =
        set_b(x, i.d, i.b,
              (i.relu ? mode_relu : 0) | (h1 ? mode_h1 : 0) | (i.dst ? mode_signed : 0) |
                  (i.ntz ? mode_ntz : 0) | (i.rnd ? mode_rz : 0));
    x.op.a = x.source(i.a).at;
    x.op.c = x.source(i.c).at;
    x.handler(scalar ? pack_bytes<Source::scalar> : pack_bytes<Source::row>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
