// SPDX-License-Identifier: Apache-2.0
// Conversions between single numbers of two formats: F2F, F2I, I2F, I2FP, FRND, and U*. Every
// source becomes an f32 or f64 value (exactly), or a 32- or 64-bit integer; results are rounded
// once from there. Packed conversions are in conversion_packed.cpp.
#include "emu/isa/conversion.hpp"

#include "emu/isa/float_modes.hpp"
#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using typed::FloatFormat;
using typed::IntFormat;

// k[0]: rounding in bits 1..0, .FTZ 4, .NTZ 8, high half 16. k[1]: source format and, in bits 7..4,
// the byte. k[2]: destination format.
constexpr unsigned mode_ftz = 4, mode_ntz = 8, mode_h1 = 16;

bool is_wide(FloatFormat f) { return f == FloatFormat::F64; }
bool is_wide(IntFormat f) { return f == IntFormat::U64 || f == IntFormat::S64; }

template <class T>
uint32_t destination(Lower& x, const typed::Reg& r, T format) {
    if (!is_wide(format)) return x.destination_row(r.index);
    if (r.index != SASSDEC_RZ && r.index % 2) x.reject("a 64-bit result in an odd register");
    return x.destination_row(r.index, 2);
}
template <class T>
Operand source(Lower& x, const typed::Src& s, T format) {
    if (!is_wide(format)) return x.source(s);
    const bool odd_register = s.kind == typed::SrcKind::Reg && s.index != SASSDEC_RZ && s.index % 2;
    const bool odd_uniform =
        s.kind == typed::SrcKind::UReg && s.index != SASSDEC_URZ && s.index % 2;
    if (odd_register || odd_uniform || (s.kind == typed::SrcKind::Const && s.offset % 8))
        x.reject("a misaligned 64-bit operand");
    return x.source(s, 2);
}

// .FTZ flushes sources and results in their own format (measured on an H200).
SASSEMU_INLINE V32 flush_half(V32 v, FloatFormat format) {
    const V32 exponent = L::splat(format == FloatFormat::F16 ? 0x7c00u : 0x7f80u);
    return L::select(L::nonzero(L::and_(v, exponent)), v, L::and_(v, L::splat(0x8000u)));
}
SASSEMU_INLINE V64 flush_double(V64 v) {
    const Mask normal = L::nonzero(L::and_(L::hi32(v), L::splat(0x7ff00000u)));
    return L::select64(normal, v, L::and64(v, L::splat64(uint64_t{1} << 63)));
}
// Where f32 or f64 NaNs with sign and payload survive, the upper fraction bits of the narrower one
// are those of the wider, quieted, and modifiers do not touch them (measured on an H200).
SASSEMU_INLINE V32 f16_nan_to_f32(V32 v) {
    const V32 sign = L::shl(L::and_(v, L::splat(0x8000u)), L::splat(16));
    return L::or_(L::or_(sign, L::splat(0x7f800000u)),
                  L::shl(L::and_(v, L::splat(0x3ffu)), L::splat(13)));
}
SASSEMU_INLINE V32 f32_nan_to_half(V32 v, FloatFormat to) {
    const V32 upper = L::shr(v, L::splat(16));
    if (to == FloatFormat::BF16) return upper;
    return L::or_(L::or_(L::and_(upper, L::splat(0x8000u)), L::splat(0x7c00u)),
                  L::and_(L::shr(v, L::splat(13)), L::splat(0x3ffu)));
}

// An f32, or an f16 or bf16 made one.
template <Source B>
SASSEMU_INLINE V32 single_source(const Op* op, const Warp& w) {
    V32 v = read<B>(w, op->b);
    const FloatFormat format = static_cast<FloatFormat>(op->k[1]);
    if (format != FloatFormat::F32) {
        if (op->k[0] & mode_h1) v = L::hi16(v);
        if (op->k[0] & mode_ftz) v = flush_half(v, format);
        v = format == FloatFormat::F16 ? L::f16_to_f32(v) : L::bf16_to_f32(v);
    }
    if (op->m[1]) v = apply_modifier(v, op->m[1]);
    if ((op->k[0] & mode_ftz) && format == FloatFormat::F32) v = L::ftz(v);
    return v;
}
template <Source B>
SASSEMU_INLINE V64 double_source(const Op* op, const Warp& w) {
    const V64 v = modify_number(read64<B>(w, op->b), op->m[1]);
    return op->k[0] & mode_ftz ? flush_double(v) : v;
}
SASSEMU_INLINE V32 canonical(V32 v) { return L::select(L::fisnan(v), L::splat(L::kF32Nan), v); }

// f64 -> bf16 with one rounding: to f32 rounded to odd first (Boldo and Melquiond, IEEE TC 57(4)).
SASSEMU_INLINE V32 f64_to_bf16(V64 v, unsigned rounding) {
    const V32 down = L::f64_to_f32<Rounding::rz>(v);
    const Mask exact = L::cmp_eq64(L::f32_to_f64(down), v);
    const V32 odd = L::select(exact | L::fisnan(down), down, L::or_(down, L::splat(1)));
    return with_rounding(rounding, [&]<Rounding R>() { return L::f32_to_bf16<R>(odd); });
}

// ---- F2F -------------------------------------------------------------------------------------

SASSEMU_RARE V32 single_to_narrow(V32 v, unsigned mode, FloatFormat to) {
    if (to == FloatFormat::F32) {
        v = canonical(v);
        return mode & mode_ftz ? L::ftz(v) : v;
    }
    const V32 r = with_rounding(mode, [&]<Rounding R>() {
        return to == FloatFormat::F16 ? L::f32_to_f16<R>(v) : L::f32_to_bf16<R>(v);
    });
    return mode & mode_ftz ? flush_half(r, to) : r;
}
SASSEMU_RARE V32 double_to_narrow(V64 v, unsigned mode, FloatFormat to) {
    if (to == FloatFormat::F32) {
        const V32 r = with_rounding(mode, [&]<Rounding R>() { return L::f64_to_f32<R>(v); });
        return mode & mode_ftz ? L::ftz(r) : r;
    }
    V32 r = to == FloatFormat::BF16
                ? f64_to_bf16(v, mode)
                : with_rounding(mode, [&]<Rounding R>() { return L::f64_to_f16<R>(v); });
    if (mode & mode_ftz) r = flush_half(r, to);
    const V32 nan = f32_nan_to_half(L::f64_to_f32<Rounding::rz>(v), to);
    return L::select(L::dcmp<Compare::nan>(v, v), nan, r);
}
template <Source B>
const Op* narrow_from_single(const Op* op, Warp& w, uint32_t mask) {
    const V32 v = single_source<B>(op, w);
    write<false>(w, op->d, single_to_narrow(v, op->k[0], static_cast<FloatFormat>(op->k[2])), mask);
    return next(op, w);
}
template <Source B>
const Op* narrow_from_double(const Op* op, Warp& w, uint32_t mask) {
    const V64 v = double_source<B>(op, w);
    write<false>(w, op->d, double_to_narrow(v, op->k[0], static_cast<FloatFormat>(op->k[2])), mask);
    return next(op, w);
}
template <Source B>
const Op* double_from_single(const Op* op, Warp& w, uint32_t mask) {
    const FloatFormat format = static_cast<FloatFormat>(op->k[1]);
    const V32 v = single_source<B>(op, w);
    V32 nan = read<B>(w, op->b);
    if (op->k[0] & mode_h1) nan = L::hi16(nan);
    if (format == FloatFormat::F16) nan = f16_nan_to_f32(nan);
    if (format == FloatFormat::BF16) nan = L::shl(nan, L::splat(16));
    write64<false>(w, op->d, L::f32_to_f64(L::select(L::fisnan(v), nan, v)), mask);
    return next(op, w);
}

// ---- F2I -------------------------------------------------------------------------------------

// A NaN becomes 0 with .NTZ, else the highest bit of the destination (PTX ISA, cvt), which narrow
// signed formats do not extend (measured on an H200).
SASSEMU_INLINE V32 nan_rule(V32 r, Mask nan, unsigned mode, IntFormat to) {
    uint32_t value = 0;
    if (!(mode & mode_ntz)) {
        switch (to) {
            case IntFormat::U8:
            case IntFormat::S8:
                value = 0x80u;
                break;
            case IntFormat::U16:
            case IntFormat::S16:
                value = 0x8000u;
                break;
            default:
                value = 0x80000000u;
                break;
        }
    }
    return L::select(nan, L::splat(value), r);
}
SASSEMU_INLINE V32 narrow_integer(V32 v, IntFormat to) {
    switch (to) {
        case IntFormat::U8:
            return L::sat_narrow<8, false, false>(v);
        case IntFormat::S8:
            return L::sat_narrow<8, true, true>(v);
        case IntFormat::U16:
            return L::sat_narrow<16, false, false>(v);
        case IntFormat::S16:
            return L::sat_narrow<16, true, true>(v);
        default:
            return v;
    }
}
SASSEMU_INLINE bool is_signed(IntFormat f) { return static_cast<unsigned>(f) & 1; }

SASSEMU_RARE V32 single_to_integer(V32 v, unsigned mode, IntFormat to) {
    const V32 r = with_rounding(mode, [&]<Rounding R>() {
        return is_signed(to) ? L::f32_to_s32<R>(v) : L::f32_to_u32<R>(v);
    });
    return nan_rule(narrow_integer(r, to), L::fisnan(v), mode, to);
}
SASSEMU_RARE V32 double_to_integer(V64 v, unsigned mode, IntFormat to) {
    const V32 r = with_rounding(mode, [&]<Rounding R>() {
        return is_signed(to) ? L::f64_to_s32<R>(v) : L::f64_to_u32<R>(v);
    });
    return nan_rule(narrow_integer(r, to), L::dcmp<Compare::nan>(v, v), mode, to);
}
SASSEMU_INLINE V64 wide_nan_rule(V64 r, Mask nan, unsigned mode) {
    const uint64_t value = mode & mode_ntz ? 0 : uint64_t{1} << 63;
    return L::select64(nan, L::splat64(value), r);
}
SASSEMU_RARE V64 single_to_wide(V32 v, unsigned mode, IntFormat to) {
    const V64 r = with_rounding(mode, [&]<Rounding R>() {
        return is_signed(to) ? L::f32_to_s64<R>(v) : L::f32_to_u64<R>(v);
    });
    return wide_nan_rule(r, L::fisnan(v), mode);
}
SASSEMU_RARE V64 double_to_wide(V64 v, unsigned mode, IntFormat to) {
    const V64 r = with_rounding(mode, [&]<Rounding R>() {
        return is_signed(to) ? L::f64_to_s64<R>(v) : L::f64_to_u64<R>(v);
    });
    return wide_nan_rule(r, L::dcmp<Compare::nan>(v, v), mode);
}
template <Source B, bool FromDouble, bool ToWide>
const Op* float_to_integer(const Op* op, Warp& w, uint32_t mask) {
    const IntFormat to = static_cast<IntFormat>(op->k[2]);
    if constexpr (FromDouble) {
        const V64 v = double_source<B>(op, w);
        if constexpr (ToWide)
            write64<false>(w, op->d, double_to_wide(v, op->k[0], to), mask);
        else
            write<false>(w, op->d, double_to_integer(v, op->k[0], to), mask);
    } else {
        const V32 v = single_source<B>(op, w);
        if constexpr (ToWide)
            write64<false>(w, op->d, single_to_wide(v, op->k[0], to), mask);
        else
            write<false>(w, op->d, single_to_integer(v, op->k[0], to), mask);
    }
    return next(op, w);
}
template <Source B>
Handler float_to_integer_handler(bool from_double, bool to_wide) {
    if (from_double)
        return to_wide ? float_to_integer<B, true, true> : float_to_integer<B, true, false>;
    return to_wide ? float_to_integer<B, false, true> : float_to_integer<B, false, false>;
}

// ---- I2F -------------------------------------------------------------------------------------

// An integer of up to 32 bits, extended to 32; k[1] has the format, bits 7..4 the byte.
template <Source B>
SASSEMU_INLINE V32 integer_source(const Op* op, const Warp& w) {
    V32 v = read<B>(w, op->b);
    const unsigned shift = (op->k[0] & mode_h1 ? 16 : 0) + (op->k[1] >> 4) * 8;
    switch (static_cast<IntFormat>(op->k[1] & 15)) {
        case IntFormat::U8:
            return L::and_(L::shr(v, L::splat(shift)), L::splat(0xffu));
        case IntFormat::S8:
            return L::sar(L::shl(v, L::splat(24 - shift)), L::splat(24));
        case IntFormat::U16:
            return L::and_(L::shr(v, L::splat(shift)), L::splat(0xffffu));
        case IntFormat::S16:
            return L::sar(L::shl(v, L::splat(16 - shift)), L::splat(16));
        default:
            return v;
    }
}
SASSEMU_INLINE V64 integer_to_double(V32 v, bool is_signed_source) {
    return is_signed_source ? L::s32_to_f64(v) : L::u32_to_f64(v);
}
SASSEMU_RARE V32 integer_to_float(V32 v, unsigned mode, bool is_signed_source, FloatFormat to) {
    if (to == FloatFormat::BF16) return f64_to_bf16(integer_to_double(v, is_signed_source), mode);
    return with_rounding(mode, [&]<Rounding R>() {
        if (to == FloatFormat::F16) return L::f64_to_f16<R>(integer_to_double(v, is_signed_source));
        return is_signed_source ? L::s32_to_f32<R>(v) : L::u32_to_f32<R>(v);
    });
}
// 64-bit integers of at least 2^53 keep their low bits as one sticky bit far below what f16 and
// bf16 round at, so that going through f64 rounds only once.
SASSEMU_INLINE V64 sticky(V64 v, bool is_signed_source) {
    const V64 limit = L::splat64(uint64_t{1} << 53);
    const Mask small = is_signed_source ? L::cmp_lt_u64(L::add64(v, limit), L::add64(limit, limit))
                                        : L::cmp_lt_u64(v, limit);
    const V64 low = L::splat64(0xfffu);
    const Mask clean = L::cmp_eq64(L::and64(v, low), L::splat64(0));
    const V64 cut = L::and64(v, L::not64(low));
    return L::select64(small, v, L::select64(clean, cut, L::or64(cut, L::splat64(0x800u))));
}
SASSEMU_RARE V32 wide_to_float(V64 v, unsigned mode, bool is_signed_source, FloatFormat to) {
    if (to == FloatFormat::F32) {
        return with_rounding(mode, [&]<Rounding R>() {
            return is_signed_source ? L::s64_to_f32<R>(v) : L::u64_to_f32<R>(v);
        });
    }
    const V64 s = sticky(v, is_signed_source);
    const V64 d =
        is_signed_source ? L::s64_to_f64<Rounding::rn>(s) : L::u64_to_f64<Rounding::rn>(s);
    if (to == FloatFormat::BF16) return f64_to_bf16(d, mode);
    return with_rounding(mode, [&]<Rounding R>() { return L::f64_to_f16<R>(d); });
}
SASSEMU_RARE V64 wide_to_double(V64 v, unsigned mode, bool is_signed_source) {
    return with_rounding(mode, [&]<Rounding R>() {
        return is_signed_source ? L::s64_to_f64<R>(v) : L::u64_to_f64<R>(v);
    });
}
template <Source B, bool FromWide, bool ToDouble>
const Op* integer_to_float(const Op* op, Warp& w, uint32_t mask) {
    const bool s = is_signed(static_cast<IntFormat>(op->k[1] & 15));
    const FloatFormat to = static_cast<FloatFormat>(op->k[2]);
    if constexpr (FromWide) {
        const V64 v = read64<B>(w, op->b);
        if constexpr (ToDouble)
            write64<false>(w, op->d, wide_to_double(v, op->k[0], s), mask);
        else
            write<false>(w, op->d, wide_to_float(v, op->k[0], s, to), mask);
    } else {
        const V32 v = integer_source<B>(op, w);
        if constexpr (ToDouble)
            write64<false>(w, op->d, integer_to_double(v, s), mask);
        else
            write<false>(w, op->d, integer_to_float(v, op->k[0], s, to), mask);
    }
    return next(op, w);
}
template <Source B>
Handler integer_to_float_handler(bool from_wide, bool to_double) {
    if (from_wide)
        return to_double ? integer_to_float<B, true, true> : integer_to_float<B, true, false>;
    return to_double ? integer_to_float<B, false, true> : integer_to_float<B, false, false>;
}

// ---- FRND ------------------------------------------------------------------------------------

template <Source B>
const Op* round_single(const Op* op, Warp& w, uint32_t mask) {
    const V32 v = single_source<B>(op, w);
    const V32 r = with_rounding(op->k[0], [&]<Rounding R>() { return L::frnd<R>(v); });
    const FloatFormat to = static_cast<FloatFormat>(op->k[2]);
    write<false>(w, op->d,
                 to == FloatFormat::F32   ? r
                 : to == FloatFormat::F16 ? L::f32_to_f16<>(r)
                                          : L::f32_to_bf16<>(r),
                 mask);
    return next(op, w);
}
template <Source B>
const Op* round_double(const Op* op, Warp& w, uint32_t mask) {
    const V64 v = double_source<B>(op, w);
    write64<false>(w, op->d, with_rounding(op->k[0], [&]<Rounding R>() { return L::drnd<R>(v); }),
                   mask);
    return next(op, w);
}

// ---- the uniform datapath: the same in one lane

const Op* uniform_narrow(const Op* op, Warp& w, uint32_t) {
    const V32 v = single_source<Source::scalar>(op, w);
    write_uniform(w, op->d,
                  L::lane(single_to_narrow(v, op->k[0], static_cast<FloatFormat>(op->k[2])), 0));
    return next(op, w);
}
const Op* uniform_to_integer(const Op* op, Warp& w, uint32_t) {
    const V32 v = single_source<Source::scalar>(op, w);
    write_uniform(w, op->d,
                  L::lane(single_to_integer(v, op->k[0], static_cast<IntFormat>(op->k[2])), 0));
    return next(op, w);
}
const Op* uniform_to_float(const Op* op, Warp& w, uint32_t) {
    const V32 v = integer_source<Source::scalar>(op, w);
    const bool s = is_signed(static_cast<IntFormat>(op->k[1] & 15));
    write_uniform(w, op->d,
                  L::lane(integer_to_float(v, op->k[0], s, static_cast<FloatFormat>(op->k[2])), 0));
    return next(op, w);
}
template <class S, class D>
void set_up_uniform(Lower& x, const typed::Reg& d, const typed::Src& b, S from, D to, unsigned mode,
                    Handler handler) {
    if (is_wide(from) || is_wide(to)) return x.reject("a uniform conversion of 64 bits");
    const Operand o = x.source(b);
    x.op.d = x.uniform_destination(d.index);
    x.op.b = o.at;
    x.op.m[1] = o.modifier;
    x.op.k[0] = static_cast<uint8_t>(mode);
    x.op.k[1] = static_cast<uint8_t>(from);
    x.op.k[2] = static_cast<uint8_t>(to);
    x.handler(handler);
}

template <class S, class D>
Operand set_up(Lower& x, const typed::Reg& d, const typed::Src& b, S from, D to, unsigned mode) {
    x.op.d = destination(x, d, to);
    const Operand o = source(x, b, from);
    x.op.b = o.at;
    x.op.m[1] = o.modifier;
    x.op.k[0] = static_cast<uint8_t>(mode);
    x.op.k[1] = static_cast<uint8_t>(from);
    x.op.k[2] = static_cast<uint8_t>(to);
    return o;
}
unsigned half_mode(const typed::Src& s, typed::HalfSelect h) {
    return s.kind != typed::SrcKind::Imm && h == typed::HalfSelect::H1 ? mode_h1 : 0;
}

}  // namespace

void lower(Lower& x, const typed::F2f& i) {
    const unsigned mode =
        static_cast<unsigned>(i.rnd) | (i.ftz ? mode_ftz : 0) | half_mode(i.b, i.half);
    const bool scalar = set_up(x, i.d, i.b, i.src, i.dst, mode).scalar;
    if (i.dst == FloatFormat::F64)
        x.handler(scalar ? double_from_single<Source::scalar> : double_from_single<Source::row>);
    else if (i.src == FloatFormat::F64)
        x.handler(scalar ? narrow_from_double<Source::scalar> : narrow_from_double<Source::row>);
    else
        x.handler(scalar ? narrow_from_single<Source::scalar> : narrow_from_single<Source::row>);
}

void lower(Lower& x, const typed::F2i& i) {
    const unsigned mode = static_cast<unsigned>(i.rnd) | (i.ftz ? mode_ftz : 0) |
                          (i.ntz ? mode_ntz : 0) | half_mode(i.b, i.half);
    const bool scalar = set_up(x, i.d, i.b, i.src, i.dst, mode).scalar;
    const bool from_double = i.src == FloatFormat::F64, to_wide = is_wide(i.dst);
    x.handler(scalar ? float_to_integer_handler<Source::scalar>(from_double, to_wide)
                     : float_to_integer_handler<Source::row>(from_double, to_wide));
}

void lower(Lower& x, const typed::I2f& i) {
    const unsigned mode = static_cast<unsigned>(i.rnd) | half_mode(i.b, i.half);
    typed::Src source = i.b;
    // The immediate is the upper word of a 64-bit integer, as of an f64 (measured on an H200).
    if (is_wide(i.src) && source.kind == typed::SrcKind::Imm) source.imm <<= 32;
    const bool scalar = set_up(x, i.d, source, i.src, i.dst, mode).scalar;
    if (i.b.kind != typed::SrcKind::Imm)
        x.op.k[1] |= static_cast<uint8_t>(static_cast<unsigned>(i.byte) << 4);
    const bool from_wide = is_wide(i.src), to_double = i.dst == FloatFormat::F64;
    x.handler(scalar ? integer_to_float_handler<Source::scalar>(from_wide, to_double)
                     : integer_to_float_handler<Source::row>(from_wide, to_double));
}

void lower(Lower& x, const typed::I2fp& i) {
    const bool scalar = set_up(x, i.d, i.b, i.src, FloatFormat::F32, i.rnd).scalar;
    x.handler(scalar ? integer_to_float<Source::scalar, false, false>
                     : integer_to_float<Source::row, false, false>);
}

void lower(Lower& x, const typed::Uf2f& i) {
    const unsigned mode = static_cast<unsigned>(i.rnd) | (i.ftz ? mode_ftz : 0);
    set_up_uniform(x, i.d, i.b, i.src, static_cast<FloatFormat>(i.dst), mode, uniform_narrow);
}
void lower(Lower& x, const typed::Uf2i& i) {
    const unsigned mode = static_cast<unsigned>(i.rnd) | (i.ftz ? mode_ftz : 0) |
                          (i.ntz ? mode_ntz : 0) | half_mode(i.b, i.half);
    set_up_uniform(x, i.d, i.b, i.src, i.dst, mode, uniform_to_integer);
}
void lower(Lower& x, const typed::Ui2f& i) {
    set_up_uniform(x, i.d, i.b, i.src, i.dst, static_cast<unsigned>(i.rnd) | half_mode(i.b, i.half),
                   uniform_to_float);
    if (i.b.kind != typed::SrcKind::Imm)
        x.op.k[1] |= static_cast<uint8_t>(static_cast<unsigned>(i.byte) << 4);
}
void lower(Lower& x, const typed::Ui2fp& i) {
    if (i.dst != static_cast<unsigned>(FloatFormat::F32) || i.src < 4 || i.src > 5)
        return x.reject("UI2FP of invalid formats");
    set_up_uniform(x, i.d, i.b, static_cast<IntFormat>(i.src), FloatFormat::F32, i.rnd,
                   uniform_to_float);
}

void lower(Lower& x, const typed::Frnd& i) {
    const unsigned mode =
        static_cast<unsigned>(i.rnd) | (i.ftz ? mode_ftz : 0) | half_mode(i.b, i.half);
    const bool scalar = set_up(x, i.d, i.b, i.format, i.format, mode).scalar;
    if (i.format == FloatFormat::F64)
        x.handler(scalar ? round_double<Source::scalar> : round_double<Source::row>);
    else
        x.handler(scalar ? round_single<Source::scalar> : round_single<Source::row>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
