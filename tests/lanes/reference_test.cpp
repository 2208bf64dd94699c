// SPDX-License-Identifier: Apache-2.0
// What the scalar level computes, against the host's floating-point unit in all four rounding
// modes, exact quad-precision arithmetic for f16, and values worked out by hand. Compiled at v2.
#include <fenv.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "emu/lanes/lanes.hpp"
#include "tests/lanes/operands.hpp"

namespace lane_tests {
namespace {

namespace L = sassemu::L;
using L::Rounding;
namespace soft = L::soft;
using soft::Bf16;
using soft::F16;
using soft::F32;
using soft::F64;

constexpr Rounding kModes[] = {Rounding::rn, Rounding::rm, Rounding::rp, Rounding::rz};
int host_mode(Rounding r) {
    switch (r) {
        case Rounding::rm:
            return FE_DOWNWARD;
        case Rounding::rp:
            return FE_UPWARD;
        case Rounding::rz:
            return FE_TOWARDZERO;
        default:
            return FE_TONEAREST;
    }
}
// Runs f in the host's rounding mode r; the operands and the result pass through volatile memory,
// so that nothing moves across the changes of mode.
template <class T, class F>
T rounded(Rounding r, F f, T a, T b, T c) {
    volatile T x = a, y = b, z = c;
    fesetround(host_mode(r));
    volatile T result = f(x, y, z);
    fesetround(FE_TONEAREST);
    return result;
}
float f32(uint64_t x) { return __builtin_bit_cast(float, (uint32_t)x); }
double f64(uint64_t x) { return __builtin_bit_cast(double, x); }
uint64_t bits(float x) { return std::isnan(x) ? L::kF32Nan : __builtin_bit_cast(uint32_t, x); }
uint64_t bits(double x) {
    return std::isnan(x) ? L::kF64DefaultNan : __builtin_bit_cast(uint64_t, x);
}

// Conversions of f64 keep a NaN's sign and payload, quieted: as the H200 and as x86 do.
uint64_t raw(float x) { return __builtin_bit_cast(uint32_t, x); }
uint64_t raw(double x) { return __builtin_bit_cast(uint64_t, x); }
// A NaN result of f64 arithmetic is the first NaN among b, c, a, quieted (measured on an H200).
uint64_t expected(double result, uint64_t a, uint64_t b, uint64_t c) {
    if (!std::isnan(result)) return bits(result);
    for (uint64_t x : {b, c, a})
        if (std::isnan(f64(x))) return x | 1ull << 51;
    return 0xfff8000000000000ull;
}
uint64_t expected(float result, uint64_t, uint64_t, uint64_t) { return bits(result); }

template <class F, class T, T (*From)(uint64_t)>
void against_host(int exponent_bits, int fraction_bits) {
    Random random(11);
    for (int i = 0; i < 300000; ++i) {
        const uint64_t a = random_float(random, exponent_bits, fraction_bits);
        const uint64_t b = random_float(random, exponent_bits, fraction_bits);
        uint64_t c = random_float(random, exponent_bits, fraction_bits);
        if (random.below(4) == 0) c = bits(-(From(a) * From(b)));
        for (Rounding r : kModes) {
            const T sum = rounded<T>(
                r, [](T x, T y, T) { return x + y; }, From(a), From(b), 0);
            const T product = rounded<T>(
                r, [](T x, T y, T) { return x * y; }, From(a), From(b), 0);
            const T fused = rounded<T>(
                r, [](T x, T y, T z) { return std::fma(x, y, z); }, From(a), From(b), From(c));
            ASSERT_EQ(soft::add<F>(a, b, r), expected(sum, a, b, 0))
                << std::hex << a << " + " << b << " mode " << (int)r;
            ASSERT_EQ(soft::mul<F>(a, b, r), expected(product, a, b, 0))
                << std::hex << a << " * " << b << " mode " << (int)r;
            ASSERT_EQ(soft::fma<F>(a, b, c, r), expected(fused, a, b, c))
                << std::hex << a << " * " << b << " + " << c << " mode " << (int)r;
        }
    }
}
TEST(SoftFloat, F32AsTheHost) { against_host<F32, float, f32>(8, 23); }
TEST(SoftFloat, F64AsTheHost) { against_host<F64, double, f64>(11, 52); }

TEST(SoftFloat, ConversionsAsTheHost) {
    Random random(12);
    for (int i = 0; i < 300000; ++i) {
        const uint64_t d = random_integral(random, 11, 52);
        const uint64_t n = random_integer(random, 64);
        for (Rounding r : kModes) {
            volatile double vd = f64(d);
            volatile uint64_t vn = n;
            fesetround(host_mode(r));
            volatile float narrowed = (float)vd;
            volatile double integral = nearbyint(vd);
            volatile float from_s = (float)(int64_t)vn;
            volatile double from_s64 = (double)(int64_t)vn;
            fesetround(FE_TONEAREST);
            ASSERT_EQ((soft::convert<F64, F32>(d, r)), raw((float)narrowed)) << std::hex << d;
            ASSERT_EQ(soft::round_integral<F64>(d, r), raw((double)integral)) << std::hex << d;
            const bool negative = (int64_t)n < 0;
            const uint64_t magnitude = negative ? 0 - n : n;
            ASSERT_EQ(soft::from_integer<F32>(negative, magnitude, r), bits((float)from_s)) << n;
            ASSERT_EQ(soft::from_integer<F64>(negative, magnitude, r), bits((double)from_s64)) << n;
            const double x = integral;
            if (std::isnan(x)) continue;
            const uint64_t s32 = x >= 2147483647.0    ? 2147483647u
                                 : x <= -2147483648.0 ? 1ull << 63 >> 31
                                                      : 0;
            const uint64_t got = soft::to_integer<F64>(d, 32, true, r, 0);
            if (s32) {
                ASSERT_EQ((uint32_t)got, (uint32_t)(x > 0 ? 0x7fffffffu : 0x80000000u));
            } else {
                ASSERT_EQ((int32_t)got, (int32_t)x) << std::hex << d;
            }
            const uint64_t u64 = soft::to_integer<F64>(d, 64, false, r, 0);
            const uint64_t want = x >= 18446744073709551616.0 ? ~0ull : x <= 0 ? 0 : (uint64_t)x;
            ASSERT_EQ(u64, want) << std::hex << d;
        }
    }
}

// f16 and bf16 by exact arithmetic: 113 bits hold any a * b + c of f16, and of bf16 when the
// exponents are near. The result is the neighbour of least distance, ties to even.
template <class F>
__float128 exact(uint64_t x) {
    const int field = (int)(x >> F::kFraction) & F::kMaxField;
    __float128 v = (__float128)((x & F::kFractionMask) | (field ? 1ull << F::kFraction : 0));
    for (int e = (field ? field : 1) - F::kBias - F::kFraction; e != 0; e += e < 0 ? 1 : -1) {
        v = e < 0 ? v / 2 : v * 2;
    }
    return x & F::kSign ? -v : v;
}
template <class F>
bool is_nearest(__float128 value, uint64_t got) {
    const __float128 sign = value < 0 ? -1 : 1;
    if (((got & F::kSign) != 0) != (value < 0)) return false;
    value *= sign;
    const uint64_t magnitude = got & (F::kSign - 1);
    if (magnitude > F::kInf) return false;
    const auto distance = [&](uint64_t x) {
        // Infinity stands for the next power of two when rounding to nearest.
        const __float128 v =
            x == F::kInf ? exact<F>(F::kInf - 1) + exact<F>(F::kInf - 1) - exact<F>(F::kInf - 2)
                         : exact<F>(x);
        return v > value ? v - value : value - v;
    };
    if (magnitude == F::kInf && value >= exact<F>(F::kInf - 1) * 2) return true;
    const __float128 mine = distance(magnitude);
    if (magnitude > 0) {
        const __float128 below = distance(magnitude - 1);
        if (below < mine || (below == mine && (magnitude & 1))) return false;
    }
    if (magnitude < F::kInf) {
        const __float128 above = distance(magnitude + 1);
        if (above < mine || (above == mine && (magnitude & 1))) return false;
    }
    return true;
}
TEST(SoftFloat, F16FusedIsTheNearest) {
    Random random(13);
    auto x = std::make_unique<Arguments>();
    for (int i = 0; i < 2000; ++i) {
        fill(*x, Operands::halves, random);
        for (int lane = 0; lane < 32; ++lane) {
            const uint64_t a = x->a[lane] & 0xffff, b = x->b[lane] & 0xffff,
                           c = x->c[lane] & 0xffff;
            if (L::scalar::is_nan<F16>(a) || L::scalar::is_nan<F16>(b) || L::scalar::is_nan<F16>(c))
                continue;
            if ((a & F16::kInf) == F16::kInf || (b & F16::kInf) == F16::kInf ||
                (c & F16::kInf) == F16::kInf)
                continue;
            const __float128 value = exact<F16>(a) * exact<F16>(b) + exact<F16>(c);
            if (value == 0) continue;
            const uint64_t got = soft::fma<F16>(a, b, c, Rounding::rn);
            ASSERT_TRUE(is_nearest<F16>(value, got))
                << std::hex << a << " " << b << " " << c << " -> " << got;
        }
    }
}
TEST(SoftFloat, F32ToF16AndBf16IsTheNearest) {
    Random random(14);
    for (int i = 0; i < 200000; ++i) {
        uint64_t a = random_float(random, 8, 23);
        if (random.below(2)) a = (a & 0x807ff000u) | (0x66u + random.below(48)) << 23;
        if ((a & F32::kInf) == F32::kInf || (a & (F32::kSign - 1)) == 0) continue;
        const uint64_t h = soft::convert<F32, F16>(a, Rounding::rn);
        ASSERT_TRUE(is_nearest<F16>(exact<F32>(a), h)) << std::hex << a << " -> " << h;
        const uint64_t b = soft::convert<F32, Bf16>(a, Rounding::rn);
        ASSERT_TRUE(is_nearest<Bf16>(exact<F32>(a), b)) << std::hex << a << " -> " << b;
    }
}

// Values by hand, and the rules that are NVIDIA's rather than IEEE's.
TEST(ScalarRules, NanInfinityAndZero) {
    EXPECT_EQ(soft::add<F32>(0x7f800000, 0xff800000, Rounding::rn), 0x7fffffffu);
    EXPECT_EQ(soft::add<F32>(0x7fa12345, 0x3f800000, Rounding::rn), 0x7fffffffu);
    EXPECT_EQ(soft::fma<F32>(0, 0x7f800000, 0x3f800000, Rounding::rz), 0x7fffffffu);
    EXPECT_EQ(soft::mul<F16>(0x7c00, 0x8000, Rounding::rn), 0x7fffu);
    EXPECT_EQ(soft::add<F32>(0x3f800000, 0xbf800000, Rounding::rn), 0u);
    EXPECT_EQ(soft::add<F32>(0x3f800000, 0xbf800000, Rounding::rm), 0x80000000u);
    EXPECT_EQ(soft::mul<F32>(0x80000000, 0x3f800000, Rounding::rn), 0x80000000u);
    EXPECT_EQ(soft::mul<F32>(0x7f7fffff, 0x40000000, Rounding::rz), 0x7f7fffffu);
    EXPECT_EQ(soft::mul<F32>(0x7f7fffff, 0xc0000000, Rounding::rp), 0xff7fffffu);
    EXPECT_EQ(soft::mul<F32>(0x7f7fffff, 0xc0000000, Rounding::rm), 0xff800000u);
}
TEST(ScalarRules, FlushToZero) {
    // 0x3f7fffff * 0x00800000 is a tie between the largest subnormal and the smallest normal.
    const bool after = sassemu::lanes::kFtzPolicy != sassemu::lanes::FtzPolicy::rounded_result;
    EXPECT_EQ(soft::mul<F32>(0x3f7fffff, 0x00800000, Rounding::rn), 0x00800000u);
    EXPECT_EQ(soft::mul<F32>(0x3f7fffff, 0x00800000, Rounding::rn, true), after ? 0u : 0x00800000u);
    EXPECT_EQ(soft::mul<F32>(0xbf000000, 0x00800000, Rounding::rn, true), 0x80000000u);
    EXPECT_EQ(soft::add<F32>(0x80000001, 0x80000001, Rounding::rn, true), 0x80000000u);
    EXPECT_EQ(soft::add<F16>(0x0001, 0x0400, Rounding::rn, true), 0x0400u);
    EXPECT_EQ(soft::fma<F16>(0x0001, 0x4000, 0, Rounding::rn, false), 0x0002u);
}
TEST(ScalarRules, MinimumMaximumSaturation) {
    using L::scalar::minmax;
    EXPECT_EQ((minmax<F32, false, false>(0x7fa00001, 0x40000000)), 0x40000000u);
    EXPECT_EQ((minmax<F32, true, false>(0x40000000, 0xffc00000)), 0x40000000u);
    EXPECT_EQ((minmax<F32, true, false>(0x7fa00001, 0xffc00000)), 0x7fffffffu);
    EXPECT_EQ((minmax<F32, false, true>(0x7fa00001, 0x40000000)), 0x7fffffffu);
    EXPECT_EQ((minmax<F32, false, false>(0, 0x80000000)), 0x80000000u);
    EXPECT_EQ((minmax<F32, true, false>(0x80000000, 0)), 0u);
    EXPECT_EQ(L::scalar::fsat(0x7fc00000), 0u);
    EXPECT_EQ(L::scalar::fsat(0x80000000), 0u);
    EXPECT_EQ(L::scalar::fsat(0x40000000), 0x3f800000u);
    EXPECT_EQ(L::scalar::fsat(0x3f000000), 0x3f000000u);
    EXPECT_EQ(L::scalar::post16<F16>(0x8001, L::Post::relu), 0u);
    EXPECT_EQ(L::scalar::post16<F16>(0x7fff, L::Post::relu), 0x7fffu);
    EXPECT_EQ(L::scalar::post16<Bf16>(0x7fff, L::Post::sat), 0u);
    EXPECT_EQ(L::scalar::post16<Bf16>(0x4000, L::Post::sat), 0x3f80u);
}
TEST(ScalarRules, Integers) {
    EXPECT_EQ(L::scalar::prmt(0x33221100, 0x77665544, 0x7531), 0x77553311u);
    EXPECT_EQ(L::scalar::prmt(0x00008000, 0, 0x9999), 0xffffffffu);
    EXPECT_EQ(L::scalar::lop3(0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x1b), 0x1b1b1b1bu);
    EXPECT_EQ(L::scalar::sgxt_s(0x80, 8), 0xffffff80u);
    EXPECT_EQ(L::scalar::sgxt_s(0x12345678, 0), 0u);
    EXPECT_EQ(L::scalar::sgxt_s(0x92345678, 40), 0x92345678u);
    EXPECT_EQ(L::scalar::dp4a(0xff01ff01, 0x02020202, 1, true, true), 1u);
    EXPECT_EQ(L::scalar::dp4a(0xff01ff01, 0x02020202, 1, false, true), 1025u);
    EXPECT_EQ(L::scalar::sat_narrow(0xffffff00, 8, true, true), 0xffffff80u);
    EXPECT_EQ(L::scalar::sat_narrow(0xffffff00, 8, true, false), 0u);
    EXPECT_EQ(L::scalar::brev(0x00000005), 0xa0000000u);
    // NaN: PTX ISA, cvt.
    EXPECT_EQ((L::scalar::to_int<F32, Rounding::rz, 32, true>(0x7fc00000)), 0u);
    EXPECT_EQ((L::scalar::to_int<F32, Rounding::rz, 64, false>(0x7fc00000)), 1ull << 63);
    EXPECT_EQ((L::scalar::to_int<F64, Rounding::rz, 32, true>(0x7ff8000000000000)), 1ull << 31);
}
TEST(ScalarRules, Add3CarriesCountWrapArounds) {
    alignas(64) uint32_t row[32];
    L::Mask p0 = 0, p1 = 0;
    const L::V32 ones = L::splat(~0u);
    L::store(row, L::add3_carry(ones, ones, ones, 0xff, 0xf, &p0, &p1));
    EXPECT_EQ(row[0], 0xffffffffu);  // 3 * (2^32 - 1) + 2
    EXPECT_EQ(row[5], 0xfffffffeu);
    EXPECT_EQ(row[31], 0xfffffffdu);
    EXPECT_EQ(p0, ~0u);
    EXPECT_EQ(p1, ~0u);
    L::store(row, L::add3_carry(ones, L::splat(0), L::splat(0), 1, 0, &p0, &p1));
    EXPECT_EQ(p0, 1u);
    EXPECT_EQ(p1, 0u);
}
TEST(ScalarRules, Comparisons) {
    alignas(64) uint32_t a[32] = {0x3f800000, 0x80000000, 0x7fc00000, 0x40000000};
    alignas(64) uint32_t b[32] = {0x40000000, 0x00000000, 0x40000000, 0x3f800000};
    const auto run = [&](L::Compare c) { return L::fcmp(L::load(a), L::load(b), c) & 0xf; };
    EXPECT_EQ(run(L::Compare::lt), 0x1u);
    EXPECT_EQ(run(L::Compare::eq), 0x2u);
    EXPECT_EQ(run(L::Compare::gt), 0x8u);
    EXPECT_EQ(run(L::Compare::ne), 0x9u);
    EXPECT_EQ(run(L::Compare::neu), 0xdu);
    EXPECT_EQ(run(L::Compare::nan), 0x4u);
    EXPECT_EQ(run(L::Compare::num), 0xbu);
    EXPECT_EQ(run(L::Compare::geu), 0xeu);
    EXPECT_EQ(run(L::Compare::t), 0xfu);
}

}  // namespace
}  // namespace lane_tests
