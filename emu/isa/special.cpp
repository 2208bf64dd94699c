// The multi-function unit. Results are the correctly rounded value of the function, which the
// hardware's interpolation misses by an ulp at times (TANH by up to about 2^-11 relative); special
// cases and flushes are as measured on an H200: f32 inputs and results are flushed to signed zeros,
// except for TANH, which passes subnormals through. Nothing else in the emulator depends on how
// the function values come about.
// No <cmath>: its NAN macro and the comparison of that name exclude each other.
#include "emu/isa/special.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

using Fn = typed::MufuFunction;

constexpr uint32_t nan32 = 0x7fffffffu, inf32 = 0x7f800000u, sign32 = 0x80000000u;

SASSEMU_INLINE float as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
SASSEMU_INLINE uint32_t as_bits(float x) { return __builtin_bit_cast(uint32_t, x); }

// A result in [2^-1022, 2^1023] to f32: nearest, subnormals to signed zero.
SASSEMU_INLINE uint32_t narrow(double x) {
    const uint32_t bits = as_bits(static_cast<float>(x));
    return (bits & 0x7f800000u) ? bits : bits & sign32;
}

// sin and cos of 2 pi x; x in turns, as the range reduction in front of MUFU leaves it.
SASSEMU_INLINE double turns(double x) { return (x - __builtin_nearbyint(x)) * 6.283185307179586476925; }

template <Fn F>
SASSEMU_INLINE uint32_t evaluate(uint32_t bits) {
    const uint32_t magnitude = bits & ~sign32;
    if (magnitude > inf32) return nan32;
    const bool negative = bits & sign32;
    if constexpr (F == Fn::TANH) {
        if (magnitude < 0x00800000u) return bits;
        return as_bits(static_cast<float>(__builtin_tanh(static_cast<double>(as_float(bits)))));
    }
    if (magnitude < 0x00800000u) bits &= sign32;
    const double x = static_cast<double>(as_float(bits));
    switch (F) {
        case Fn::RCP: return x == 0 ? inf32 | (bits & sign32) : narrow(1.0 / x);
        case Fn::RSQ:
            if (x == 0) return inf32 | (bits & sign32);
            return negative ? nan32 : narrow(1.0 / __builtin_sqrt(x));
        case Fn::SQRT:
            if (x == 0) return bits;
            return negative ? nan32 : narrow(__builtin_sqrt(x));
        case Fn::EX2: return x > 1000 ? inf32 : x < -1000 ? 0 : narrow(__builtin_exp2(x));
        case Fn::LG2:
            if (x == 0) return inf32 | sign32;
            return negative ? nan32 : narrow(__builtin_log2(x));
        case Fn::SIN:
            if (magnitude == inf32) return nan32;
            return x == 0 ? bits : narrow(__builtin_sin(turns(x)));
        case Fn::COS:
            if (magnitude == inf32) return nan32;
            return narrow(__builtin_cos(turns(x)));
        default: return nan32;
    }
}

// The upper words of an f64 function: the lower word of the operand is taken as 0, subnormal operands
// and results as signed zeros (PTX ISA, "rcp.approx.ftz.f64").
template <Fn F>
SASSEMU_INLINE uint32_t evaluate_high(uint32_t bits) {
    const uint32_t magnitude = bits & ~sign32, sign = bits & sign32;
    if (magnitude > 0x7ff00000u) return nan32;
    if (magnitude < 0x00100000u) return 0x7ff00000u | sign;
    const double x = __builtin_bit_cast(double, uint64_t{bits} << 32);
    if (F == Fn::RSQ64H && sign) return nan32;
    if (magnitude == 0x7ff00000u) return sign;
    const double y = F == Fn::RCP64H ? 1.0 / x : 1.0 / __builtin_sqrt(x);
    // Nearest on the upper word.
    const uint64_t whole = __builtin_bit_cast(uint64_t, y);
    const auto high = static_cast<uint32_t>((whole + 0x7fffffffu + (whole >> 32 & 1)) >> 32);
    return (high & ~sign32) < 0x00100000u ? high & sign32 : high;
}

template <Fn F>
SASSEMU_INLINE uint32_t function(uint32_t x) {
    if constexpr (F == Fn::RCP64H || F == Fn::RSQ64H)
        return evaluate_high<F>(x);
    else
        return evaluate<F>(x);
}

// b: operand row or scalar (k[0]); m[1]: its modifiers.
V32 operand(const Op* op, const Warp& w) {
    const V32 b = op->k[0] ? L::splat(w.scalar32(op->b)) : L::load(w.row(op->b));
    return apply_modifier(b, op->m[1]);
}

template <Fn F>
const Op* mufu(const Op* op, Warp& w, uint32_t mask) {
    alignas(64) uint32_t lane[32];
    L::store(lane, operand(op, w));
    for (uint32_t todo = mask; todo; todo &= todo - 1) {
        const int i = std::countr_zero(todo);
        lane[i] = function<F>(lane[i]);
    }
    L::store(w.row(op->d), L::load(lane), mask);
    return op + 1;
}

// One half of the operand, widened, evaluated and rounded back; k[1]: upper half, k[2]: bf16.
template <Fn F>
const Op* mufu_half(const Op* op, Warp& w, uint32_t mask) {
    V32 b = op->k[0] ? L::splat(w.scalar32(op->b)) : L::load(w.row(op->b));
    if (op->k[1]) b = L::hi16(b);
    b = L::and_(b, L::splat(0xffff));
    V32 x = apply_modifier(op->k[2] ? L::bf16_to_f32(b) : L::f16_to_f32(b), op->m[1]);
    alignas(64) uint32_t lane[32];
    L::store(lane, x);
    for (uint32_t todo = mask; todo; todo &= todo - 1) {
        const int i = std::countr_zero(todo);
        lane[i] = function<F>(lane[i]);
    }
    x = L::load(lane);
    L::store(w.row(op->d), op->k[2] ? L::f32_to_bf16(x) : L::f32_to_f16(x), mask);
    return op + 1;
}

void set_operand(Lower& x, const typed::Reg& d, const typed::Src& b) {
    const Operand source = x.source(b);
    x.op.d = x.destination_row(d.index);
    x.op.b = source.at;
    x.op.k[0] = source.scalar;
    x.op.m[1] = source.modifier;
}

}  // namespace

void lower(Lower& x, const typed::Mufu& i) {
    set_operand(x, i.d, i.b);
    switch (i.fn) {
        case Fn::RCP: return x.handler(mufu<Fn::RCP>);
        case Fn::RSQ: return x.handler(mufu<Fn::RSQ>);
        case Fn::SQRT: return x.handler(mufu<Fn::SQRT>);
        case Fn::EX2: return x.handler(mufu<Fn::EX2>);
        case Fn::LG2: return x.handler(mufu<Fn::LG2>);
        case Fn::SIN: return x.handler(mufu<Fn::SIN>);
        case Fn::COS: return x.handler(mufu<Fn::COS>);
        case Fn::TANH: return x.handler(mufu<Fn::TANH>);
        case Fn::RCP64H: return x.handler(mufu<Fn::RCP64H>);
        case Fn::RSQ64H: return x.handler(mufu<Fn::RSQ64H>);
    }
    x.reject("MUFU with an invalid function");
}

void lower(Lower& x, const typed::MufuHalf& i) {
    set_operand(x, i.d, i.b);
    x.op.k[1] = i.half == typed::HalfSelect::H1;
    x.op.k[2] = i.type == typed::MufuType::BF16;
    switch (i.fn) {
        case Fn::RCP: return x.handler(mufu_half<Fn::RCP>);
        case Fn::RSQ: return x.handler(mufu_half<Fn::RSQ>);
        case Fn::SQRT: return x.handler(mufu_half<Fn::SQRT>);
        case Fn::EX2: return x.handler(mufu_half<Fn::EX2>);
        case Fn::LG2: return x.handler(mufu_half<Fn::LG2>);
        case Fn::SIN: return x.handler(mufu_half<Fn::SIN>);
        case Fn::COS: return x.handler(mufu_half<Fn::COS>);
        case Fn::TANH: return x.handler(mufu_half<Fn::TANH>);
        default: break;
    }
    x.reject("MUFU.F16 with an f64 function");
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
