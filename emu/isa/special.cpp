// MUFU: the special cases and the flushing of each function around the values of
// special_functions.hpp.
//
// fp32 operands and results that are subnormal are flushed; TANH passes them through. Measured on
// an H200 over all operands (SPECIAL.md); other architectures are taken to be the same.
#include "emu/isa/special.hpp"

#include "emu/isa/float_modes.hpp"
#include "emu/isa/special_functions.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using typed::MufuFunction;

SASSEMU_INLINE V32 sign_of(V32 x) { return L::and_(x, L::splat(0x80000000u)); }
SASSEMU_INLINE V32 signed_infinity(V32 x) { return L::or_(sign_of(x), L::splat(0x7f800000u)); }
SASSEMU_INLINE Mask is_zero(V32 x) { return ~L::nonzero(L::fabs(x)); }
SASSEMU_INLINE Mask is_infinite(V32 x) { return L::cmp_eq(L::fabs(x), L::splat(0x7f800000u)); }
// Negative numbers, not -0; NaN included where its sign is set.
SASSEMU_INLINE Mask is_negative(V32 x) { return L::sign_mask(x) & ~is_zero(x); }
SASSEMU_INLINE V32 nan_where(Mask m, V32 r) { return L::select(m, L::splat(L::kF32Nan), r); }
// Whether the number lies in least .. end - 1 in all lanes.
SASSEMU_INLINE bool all_within(V32 v, uint32_t least, uint32_t end) {
    return L::cmp_ge_u(L::sub(v, L::splat(least)), L::splat(end - least)) == 0;
}
// What a function gave in units of its last place; below `least` it is subnormal and becomes 0.
SASSEMU_INLINE V32 flush(V32 r, uint32_t least) {
    return L::select(L::cmp_lt_s(r, L::splat(least)), L::splat(0), r);
}
constexpr uint32_t least_normal = 0x00800000u, infinity = 0x7f800000u;

// Each: `of` for all operands, which is the value of the unit where every lane is an ordinary number,
// and `special`, which puts the special cases into that value.
template <class Unit>
struct Rcp {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::reciprocal(x);
        if (all_within(L::fabs(x), least_normal, 0x7e800000u)) return L::or_(r, sign_of(x));
        return special(L::ftz(x), r);
    }
    static SASSEMU_RARE V32 special(V32 x, V32 r) {
        r = L::or_(flush(r, least_normal), sign_of(x));
        r = L::select(is_zero(x), signed_infinity(x), r);
        r = L::select(is_infinite(x), sign_of(x), r);
        return nan_where(L::fisnan(x), r);
    }
};
template <class Unit>
struct Rsq {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::root_reciprocal(x);
        return all_within(x, least_normal, infinity) ? r : special(L::ftz(x), r);
    }
    static SASSEMU_RARE V32 special(V32 x, V32 r) {
        r = L::select(is_zero(x), signed_infinity(x), r);
        r = L::select(is_infinite(x), L::splat(0), r);
        return nan_where(is_negative(x) | L::fisnan(x), r);
    }
};
template <class Unit>
struct Sqrt {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::root(x);
        return all_within(x, least_normal, infinity) ? r : special(L::ftz(x), r);
    }
    static SASSEMU_RARE V32 special(V32 x, V32 r) {
        r = L::select(is_zero(x) | is_infinite(x), x, r);
        return nan_where(is_negative(x) | L::fisnan(x), r);
    }
};
template <class Unit>
struct Ex2 {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::power(x);
        return all_within(L::fabs(x), 0, 0x42fc0000u) ? r : special(x, r);  // 126
    }
    static SASSEMU_RARE V32 special(V32 x, V32 r) {
        const Mask large = L::cmp_ge_u(L::fabs(x), L::splat(0x43000000u));  // 128
        const V32 limit = L::select(L::sign_mask(x), L::splat(0), L::splat(infinity));
        return nan_where(L::fisnan(x), L::select(large, limit, flush(r, least_normal)));
    }
};
template <class Unit>
struct Lg2 {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::logarithm(x);
        return all_within(x, least_normal, infinity) ? r : special(L::ftz(x), r);
    }
    static SASSEMU_RARE V32 special(V32 x, V32 r) {
        r = L::select(is_zero(x), L::splat(0xff800000u), r);
        r = L::select(is_infinite(x), x, r);
        return nan_where(is_negative(x) | L::fisnan(x), r);
    }
};
template <class Unit>
struct Sin {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::sine(x), magnitude = L::fabs(x);
        if (all_within(magnitude, 0, infinity)) return r;
        return nan_where(L::cmp_ge_u(magnitude, L::splat(infinity)), r);
    }
};
template <class Unit>
struct Cos {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::cosine(x), magnitude = L::fabs(x);
        if (all_within(magnitude, 0, infinity)) return r;
        return nan_where(L::cmp_ge_u(magnitude, L::splat(infinity)), r);
    }
};
// Subnormals are not flushed.
template <class Unit>
struct Tanh {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::tangent(x);
        return all_within(L::fabs(x), 0x3b800000u, 0x41000000u) ? r : special(x, r);
    }
    static SASSEMU_RARE V32 special(V32 x, V32 r) {
        const V32 magnitude = L::fabs(x), one = L::or_(sign_of(x), L::splat(0x3f800000u));
        r = L::select(L::cmp_lt_u(magnitude, L::splat(0x3b800000u)), x, r);
        r = L::select(L::cmp_ge_u(magnitude, L::splat(0x41000000u)), one, r);
        return nan_where(L::fisnan(x), r);
    }
};

// On upper words of fp64. PTX ISA, rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the low word does not
// count, not even to tell NaN from infinity; subnormals flush; NaN results are 0x7fffffff.
constexpr uint32_t least_normal_high = 0x00100000u, infinity_high = 0x7ff00000u;
SASSEMU_INLINE V32 special_high(V32 x, V32 r) {
    const V32 sign = sign_of(x), magnitude = L::fabs(x);
    const Mask zero = L::cmp_lt_u(magnitude, L::splat(least_normal_high));
    r = L::select(zero, L::or_(sign, L::splat(infinity_high)), r);
    r = L::select(L::cmp_eq(magnitude, L::splat(infinity_high)), sign, r);
    return nan_where(L::cmp_gt_u(magnitude, L::splat(infinity_high)), r);
}
template <class Unit>
struct Rcp64h {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::reciprocal_high(x);
        if (all_within(L::fabs(x), least_normal_high, 0x7fd00000u)) return L::or_(r, sign_of(x));
        return special(x, r);
    }
    static SASSEMU_RARE V32 special(V32 x, V32 r) {
        return special_high(x, L::or_(flush(r, least_normal_high), sign_of(x)));
    }
};
template <class Unit>
struct Rsq64h {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = Unit::root_reciprocal_high(x);
        return all_within(x, least_normal_high, infinity_high) ? r : special(x, r);
    }
    static SASSEMU_RARE V32 special(V32 x, V32 r) {
        const Mask zero = L::cmp_lt_u(L::fabs(x), L::splat(least_normal_high));
        return nan_where(L::sign_mask(x) & ~zero, special_high(x, r));
    }
};

template <class F, Kind B>
const Op* special_function(const Op* op, Warp& w, uint32_t mask) {
    V32 x = read<B>(w, op->b);
    if (op->m[1]) x = apply_modifier(x, op->m[1]);
    write<false>(w, op->d, F::of(x), mask);
    return op + 1;
}
// f16 and bf16 in either half; k[0]: high half 1, bf16 2. Results round towards zero, but from
// 2^16 on an f16 is infinite (measured on an H200).
template <class F, Kind B>
const Op* half_function(const Op* op, Warp& w, uint32_t mask) {
    V32 x = read<B>(w, op->b);
    if (op->k[0] & 1) x = L::hi16(x);
    x = op->k[0] & 2 ? L::bf16_to_f32(x) : L::f16_to_f32(x);
    if (op->m[1]) x = apply_modifier(x, op->m[1]);
    V32 r = F::of(x);
    if (op->k[0] & 2) {
        r = L::f32_to_bf16<Rounding::rz>(r);
    } else {
        const Mask large = L::cmp_ge_u(L::fabs(r), L::splat(0x47800000u)) & ~L::fisnan(r);
        r = L::f32_to_f16<Rounding::rz>(L::select(large, signed_infinity(r), r));
    }
    write<false>(w, op->d, r, mask);
    return op + 1;
}

template <class F>
void set_handler(Lower& x, bool scalar) {
    x.handler(scalar ? special_function<F, Kind::scalar> : special_function<F, Kind::row>);
}
template <class F>
void set_half_handler(Lower& x, bool scalar) {
    x.handler(scalar ? half_function<F, Kind::scalar> : half_function<F, Kind::row>);
}

template <class Unit>
void set_function(Lower& x, MufuFunction fn, bool scalar) {
    switch (fn) {
        case MufuFunction::RCP: set_handler<Rcp<Unit>>(x, scalar); break;
        case MufuFunction::RSQ: set_handler<Rsq<Unit>>(x, scalar); break;
        case MufuFunction::SQRT: set_handler<Sqrt<Unit>>(x, scalar); break;
        case MufuFunction::EX2: set_handler<Ex2<Unit>>(x, scalar); break;
        case MufuFunction::LG2: set_handler<Lg2<Unit>>(x, scalar); break;
        case MufuFunction::SIN: set_handler<Sin<Unit>>(x, scalar); break;
        case MufuFunction::COS: set_handler<Cos<Unit>>(x, scalar); break;
        case MufuFunction::TANH: set_handler<Tanh<Unit>>(x, scalar); break;
        case MufuFunction::RCP64H: set_handler<Rcp64h<Unit>>(x, scalar); break;
        case MufuFunction::RSQ64H: set_handler<Rsq64h<Unit>>(x, scalar); break;
        default: x.reject("an invalid function of MUFU"); break;
    }
}
template <class Unit>
void set_half_function(Lower& x, MufuFunction fn, bool scalar) {
    switch (fn) {
        case MufuFunction::RCP: set_half_handler<Rcp<Unit>>(x, scalar); break;
        case MufuFunction::RSQ: set_half_handler<Rsq<Unit>>(x, scalar); break;
        case MufuFunction::SQRT: set_half_handler<Sqrt<Unit>>(x, scalar); break;
        case MufuFunction::EX2: set_half_handler<Ex2<Unit>>(x, scalar); break;
        case MufuFunction::LG2: set_half_handler<Lg2<Unit>>(x, scalar); break;
        case MufuFunction::SIN: set_half_handler<Sin<Unit>>(x, scalar); break;
        case MufuFunction::COS: set_half_handler<Cos<Unit>>(x, scalar); break;
        case MufuFunction::TANH: set_half_handler<Tanh<Unit>>(x, scalar); break;
        default: x.reject("a function of MUFU without a half-precision form"); break;
    }
}

// The tables of an architecture; all have those of sm_90 so far.
using Measured = special::Functions<special_tables::Sm90>;

}  // namespace

void lower(Lower& x, const typed::Mufu& i) {
    typed::Src s = i.b;
    const bool high = i.fn == MufuFunction::RCP64H || i.fn == MufuFunction::RSQ64H;
    if (high && s.kind == typed::SrcKind::Imm) s.imm >>= 32;
    x.op.d = x.destination_row(i.d.index);
    const Operand b = x.source(s);
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    set_function<Measured>(x, i.fn, b.scalar);
}

void lower(Lower& x, const typed::MufuHalf& i) {
    x.op.d = x.destination_row(i.d.index);
    const Operand b = x.source(i.b);
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    const bool h1 = i.b.kind != typed::SrcKind::Imm && i.half == typed::HalfSelect::H1;
    x.op.k[0] = static_cast<uint8_t>((h1 ? 1 : 0) | (i.type == typed::MufuType::BF16 ? 2 : 0));
    set_half_function<Measured>(x, i.fn, b.scalar);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
