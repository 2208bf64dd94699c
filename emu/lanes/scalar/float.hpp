// SPDX-License-Identifier: Apache-2.0
// One lane of the float primitives, as bits in and bits out. Round-to-nearest addition and
// multiplication use the host's unit (IEEE on every x86-64); the rest is soft_float.hpp.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace scalar {

SASSEMU_INLINE float as_f32(uint32_t x) { return __builtin_bit_cast(float, x); }
SASSEMU_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
SASSEMU_INLINE double as_f64(uint64_t x) { return __builtin_bit_cast(double, x); }
SASSEMU_INLINE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
SASSEMU_INLINE bool is_nan32(uint32_t x) { return (x & 0x7fffffffu) > 0x7f800000u; }
SASSEMU_INLINE bool is_nan64(uint64_t x) {
    return (x & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
}

template <Rounding R, bool Ftz>
SASSEMU_INLINE uint32_t fadd(uint32_t a, uint32_t b) {
    if constexpr (R == Rounding::rn && !Ftz) {
        const uint32_t r = bits_of(as_f32(a) + as_f32(b));
        return is_nan32(r) ? kF32Nan : r;
    }
    return (uint32_t)soft::add<soft::F32>(a, b, R, Ftz);
}
template <Rounding R, bool Ftz>
SASSEMU_INLINE uint32_t fmul(uint32_t a, uint32_t b) {
    if constexpr (R == Rounding::rn && !Ftz) {
        const uint32_t r = bits_of(as_f32(a) * as_f32(b));
        return is_nan32(r) ? kF32Nan : r;
    }
    return (uint32_t)soft::mul<soft::F32>(a, b, R, Ftz);
}
template <Rounding R, bool Ftz>
SASSEMU_INLINE uint32_t ffma(uint32_t a, uint32_t b, uint32_t c) {
    return (uint32_t)soft::fma<soft::F32>(a, b, c, R, Ftz);
}
template <Rounding R>
SASSEMU_INLINE uint64_t dadd(uint64_t a, uint64_t b) {
    if constexpr (R == Rounding::rn) {
        const uint64_t r = bits_of(as_f64(a) + as_f64(b));
        return is_nan64(r) ? soft::nan_of<soft::F64>(a, b, 0) : r;
    }
    return soft::add<soft::F64>(a, b, R);
}
template <Rounding R>
SASSEMU_INLINE uint64_t dmul(uint64_t a, uint64_t b) {
    if constexpr (R == Rounding::rn) {
        const uint64_t r = bits_of(as_f64(a) * as_f64(b));
        return is_nan64(r) ? soft::nan_of<soft::F64>(a, b, 0) : r;
    }
    return soft::mul<soft::F64>(a, b, R);
}
template <Rounding R>
SASSEMU_INLINE uint64_t dfma(uint64_t a, uint64_t b, uint64_t c) {
    return soft::fma<soft::F64>(a, b, c, R);
}
SASSEMU_INLINE uint32_t ftz(uint32_t a) { return (uint32_t)soft::flush<soft::F32>(a, true); }
SASSEMU_INLINE uint32_t fsat(uint32_t a) {
    if (is_nan32(a) || a >> 31) return 0;
    return a > 0x3f800000u ? 0x3f800000u : a;
}

// Sign and magnitude as an ordered integer: -0 is below +0.
template <class F>
SASSEMU_INLINE int64_t order(uint64_t a) {
    const int64_t magnitude = (int64_t)(a & (F::kSign - 1));
    return a & F::kSign ? -magnitude - 1 : magnitude;
}
template <class F>
SASSEMU_INLINE bool is_nan(uint64_t a) {
    return (a & (F::kSign - 1)) > F::kInf;
}
template <class F, bool Max, bool NanWins>
SASSEMU_INLINE uint64_t minmax(uint64_t a, uint64_t b) {
    const bool nan_a = is_nan<F>(a), nan_b = is_nan<F>(b);
    if ((nan_a && nan_b) || (NanWins && (nan_a || nan_b))) return F::kNan;
    if (nan_a) return b;
    if (nan_b) return a;
    return (order<F>(a) < order<F>(b)) != Max ? a : b;
}
// The relation bit (see Compare) that holds between a and b.
template <class F>
SASSEMU_INLINE unsigned relation(uint64_t a, uint64_t b) {
    if (is_nan<F>(a) || is_nan<F>(b)) return 8;
    if (((a | b) & (F::kSign - 1)) == 0 || a == b) return 2;
    return order<F>(a) < order<F>(b) ? 1 : 4;
}
template <class F>
SASSEMU_INLINE bool compare(uint64_t a, uint64_t b, Compare c) {
    return ((unsigned)c & relation<F>(a, b)) != 0;
}

// f16 and bf16: F names the format; operands and result are 16 bits.
template <class F>
SASSEMU_INLINE uint32_t post16(uint64_t r, Post p) {
    if (p == Post::none) return (uint32_t)r;
    const bool nan = is_nan<F>(r);
    if (p == Post::relu) return nan ? (uint32_t)F::kNan : (r & F::kSign) ? 0 : (uint32_t)r;
    constexpr uint64_t kOne = (uint64_t)F::kBias << F::kFraction;
    if (nan || (r & F::kSign)) return 0;
    return (uint32_t)(r > kOne ? kOne : r);
}
template <class F>
SASSEMU_INLINE uint32_t add16(uint32_t a, uint32_t b, bool ftz, Post p) {
    return post16<F>(soft::add<F>(a & 0xffff, b & 0xffff, Rounding::rn, ftz), p);
}
template <class F>
SASSEMU_INLINE uint32_t mul16(uint32_t a, uint32_t b, bool ftz, Post p) {
    return post16<F>(soft::mul<F>(a & 0xffff, b & 0xffff, Rounding::rn, ftz), p);
}
template <class F>
SASSEMU_INLINE uint32_t fma16(uint32_t a, uint32_t b, uint32_t c, bool ftz, Post p) {
    return post16<F>(soft::fma<F>(a & 0xffff, b & 0xffff, c & 0xffff, Rounding::rn, ftz), p);
}

}  // namespace scalar
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
