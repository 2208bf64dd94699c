// SPDX-License-Identifier: Apache-2.0
// QADD4, QMUL4, QFMA4: four values of 8, 6 or 4 bits. Every type and choice of lanes, any bits,
// against exact sums and products in fp64 and a search through all values of the result. No chip
// was at hand: the types are those of PTX ISA 9.4.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "harness.hpp"

namespace sassemu::test {
namespace {

struct Format {
    const char* name;
    int bits, fraction, bias;
};
constexpr Format formats[] = {{"E5M2x4", 8, 2, 15}, {"E4M3x4", 8, 3, 7}, {"E3M2x4", 6, 2, 3},
                              {"E2M3x4", 6, 3, 1},  {"E2M1x4", 4, 1, 1}, {"E8x4", 8, 0, 127}};

double value(const Format& f, uint32_t code) {
    code &= (1u << f.bits) - 1;
    if (f.fraction == 0) return code == 255 ? NAN : std::ldexp(1, static_cast<int>(code) - 127);
    const int places = f.bits - 1 - f.fraction;
    const int e = static_cast<int>(code >> f.fraction & ((1u << places) - 1)),
              m = static_cast<int>(code & ((1u << f.fraction) - 1));
    double r = e ? std::ldexp((1 << f.fraction) + m, e - f.bias - f.fraction)
                 : std::ldexp(m, 1 - f.bias - f.fraction);
    if (f.bits == 8 && f.fraction == 2 && e == 31) r = m ? NAN : INFINITY;
    if (f.bits == 8 && f.fraction == 3 && e == 15 && m == 7) r = NAN;
    return code >> (f.bits - 1) ? -r : r;
}

// To the nearest of all values of the format, to the even one of two.
uint32_t rounded(const Format& f, double x, bool finite) {
    if (std::isnan(x)) return 0x7f;
    const uint32_t sign = std::signbit(x) ? 0x80 : 0, largest = f.fraction == 3 ? 0x7e : 0x7b;
    const double magnitude = std::fabs(x);
    uint32_t best = 0;
    for (uint32_t code = 1; code <= largest; ++code) {
        const double now = std::fabs(magnitude - value(f, code)),
                     before = std::fabs(magnitude - value(f, best));
        if (now < before || (now == before && code % 2 == 0)) best = code;
    }
    // Halfway to what would come next and beyond: it overflows.
    const double top = value(f, largest), step = top - value(f, largest - 1);
    const bool over = std::isinf(x) || magnitude > top + step / 2 ||
                      (magnitude == top + step / 2 && largest % 2 == 1);
    if (!over) return sign | best;
    if (finite) return sign | largest;
    return f.fraction == 3 ? 0x7f : sign | 0x7c;
}

// p + c: where the exponents are far apart fp64 has not all bits, but what is rounded in the end is
// the same.
double sum(double p, double c) {
    if (std::isnan(p) || std::isnan(c) || std::isinf(p) || std::isinf(c)) return p + c;
    if (std::fabs(p) > 0x1p20) return p;
    if (p != 0 && std::fabs(p) < 0x1p-32) p = std::copysign(0x1p-32, p);
    if (p == 0 && c == 0) return p + c;
    return p + c;
}

struct Lanes {
    const char* name;
    unsigned bits, first, step;
};
constexpr Lanes lanes[] = {{"B3210", 8, 0, 8}, {"B3", 8, 24, 0},  {"B2", 8, 16, 0},
                           {"B1", 8, 8, 0},    {"B0", 8, 0, 0},   {"N7654", 4, 16, 4},
                           {"N3210", 4, 0, 4}, {"N6420", 4, 0, 8}};

struct Operand {
    const Format* format;
    const Lanes* lanes;
    bool negated;
    double at(uint32_t word, unsigned i) const {
        const double v = value(*format, word >> (lanes->first + lanes->step * i));
        return negated ? -v : v;
    }
    std::string text(const char* reg) const {
        return std::string(negated ? "-" : "") + reg + "." + lanes->name;
    }
};

TEST(Quads, EachElementIsRoundedOnce) {
    std::mt19937 random(9);
    const auto operand = [&](const Format& f, bool nibbles) {
        const auto all = f.bits == 4 && nibbles ? 8u : 5u;
        return Operand{&f, &lanes[random() % all], random() % 4 == 0};
    };
    for (const LevelTable* level : levels()) {
        Machine m(level);
        for (int round = 0; round < 3000; ++round) {
            const Format& to = formats[random() % 2];
            const bool finite = random() % 2;
            const auto op = random() % 3;
            const Operand a = operand(formats[random() % 6], true),
                          b = operand(formats[random() % 6], true), c = operand(to, false);
            const std::string sat = finite ? ".SATFINITE" : "";
            const std::string texts[] = {
                std::string("QADD4.") + to.name + "." + a.format->name + sat + " R4, " +
                    a.text("R5") + ", " + c.text("R7"),
                std::string("QMUL4.") + to.name + "." + a.format->name + "." + b.format->name +
                    sat + " R4, " + a.text("R5") + ", " + b.text("R6"),
                std::string("QFMA4.") + to.name + "." + a.format->name + "." + b.format->name +
                    sat + " R4, " + a.text("R5") + ", " + b.text("R6") + ", " + c.text("R7")};
            uint64_t bits[2];
            sassdec_asm_error error;
            ASSERT_EQ(sassdec_assemble(SASSDEC_SM_100, texts[op].c_str(), 0, nullptr, bits, &error),
                      SASSDEC_OK)
                << texts[op] << ": " << error.reason;
            for (unsigned lane = 0; lane < 32; ++lane)
                for (const unsigned r : {5u, 6u, 7u})
                    m.r(r, lane) = static_cast<uint32_t>(random());
            ASSERT_EQ(m.step("sm_100", Word(bits[1], bits[0])), Outcome::ok)
                << m.sass << " " << m.rejection;
            for (unsigned lane = 0; lane < 32; ++lane) {
                uint32_t want = 0;
                for (unsigned i = 0; i < 4; ++i) {
                    const double x = a.at(m.r(5, lane), i), y = b.at(m.r(6, lane), i),
                                 z = c.at(m.r(7, lane), i);
                    const double exact = op == 0 ? sum(x, z) : op == 1 ? x * y : sum(x * y, z);
                    want |= rounded(to, exact, finite) << 8 * i;
                }
                ASSERT_EQ(m.r(4, lane), want) << m.sass << std::hex << ": " << m.r(5, lane) << " "
                                              << m.r(6, lane) << " " << m.r(7, lane);
            }
        }
    }
}

// Words of attention with an FP4 KV cache, as FlashInfer ships it: e2m1 times the e4m3 scale
// factor.
TEST(Quads, WordsOfShippedKernelsExecute) {
    const struct {
        const char *word, *text;
        uint32_t result;
    } known[] = {{"000fc4000501b800200000030c15727c",
                  "QMUL4.E4M3x4.E2M1x4.E4M3x4.SATFINITE R21, R12.N3210, R3.B0", 0x4038484c},
                 {"000fc4000501b400200000030c15727c",
                  "QMUL4.E4M3x4.E2M1x4.E4M3x4.SATFINITE R21, R12.N7654, R3.B0", 0x54d444c0},
                 {"000fc4000501bc00000000030c15727c",
                  "QMUL4.E4M3x4.E2M1x4.E4M3x4.SATFINITE R21, R12.N6420, R3.B3210", 0xcc38284c}};
    for (const LevelTable* level : levels()) {
        Machine m(level);
        m.r(12, 7) = 0x7f3a2145;  // from the lowest on: 3 2 0.5 1 -1 1.5 -6 6
        m.r(3, 7) = 0x38b83040;   // 2 0.5 -1 1
        for (const auto& [word, text, result] : known)
            for (const char* arch : {"sm_100", "sm_103"}) {
                ASSERT_EQ(m.step(arch, Word(word)), Outcome::ok) << arch << " " << m.rejection;
                EXPECT_EQ(m.sass, text) << arch;
                EXPECT_EQ(m.r(21, 7), result) << m.sass;
            }
    }
}

}  // namespace
}  // namespace sassemu::test
