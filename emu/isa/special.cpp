// MUFU: the special cases and the flushing of each function around a value from
// special_functions.hpp. The values are correctly rounded (but for rare near-ties); the hardware's
// differ from them by up to a few units in the last place (PTX ISA, the .approx instructions).
//
// fp32 inputs and results flush subnormals, as the scaling shows that compilers put around the
// instruction for the non-.ftz operations; TANH passes them through.
#include "emu/isa/special.hpp"

#include "emu/isa/float_modes.hpp"
#include "emu/isa/special_functions.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

using typed::MufuFunction;

SASSEMU_INLINE V32 canonical(V32 v) { return L::select(L::fisnan(v), L::splat(L::kF32Nan), v); }
SASSEMU_INLINE V32 signed_infinity(V32 x) {
    return L::or_(L::and_(x, L::splat(0x80000000u)), L::splat(0x7f800000u));
}
SASSEMU_INLINE Mask is_zero(V32 x) { return ~L::nonzero(L::fabs(x)); }
SASSEMU_INLINE Mask is_infinite(V32 x) { return L::cmp_eq(L::fabs(x), L::splat(0x7f800000u)); }
// Negative numbers, not -0; NaN included where its sign is set.
SASSEMU_INLINE Mask is_negative(V32 x) { return L::sign_mask(x) & ~is_zero(x); }

// Each takes and returns f32 that are not flushed yet.
struct Rcp {
    static SASSEMU_RARE V32 of(V32 x) { return canonical(special::apply<special::Reciprocal>(x)); }
};
struct Rsq {
    static SASSEMU_RARE V32 of(V32 x) {
        V32 r = special::apply<special::ReciprocalRoot>(x);
        r = L::select(is_zero(x), signed_infinity(x), r);
        r = L::select(is_infinite(x), L::splat(0), r);
        return L::select(is_negative(x) | L::fisnan(x), L::splat(L::kF32Nan), r);
    }
};
struct Sqrt {
    static SASSEMU_RARE V32 of(V32 x) {
        V32 r = special::apply<special::Root>(x);
        r = L::select(is_zero(x) | is_infinite(x), x, r);
        return L::select(is_negative(x) | L::fisnan(x), L::splat(L::kF32Nan), r);
    }
};
struct Ex2 {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = special::apply<special::PowerOfTwo>(x);
        return L::select(L::fisnan(x), L::splat(L::kF32Nan), r);
    }
};
struct Lg2 {
    static SASSEMU_RARE V32 of(V32 x) {
        V32 r = special::apply<special::Logarithm>(x);
        r = L::select(is_zero(x), L::splat(0xff800000u), r);
        r = L::select(is_infinite(x), x, r);
        return L::select(is_negative(x) | L::fisnan(x), L::splat(L::kF32Nan), r);
    }
};
struct Sin {
    static SASSEMU_RARE V32 of(V32 x) {
        V32 r = special::apply<special::Circular<0>>(x);
        // From 2^24 on the angle is a zero of x's sign (measured on an H200).
        r = L::select(L::cmp_ge_u(L::fabs(x), L::splat(0x4b800000u)) | is_zero(x),
                      L::and_(x, L::splat(0x80000000u)), r);
        return L::select(is_infinite(x) | L::fisnan(x), L::splat(L::kF32Nan), r);
    }
};
struct Cos {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = special::apply<special::Circular<1>>(x);
        return L::select(is_infinite(x) | L::fisnan(x), L::splat(L::kF32Nan), r);
    }
};
struct Tanh {
    static SASSEMU_RARE V32 of(V32 x) {
        const V32 r = special::apply<special::HyperbolicTangent>(x);
        const V32 field = L::and_(x, L::splat(0x7f800000u));
        return L::select(L::nonzero(field), canonical(r), x);
    }
};

// On upper words of fp64. PTX ISA, rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the low word does not
// count, not even to tell NaN from infinity; subnormals flush; NaN results are 0x7fffffff.
constexpr uint32_t high_infinity = 0x7ff00000u;
SASSEMU_INLINE V32 flush_high(V32 x) {
    const Mask normal = L::nonzero(L::and_(x, L::splat(high_infinity)));
    return L::select(normal, x, L::and_(x, L::splat(0x80000000u)));
}
SASSEMU_INLINE V32 high_special(V32 x, V32 r) {
    const V32 sign = L::and_(x, L::splat(0x80000000u)), magnitude = L::fabs(x);
    r = L::select(~L::nonzero(magnitude), L::or_(sign, L::splat(high_infinity)), r);
    r = L::select(L::cmp_eq(magnitude, L::splat(high_infinity)), sign, r);
    return L::select(L::cmp_gt_u(magnitude, L::splat(high_infinity)), L::splat(0x7fffffffu), r);
}
struct Rcp64h {
    static SASSEMU_RARE V32 of(V32 x) {
        x = flush_high(x);
        return flush_high(high_special(x, special::apply_high<special::Reciprocal>(x)));
    }
};
struct Rsq64h {
    static SASSEMU_RARE V32 of(V32 x) {
        x = flush_high(x);
        const V32 r = high_special(x, special::apply_high<special::ReciprocalRoot>(x));
        return L::select(is_negative(x), L::splat(0x7fffffffu), r);
    }
};

enum class Width : uint8_t { single, raw };

template <class F, Width W, Kind B>
const Op* special_function(const Op* op, Warp& w, uint32_t mask) {
    V32 x = read<B>(w, op->b);
    if (op->m[1]) x = apply_modifier(x, op->m[1]);
    if constexpr (W == Width::raw)
        write<false>(w, op->d, F::of(x), mask);
    else
        write<false>(w, op->d, L::ftz(F::of(L::ftz(x))), mask);
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
    constexpr bool raw = std::is_same_v<F, Tanh>;
    V32 r = raw ? F::of(x) : L::ftz(F::of(L::ftz(x)));
    if (op->k[0] & 2) {
        r = L::f32_to_bf16<Rounding::rz>(r);
    } else {
        const Mask large = L::cmp_ge_u(L::fabs(r), L::splat(0x47800000u)) & ~L::fisnan(r);
        r = L::f32_to_f16<Rounding::rz>(L::select(large, signed_infinity(r), r));
    }
    write<false>(w, op->d, r, mask);
    return op + 1;
}

template <class F, Width W>
void set_handler(Lower& x, bool scalar) {
    x.handler(scalar ? special_function<F, W, Kind::scalar> : special_function<F, W, Kind::row>);
}
template <class F>
void set_half_handler(Lower& x, bool scalar) {
    x.handler(scalar ? half_function<F, Kind::scalar> : half_function<F, Kind::row>);
}

}  // namespace

void lower(Lower& x, const typed::Mufu& i) {
    typed::Src s = i.b;
    const bool high = i.fn == MufuFunction::RCP64H || i.fn == MufuFunction::RSQ64H;
    if (high && s.kind == typed::SrcKind::Imm) s.imm >>= 32;
    x.op.d = x.destination_row(i.d.index);
    const Operand b = x.source(s);
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    switch (i.fn) {
        case MufuFunction::RCP: set_handler<Rcp, Width::single>(x, b.scalar); break;
        case MufuFunction::RSQ: set_handler<Rsq, Width::single>(x, b.scalar); break;
        case MufuFunction::SQRT: set_handler<Sqrt, Width::single>(x, b.scalar); break;
        case MufuFunction::EX2: set_handler<Ex2, Width::single>(x, b.scalar); break;
        case MufuFunction::LG2: set_handler<Lg2, Width::single>(x, b.scalar); break;
        case MufuFunction::SIN: set_handler<Sin, Width::single>(x, b.scalar); break;
        case MufuFunction::COS: set_handler<Cos, Width::single>(x, b.scalar); break;
        case MufuFunction::TANH: set_handler<Tanh, Width::raw>(x, b.scalar); break;
        case MufuFunction::RCP64H: set_handler<Rcp64h, Width::raw>(x, b.scalar); break;
        case MufuFunction::RSQ64H: set_handler<Rsq64h, Width::raw>(x, b.scalar); break;
        default: x.reject("an invalid function of MUFU"); break;
    }
}

void lower(Lower& x, const typed::MufuHalf& i) {
    x.op.d = x.destination_row(i.d.index);
    const Operand b = x.source(i.b);
    x.op.b = b.at;
    x.op.m[1] = b.modifier;
    const bool h1 = i.b.kind != typed::SrcKind::Imm && i.half == typed::HalfSelect::H1;
    x.op.k[0] = static_cast<uint8_t>((h1 ? 1 : 0) | (i.type == typed::MufuType::BF16 ? 2 : 0));
    switch (i.fn) {
        case MufuFunction::RCP: set_half_handler<Rcp>(x, b.scalar); break;
        case MufuFunction::RSQ: set_half_handler<Rsq>(x, b.scalar); break;
        case MufuFunction::SQRT: set_half_handler<Sqrt>(x, b.scalar); break;
        case MufuFunction::EX2: set_half_handler<Ex2>(x, b.scalar); break;
        case MufuFunction::LG2: set_half_handler<Lg2>(x, b.scalar); break;
        case MufuFunction::SIN: set_half_handler<Sin>(x, b.scalar); break;
        case MufuFunction::COS: set_half_handler<Cos>(x, b.scalar); break;
        case MufuFunction::TANH: set_half_handler<Tanh>(x, b.scalar); break;
        default: x.reject("a function of MUFU without a half-precision form"); break;
    }
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
