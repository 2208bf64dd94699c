// SPDX-License-Identifier: Apache-2.0
// MUFU: values near those of the C library in double precision, the documented special cases,
// agreement of all levels. That every bit is the hardware's is tested in
// tests/hardware/special_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

enum Function { cos_, sin_, ex2, lg2, rcp, rsq, rcp64h, rsq64h, sqrt_, tanh_ };

Word mufu(Function f) {
    Word w("00000000000000000000000200007308");  // MUFU R0, R2
    return w.set(77, 74, f);
}
float single(uint32_t u) {
    float x;
    std::memcpy(&x, &u, 4);
    return x;
}
uint32_t run(const LevelTable* level, Function f, uint32_t x) {
    Machine m(level);
    for (unsigned lane = 0; lane < 32; ++lane) m.r(2, lane) = x;
    EXPECT_EQ(m.step("sm_90", mufu(f)), Outcome::ok);
    return m.r(0, 31);
}
double exact(Function f, double x) {
    constexpr double two_pi = 6.283185307179586476925;
    switch (f) {
        case cos_:
            return std::cos(two_pi * std::remainder(x, 1.0));
        case sin_:
            return std::sin(two_pi * std::remainder(x, 1.0));
        case ex2:
            return std::exp2(x);
        case lg2:
            return std::log2(x);
        case rcp:
            return 1 / x;
        case rsq:
            return 1 / std::sqrt(x);
        case sqrt_:
            return std::sqrt(x);
        default:
            return std::tanh(x);
    }
}

// The largest error that the PTX ISA allows the .approx instructions: relative, or absolute where
// that is larger.
struct Bound {
    double relative, absolute;
};
Bound bound(Function f) {
    switch (f) {
        case cos_:
        case sin_:
            return {0, 0x1p-20};
        case lg2:
            return {0x1p-22, 0x1p-22};
        case tanh_:
            return {0x1p-10, 0};
        default:
            return {0x1p-22, 0};
    }
}

TEST(Special, ValuesAreNearTheExactOnesAndAllLevelsAgree) {
    std::mt19937 rng(5);
    for (Function f : {cos_, sin_, ex2, lg2, rcp, rsq, sqrt_, tanh_}) {
        for (int round = 0; round < 60; ++round) {
            uint32_t x[32], first[32] = {};
            for (uint32_t& v : x) {
                const int range = f == ex2                 ? 13
                                  : f == cos_ || f == sin_ ? 20
                                  : f == tanh_             ? 16
                                                           : 200;
                const uint32_t field = 127 - static_cast<uint32_t>(range) / 2 + rng() % range;
                v = field << 23 | (rng() & 0x7fffff);
                const bool signs = f != lg2 && f != rsq && f != sqrt_;
                if (signs && rng() % 2) v |= 0x80000000u;
            }
            bool have = false;
            for (const LevelTable* level : levels()) {
                Machine m(level);
                for (unsigned lane = 0; lane < 32; ++lane) m.r(2, lane) = x[lane];
                ASSERT_EQ(m.step("sm_90", mufu(f)), Outcome::ok);
                for (unsigned lane = 0; lane < 32; ++lane) {
                    if (have) {
                        ASSERT_EQ(m.r(0, lane), first[lane]) << m.sass << " " << level->name;
                    }
                    first[lane] = m.r(0, lane);
                }
                have = true;
            }
            for (unsigned lane = 0; lane < 32; ++lane) {
                const double e = exact(f, single(x[lane])), got = single(first[lane]);
                if (std::abs(e) < 0x1p-126) {  // flushed
                    EXPECT_EQ(got, 0);
                    continue;
                }
                const Bound b = bound(f);
                EXPECT_LE(std::abs(got - e), std::max(b.relative * std::abs(e), b.absolute))
                    << "function " << f << " of " << single(x[lane]);
            }
        }
    }
}

TEST(Special, DocumentedSpecialCases) {
    constexpr uint32_t inf = 0x7f800000u, ninf = 0xff800000u, nan = 0x7fffffffu, n0 = 0x80000000u;
    const struct {
        Function f;
        uint32_t x, r;
    } cases[] = {
        {rcp, 0, inf},
        {rcp, n0, ninf},
        {rcp, inf, 0},
        {rcp, ninf, n0},
        {rcp, 0x00400000u, inf},
        {rcp, 0x7f000000u, 0},
        {rsq, 0, inf},
        {rsq, n0, ninf},
        {rsq, 0xbf800000u, nan},
        {rsq, inf, 0},
        {rsq, ninf, nan},
        {rsq, 0x40800000u, 0x3f000000u},
        {sqrt_, n0, n0},
        {sqrt_, inf, inf},
        {sqrt_, 0xc0000000u, nan},
        {sqrt_, 0x40800000u, 0x40000000u},
        {ex2, ninf, 0},
        {ex2, inf, inf},
        {ex2, n0, 0x3f800000u},
        {ex2, 0x40400000u, 0x41000000u},
        {ex2, 0xc3000000u, 0},
        {ex2, 0x43000000u, inf},
        {lg2, 0, ninf},
        {lg2, n0, ninf},
        {lg2, inf, inf},
        {lg2, 0xbf800000u, nan},
        {lg2, 0x3f800000u, 0},
        {lg2, 0x00000001u, ninf},
        {sin_, n0, n0},
        {sin_, inf, nan},
        {sin_, 0x3e800000u, 0x3f800000u},
        {cos_, 0, 0x3f800000u},
        {cos_, ninf, nan},
        {cos_, 0x3f000000u, 0xbf800000u},
        {tanh_, inf, 0x3f800000u},
        {tanh_, ninf, 0xbf800000u},
        {tanh_, n0, n0},
        {tanh_, 0x00000007u, 0x00000007u},
        {rcp64h, 0x3ff00000u, 0x3ff00000u},
        {rcp64h, 0xc0000000u, 0xbfe00000u},
        {rcp64h, 0x0000ffffu, 0x7ff00000u},
        {rcp64h, 0x7ff00000u, 0},
        {rcp64h, 0x7ff00001u, nan},
        {rcp64h, 0x7fe00000u, 0},
        {rsq64h, 0x40100000u, 0x3fe00000u},
        {rsq64h, 0x80000000u, 0xfff00000u},
        {rsq64h, 0xbff00000u, nan},
        {rsq64h, 0x7ff00000u, 0},
    };
    for (const LevelTable* level : levels()) {
        for (const auto& c : cases)
            EXPECT_EQ(run(level, c.f, c.x), c.r) << "function " << c.f << " of " << std::hex << c.x;
        for (Function f : {cos_, sin_, ex2, lg2, rcp, rsq, sqrt_, tanh_})
            EXPECT_EQ(run(level, f, 0xffa00001u), nan) << "function " << f;
    }
}

TEST(Special, HalfPrecisionReadsTheChosenHalf) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        for (unsigned lane = 0; lane < 32; ++lane) m.r(2, lane) = 0x40003c00u;  // 2, 1
        ASSERT_EQ(m.step("sm_90", mufu(ex2).set(72, 72, 1).set(60, 60, 1)), Outcome::ok);
        EXPECT_EQ(m.sass, "MUFU.EX2.F16 R0, R2.H1");
        EXPECT_EQ(m.r(0, 0), 0x4400u);
    }
}

}  // namespace
}  // namespace sassemu::test
