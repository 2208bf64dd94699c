// SPDX-License-Identifier: Apache-2.0
// Pairs of 8, 6 and 4 bits times two powers of two, to bf16 (cvt.scaled::n2::ue8m0): words as ptxas
// 13.5 makes them, against products in fp64 and a search through all values of bf16. No chip was at
// hand: the rules are those of the PTX ISA.
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
    uint64_t fields;  // bits 83:82 and 74:73 of the word, from 64 on
    double value(uint32_t code) const {
        if (!bias) return static_cast<int8_t>(code) / 64.0;
        code &= (1u << bits) - 1;
        const int places = bits - 1 - fraction;
        const int e = static_cast<int>(code >> fraction & ((1u << places) - 1)),
                  f = static_cast<int>(code & ((1u << fraction) - 1));
        double r = e ? std::ldexp((1 << fraction) + f, e - bias - fraction)
                     : std::ldexp(f, 1 - bias - fraction);
        if (bits == 8 && fraction == 2 && e == 31) r = f ? NAN : INFINITY;
        if (bits == 8 && fraction == 3 && e == 15 && f == 7) r = NAN;
        return code >> (bits - 1) ? -r : r;
    }
};
constexpr Format formats[] = {{"E5M2", 8, 2, 15, 0x00400}, {"E4M3", 8, 3, 7, 0x00600},
                              {"E2M3", 6, 3, 1, 0x40400},  {"E3M2", 6, 2, 3, 0x40600},
                              {"E2M1", 4, 1, 1, 0x40200},  {"S2_6", 8, 6, 0, 0x80400}};

uint32_t rounded(double x, bool finite, bool relu) {
    static const std::vector<double> values = [] {
        std::vector<double> v;
        for (uint32_t code = 0; code < 0x7f80; ++code)
            v.push_back(code >> 7 ? std::ldexp(128 + (code & 127), int(code >> 7) - 134)
                                  : std::ldexp(code & 127, -133));
        v.push_back(0x1p128);  // what is rounded to it is infinite
        return v;
    }();
    if (std::isnan(x)) return 0x7fff;
    if (relu && std::signbit(x)) return 0;
    const uint32_t sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::min(std::fabs(x), 0x1p128);
    auto code = static_cast<uint32_t>(std::lower_bound(values.begin(), values.end(), magnitude) -
                                      values.begin());
    if (values[code] != magnitude) {
        const double up = values[code] - magnitude, down = magnitude - values[code - 1];
        if (down < up || (down == up && code % 2)) --code;
    }
    if (code == 0x7f80 && finite) --code;
    return sign | code;
}

// What the chip would have of `b` and two scale factors.
uint32_t expected(const Format& f, uint32_t b, uint32_t scales, bool finite, bool relu) {
    const auto one = [&](uint32_t code, uint32_t scale) {
        const double by = scale == 255 ? NAN : std::exp2(static_cast<int>(scale) - 127);
        return rounded(f.value(code) * by, finite, relu);
    };
    return one(b & 255, scales & 255) | one(b >> (f.bits == 4 ? 4 : 8) & 255, scales >> 8 & 255)
                                            << 16;
}

// Which operand is what: b, c registers; b an immediate, uniform; c an immediate, uniform.
enum class Form { registers, b_immediate, b_uniform, c_immediate, c_uniform };

struct Case {
    const Format& format;
    Form form;
    unsigned part;   // of b: a half, or of E2M1 a byte
    unsigned scale;  // of c: a half, or from 2 on a byte for both values
    bool finite, relu;
};

Word word(const Case& c, uint32_t immediate) {
    uint64_t high =
        0x004fca0002001000 | c.format.fields | uint64_t{c.finite} << 13 | uint64_t{c.relu} << 11;
    uint64_t low = 0x7000 | 4 << 16 | uint64_t{c.scale} << 24;  // R4
    if (c.format.bits == 4)
        high |= uint64_t{c.part & 1} << 8 | uint64_t{c.part >> 1} << 24;
    else
        high |= uint64_t{c.part} << 24;
    const uint64_t b = 5, of_c = 6, uniform = 7;
    switch (c.form) {
        case Form::registers:
            return {high | of_c, low | 0x63e | b << 32};
        case Form::b_immediate:
            return {high | of_c, low | 0xa3e | uint64_t{immediate} << 32};
        case Form::b_uniform:
            return {high | of_c | 1 << 27, low | 0x23e | uniform << 32};
        case Form::c_immediate:
            return {high | b, low | 0xe3e | uint64_t{immediate} << 32};
        default:
            return {high | b | 1 << 27, low | 0x43e | uniform << 32};
    }
}

void check(Machine& m, const Case& c, std::mt19937& random) {
    // Immediates and uniform registers: scale factors that do something, or any bits.
    const uint32_t shared = random() % 2 ? 0x7f7f7f7f : static_cast<uint32_t>(random());
    m.ur(7) = shared;
    std::vector<uint32_t> b(32), scales(32);
    for (unsigned lane = 0; lane < 32; ++lane) {
        b[lane] = m.r(5, lane) = static_cast<uint32_t>(random());
        // Everything, small and large ones as often as those in the middle.
        static constexpr uint32_t special[] = {0, 1, 2, 127, 133, 253, 254, 255};
        const auto scale = [&] { return random() % 2 ? special[random() % 8] : random() & 255; };
        scales[lane] = m.r(6, lane) = scale() | scale() << 8 | scale() << 16 | scale() << 24;
        m.r(4, lane) = 0xdeadbeef;
        if (c.form == Form::b_immediate || c.form == Form::b_uniform) b[lane] = shared;
        if (c.form == Form::c_immediate || c.form == Form::c_uniform) scales[lane] = shared;
    }
    ASSERT_EQ(m.step("sm_100", word(c, shared)), Outcome::ok) << m.sass << " " << m.rejection;
    ASSERT_NE(m.sass.find(c.format.name), std::string::npos) << m.sass;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const uint32_t of_b = b[lane] >> (c.format.bits == 4 ? 8 * c.part : 16 * c.part),
                       byte = scales[lane] >> 8 * (c.scale - 2 & 3) & 255,
                       of_c = c.scale < 2 ? scales[lane] >> 16 * c.scale : byte | byte << 8;
        ASSERT_EQ(m.r(4, lane), expected(c.format, of_b, of_c, c.finite, c.relu))
            << m.sass << std::hex << ": b " << b[lane] << ", c " << scales[lane];
    }
}

TEST(ScaledUnpack, IsWhatThePtxIsaSays) {
    std::mt19937 random(5);
    for (const LevelTable* level : levels()) {
        Machine m(level);
        for (const Format& format : formats)
            for (const Form form : {Form::registers, Form::b_immediate, Form::b_uniform,
                                    Form::c_immediate, Form::c_uniform})
                for (unsigned part = 0; part < (format.bits == 4 ? 4u : 2u); ++part)
                    for (unsigned rest = 0; rest < 24; ++rest)
                        for (int again = 0; again < 8; ++again) {
                            check(m, {format, form, part, rest / 4, !!(rest & 1), !!(rest & 2)},
                                  random);
                            if (testing::Test::HasFatalFailure()) return;
                        }
    }
}

TEST(ScaledUnpack, TextIsNvdisasms) {
    const struct {
        const char *word, *text;
    } known[] = {
        {"004fca000200160400007f7f00077e3e",
         "F2FP.BF16.E4M3.UNPACK_B R7, R4, 4.5736980577097704378e-41.H0"},
        {"004fca000208140400007f7f00077e3e",
         "F2FP.BF16.S2_6.UNPACK_B R7, R4, 4.5736980577097704378e-41.H0"},
        {"004fca0002041207000000000007763e", "F2FP.BF16.E2M1.UNPACK_B R7, R0, R7.H0"},
        {"000fc400030413630000000405577"
         "63e",
         "F2FP.BF16.E2M1.UNPACK_B R87, R4.B3, R99.B3"},
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
