// SPDX-License-Identifier: Apache-2.0
// Pairs of f32 and bf16, divided by two powers of two, to 64ths of 8 bits (cvt.s2f6x2): words as
// ptxas 13.5 makes them, against quotients in fp64. No chip was at hand: the rules are those of the
// PTX ISA.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "harness.hpp"

namespace sassemu::test {
namespace {

uint32_t fixed(double x, uint32_t scale, bool relu) {
    const double by = scale == 255 ? NAN : std::exp2(static_cast<int>(scale) - 127);
    const double r = x / by * 64;
    if (std::isnan(r)) return 0x7f;
    if (relu && r < 0) return 0;
    const double near = std::nearbyint(std::clamp(r, -1000., 1000.));
    return static_cast<uint32_t>(static_cast<int>(std::clamp(near, -128., 127.))) & 0xff;
}

// Halves of what the formats hold, ties, values around the ends of the range, and any bits.
uint32_t operand(std::mt19937& random, uint32_t scale) {
    static constexpr uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                           0x7fc00000, 0xffffffff, 1,          0x807fffff};
    switch (random() % 4) {
        case 0:
            return special[random() % std::size(special)];
        case 1:
            return static_cast<uint32_t>(random());
        default: {
            const double ties = (static_cast<int>(random() % 600) - 300) / 128.0;
            const double x = std::ldexp(ties, static_cast<int>(scale) - 127);
            return std::bit_cast<uint32_t>(static_cast<float>(x));
        }
    }
}

TEST(FixedPoint, IsWhatThePtxIsaSays) {
    std::mt19937 random(3);
    for (const LevelTable* level : levels()) {
        Machine m(level);
        for (unsigned again = 0; again < 4000; ++again) {
            const bool halves = again & 1, relu = again & 2, immediate = again & 4;
            const uint32_t shared = random() % 2 ? 0x7f7f0000 : static_cast<uint32_t>(random());
            std::vector<uint32_t> a(32), b(32), c(32);
            for (unsigned lane = 0; lane < 32; ++lane) {
                c[lane] = m.r(6, lane) = static_cast<uint32_t>(random());
                if (immediate) c[lane] = shared;
                a[lane] = m.r(5, lane) = operand(random, c[lane] >> 24);
                b[lane] = m.r(7, lane) = halves ? operand(random, c[lane] >> 24) >> 16 << 16 |
                                                      operand(random, c[lane] >> 16 & 255) >> 16
                                                : operand(random, c[lane] >> 16 & 255);
            }
            // c is R6 or the immediate; b R7, a R5.
            const uint64_t high = (halves ? 0x004fc80004a81200 : 0x004fc80004a05000) |
                                  uint64_t{relu} << 11 | (immediate ? 7 : 6);
            const uint64_t low = (halves ? 0xff040000 : 0x05040000) | 0x7000;
            const Word word = immediate ? Word(high, low | 0x43e | uint64_t{shared} << 32)
                                        : Word(high, low | 0x23e | uint64_t{7} << 32);
            ASSERT_EQ(m.step("sm_100", word), Outcome::ok) << m.sass << " " << m.rejection;
            for (unsigned lane = 0; lane < 32; ++lane) {
                const uint32_t first = halves ? b[lane] >> 16 << 16 : a[lane],
                               second = halves ? b[lane] << 16 : b[lane];
                const uint32_t want =
                    fixed(std::bit_cast<float>(first), c[lane] >> 24, relu) << 8 |
                    fixed(std::bit_cast<float>(second), c[lane] >> 16 & 255, relu) | c[lane] << 16;
                ASSERT_EQ(m.r(4, lane), want)
                    << m.sass << std::hex << ": " << first << " " << second << " by " << c[lane];
            }
        }
    }
}

TEST(FixedPoint, TextIsNvdisasms) {
    const struct {
        const char *word, *text;
    } known[] = {
        {"004fc80004a812047f7f0000ff00743e",
         "F2FP.SATFINITE.S2_6.BF16.UNPACK_B_MERGE_C R0, R4, 3.38953138925153547590e+38"},
        {"004fc80004a81a047f7f0000ff00743e",
         "F2FP.SATFINITE.RELU.S2_6.BF16.UNPACK_B_MERGE_C R0, R4, 3.38953138925153547590e+38"},
        {"008fc80004a8120700000000ff00723e",
         "F2FP.SATFINITE.S2_6.BF16.UNPACK_B_MERGE_C R0, R0, R7"},
        {"004fc80004a050077f7f00000000743e",
         "F2FP.SATFINITE.S2_6.F32.PACK_AB_MERGE_C R0, R0, R7, 3.38953138925153547590e+38"},
    };
    Machine m(levels().front());
    for (const auto& [word, text] : known)
        for (const char* arch : {"sm_100", "sm_103", "sm_107", "sm_110", "sm_120", "sm_121"}) {
            EXPECT_EQ(m.step(arch, Word(word)), Outcome::ok) << arch << " " << text;
            EXPECT_EQ(m.sass, text) << arch;
        }
}

}  // namespace
}  // namespace sassemu::test
