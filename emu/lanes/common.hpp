// SPDX-License-Identifier: Apache-2.0
// What every level of the lane algebra shares: the modes an operation can have, and the numeric
// policies that are settled by measurement on hardware. Types and constants only: code that is
// compiled once per host level must not live in a level-independent namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#define SASSEMU_INLINE inline __attribute__((always_inline))

namespace sassemu::lanes {

// Bit i stands for lane i.
using Mask = uint32_t;
inline constexpr Mask kAllLanes = 0xffffffffu;
inline constexpr int kLanes = 32;
// A warp stores so many bytes at a time (at most those of all lanes), the parts from the lowest
// lanes on; of colliding lanes of a part the lowest wins (on an H200: cubins/collisions).
inline constexpr int kStoreBytes = 128;

// The order of the SASS rounding field.
enum class Rounding : uint8_t { rn, rm, rp, rz };

// Float comparisons. The code is a set of relations (less 1, equal 2, greater 4, unordered 8),
// which is also the order of the SASS comparison field.
enum class Compare : uint8_t {
    f,
    lt,
    eq,
    le,
    gt,
    ne,
    ge,
    num,
    nan,
    ltu,
    equ,
    leu,
    gtu,
    neu,
    geu,
    t
};

// What is done to a rounded f16/bf16 result: nothing, clamp to [+0, 1] (NaN -> +0), or
// negative -> +0 (NaN stays the canonical NaN).
enum class Post : uint8_t { none, sat, relu };

// Which results count as subnormal and are flushed by .FTZ.
enum class FtzPolicy : uint8_t {
    rounded_result,   // the IEEE-rounded result is subnormal
    after_rounding,   // the result rounded with unbounded exponent is below the smallest normal
    before_rounding,  // the exact result is below the smallest normal
};
// Measured on an H200: 0x3f7fffff * 0x00800000 gives 0, 0x21800001 * 0x1e7ffffe gives 0x00800000
// under RN and 0 under RZ.
inline constexpr FtzPolicy kFtzPolicy = FtzPolicy::after_rounding;

// What a NaN result of f64 arithmetic is.
enum class F64NanPolicy : uint8_t {
    canonical,  // always kF64DefaultNan
    quiet_bca,  // the first NaN among b, c, a, quieted; kF64DefaultNan if there is none
};
// Measured on an H200 for add, mul and fma. Conversions and roundings keep payload and sign too:
// f32 -> f64, f64 -> f32, f64 -> f16 and FRND.F64; a NaN f16 or bf16 result of an f32 is kF16Nan.
inline constexpr F64NanPolicy kF64NanPolicy = F64NanPolicy::quiet_bca;
inline constexpr uint64_t kF64DefaultNan = 0xfff8000000000000ull;

inline constexpr uint32_t kF32Nan = 0x7fffffffu;  // PTX ISA: canonical NaN of f32 operations
inline constexpr uint32_t kF16Nan = 0x7fffu;      // also bf16

// PTX ISA, cvt: NaN converts to zero, except that with an f64 source or a 64-bit destination it
// converts to 1 << (width - 1). False makes it zero always.
inline constexpr bool kNanToWideIntIsHighBit = true;

}  // namespace sassemu::lanes
