// SPDX-License-Identifier: Apache-2.0
// Expressions of the debugger: what C says of integers and floating point is what they say; text
// that is none ends in one line that names the column; nothing is read outside of what there is.
#include <gtest/gtest.h>

#include <random>

#include "tests/debug/lane.hpp"

namespace sassemu {
namespace {

using debug::Expression;
using debug::Value;
using test::Lane;

TEST(Expressions, AreReadAsInC) {
    Lane lane;
    const auto is = [&](const char* text, const char* wanted, char format = 0) {
        EXPECT_EQ(lane.print(text, format), wanted) << text;
    };
    is("1 + 2 * 3 - 8 / 3 % 2", "7");
    is("10 - 4 - 3", "3");
    is("1 << 4 | 1 << 1 & 3 ^ 1", std::to_string(1 << 4 | ((1 << 1 & 3) ^ 1)).c_str());
    is("-7 / 2", "-3");
    is("-7 % 2", "-1");
    is("7u > -1", "0");  // -1 becomes unsigned
    is("7 > -1", "1");
    is("2147483647", "2147483647");
    is("2147483648 + 1", "2147483649");
    is("0xffffffff", "4294967295");
    is("0xffffffff + 1", "0");
    is("0xffffffffL + 1", "4294967296");
    is("18446744073709551615", "18446744073709551615");
    is("18446744073709551616",
       "error: expression '18446744073709551616': column 1: "
       "'184467440737' where a number of at most 64 bits should be");
    is("1 ? 2 : 0 ? 3 : 4", "2");
    is("0 ? 2 : 0 ? 3 : 4", "4");
    is("!5 + !0 + ~0", "0");
    is("1 || 1 / 0", "1");
    is("0 && 1 / 0", "0");
    is("1 / 0", "error: expression: division by zero");
    is("1 % 0", "error: expression: division by zero");
    is("1 << 32", "0");
    is("1L << 32", "4294967296");
    is("1 << 64", "0");
    is("-1 >> 40", "0");
    is("(-2147483647 - 1) / -1", "-2147483648");
    is("(-9223372036854775807 - 1) / -1", "-9223372036854775808");
    is("(-9223372036854775807 - 1) % -1", "0");
    is("1.5f * 2", "3");
    is("0.1f + 0.2f", "0.300000012");
    is("0.1 + 0.2", "0.30000000000000004");
    is("1 / 2.", "0.5");
    is("1e3", "1000");
    is("1 / 0.", "inf");
    is("(int)3.9", "3");
    is("(unsigned char)300", "44");
    is("(float)1", "1");
    is("(short)0x8000", "-32768");
    is("(bool)0.5", "true");
    is("5 % 2.", "error: expression: '%' of floating-point values");
    is("-5", "0xfffffffb", 'x');
    is(("(int " + std::string(64, '*') + ")0").c_str(),
       ("(int " + std::string(64, '*') + ") 0x0").c_str());
    const std::string many = "(int " + std::string(200000, '*') + ")0";  // each had a copy of it
    EXPECT_NE(lane.print(many).find("a type with fewer '*'"), std::string::npos);
    is("5", "101", 't');
    is("65", "65 'A'", 'c');
}

TEST(Expressions, OfIntegersAreThoseOfTheHost) {
    Lane lane;
    std::mt19937 random(7);
    const auto draw = [&]() -> int32_t {
        const uint32_t v = random();
        return static_cast<int32_t>(v >> (v & 31));
    };
    for (int round = 0; round < 2000; ++round) {
        const int64_t a = draw(), b = draw();
        const auto ua = static_cast<uint32_t>(a), ub = static_cast<uint32_t>(b);
        lane.set(0, ua);
        lane.set(1, ub);
        const auto check = [&](const char* text, uint64_t wanted) {
            const auto v = lane.value(text);
            ASSERT_TRUE(v.ok()) << text;
            EXPECT_EQ(v->bits(), wanted & (v->bytes.size() == 4 ? 0xffffffffu : ~uint64_t{0}))
                << text << " of " << a << " and " << b;
        };
        check("$R0 + $R1", ua + ub);
        check("$R0.s - $R1.s", static_cast<uint64_t>(a - b));
        check("$R0 * $R1", ua * ub);
        check("$R0.s < $R1.s", a < b);
        check("$R0 < $R1", ua < ub);
        check("$R0 >= $R1", ua >= ub);
        check("$R0.s >> ($R1 & 31)", static_cast<uint64_t>(a >> (ub & 31)));
        check("$R0 >> ($R1 & 31)", ua >> (ub & 31));
        check("($R0 ^ $R1) | ~$R0 & $R1", (ua ^ ub) | (~ua & ub));
        if (ub) check("$R0 / $R1", ua / ub);
        if (b) check("$R0.s % $R1.s", static_cast<uint64_t>(a % b));
        check("$R0.64", uint64_t{ub} << 32 | ua);
    }
}

TEST(Expressions, ReachRegistersMemoryAndWhoTheLaneIs) {
    Lane lane;
    lane.set(2, 0x3fc00000);
    lane.warp().p[3] = 1u << Lane::lane;
    lane.warp().uniform[7] = 99;
    const auto is = [&](const char* text, const char* wanted) {
        EXPECT_EQ(lane.print(text), wanted) << text;
    };
    is("$R2.f", "1.5");
    is("R2", "1069547520");
    is("R2.f", "error: expression: 'unsigned int' has no members");
    is("$P3 + $P2 + $PT", "2");
    is("$UR7", "99");
    is("$RZ + $URZ", "0");
    is("$R16",
       "error: $R16: there is no such register; R0, UR0, P0, UP0, ..., pc, lane, warp, cta, "
       "active, clock, position");
    is("$lane + $warp * 100 + $position", "182");
    is("threadIdx.x + threadIdx.y * 64", "37");
    is("blockIdx.x * blockDim.x", "192");
    is("threadIdx.w", "error: expression: 'uint3' has no member 'w'");
    is("words[7]", "7");
    is("*(int *)($R4.64 + 40)", "10");
    is("((int *)$R4.64)[3]", "3");
    is("*((int *)$R4.64 + 2) + 1", "3");
    is("words[3]@4", "{3, 4, 5, 6}");
    is("&words[2] == $R4.64 + 8", "1");
    is("sizeof", "error: 'sizeof': there is no such variable or buffer here");
    is("words + 1 == &words[1]", "1");
    for (const char* text :
         {"words[64]", "words[-1]", "*(int *)0", "*(long *)($R4.64 + 252)", "words[63]@2",
          "words[0]@1000000", "words@1000000", "words[9223372036854775807]"})
        EXPECT_TRUE(lane.print(text).starts_with("error: ")) << text << " " << lane.print(text);
}

TEST(Expressions, WhatIsNoneNamesTheColumn) {
    Lane lane;
    for (const auto& [text, column] : {std::pair{"", 1},
                                       {"1 +", 4},
                                       {"(1", 3},
                                       {"1)", 2},
                                       {"$", 2},
                                       {"a[1", 4},
                                       {"1 ? 2", 6},
                                       {"12ab", 3},
                                       {"0x", 1},
                                       {"a->", 4},
                                       {"a.1", 0},
                                       {"c[0]", 0},
                                       {"1 2", 3},
                                       {"* ", 3},
                                       {"\"x\"", 1},
                                       {"a = 1", 3}}) {
        const auto e = Expression::parse(text);
        if (!column) {
            EXPECT_TRUE(e.ok()) << text;
            continue;
        }
        ASSERT_FALSE(e.ok()) << text;
        EXPECT_NE(e.error().message().find("column " + std::to_string(column)), std::string::npos)
            << text << ": " << e.error().message();
        EXPECT_EQ(e.error().message().find('\n'), std::string::npos);
    }
}

// What repeats without an end must end in an error, and not where the stack does.
TEST(Expressions, HaveABound) {
    Lane lane;
    const auto repeated = [](const char* text, size_t count) {
        std::string out;
        for (size_t k = 0; k < count; ++k) out += text;
        return out;
    };
    for (const size_t count : {200u, 100000u})
        for (const char* text : {"(", "-", "1+", "1?1:", "1?", "a[", "*", "(int)", "!", "1,", "a.",
                                 "c[0][", "a->", "$R1+", "::"}) {
            const std::string all = repeated(text, count) + "1";
            const auto v = lane.value(all);
            if (v) EXPECT_EQ(count, 200u) << text;
            if (!v) EXPECT_FALSE(v.error().message().empty());
        }
    for (const char* text : {"[0]", ".x", "->x", "+1", "@1"})
        EXPECT_FALSE(lane.value("words" + repeated(text, 100000)).ok()) << text;
}

TEST(Expressions, RandomTextIsReadOrRefused) {
    Lane lane;
    static constexpr const char* parts[] = {
        "words",      "$R4", ".64",     "[",  "]",         "(",       ")", "*", "&",
        "1",          "-",   "(int *)", "@",  "threadIdx", ".x",      "?", ":", "<<",
        "0x7fffffff", "==",  " ",       "::", "1e300",     "(float)", "c"};
    for (uint32_t seed = 0; seed < 20000; ++seed) {
        std::mt19937 random(seed);
        std::string text;
        for (uint32_t k = 1 + random() % 12; k; --k) text += parts[random() % std::size(parts)];
        const auto v = lane.value(text);
        if (v) EXPECT_LE(text_of(*v).size(), 1u << 20) << text;
    }
}

TEST(Expressions, KnowWhichRegistersTheyDependOn) {
    const auto only = [](const char* text, std::vector<std::string> wanted) {
        auto e = Expression::parse(text);
        ASSERT_TRUE(e.ok()) << text;
        std::vector<std::string> names;
        EXPECT_TRUE(e->only_registers(names)) << text;
        EXPECT_EQ(names, wanted) << text;
    };
    only("$R5 == 7 && blockIdx.x == 3", {"R5"});
    only("$R4.f > 1 || $P0", {"R4.f", "P0"});
    only("c[0][0x160] + 1", {});
    for (const char* text : {"words[0] == 1", "*(int *)$R4.64", "$clock > 5", "n == 1", "$pc"}) {
        std::vector<std::string> names;
        EXPECT_FALSE(Expression::parse(text)->only_registers(names)) << text;
    }
}

// ---- values

TEST(Values, AreShownAsGdbShowsThem) {
    const auto word = [](uint32_t v) { return Value::of_integer(v, 4, false); };
    Value array;
    array.type = debug::array_of(debug::basic_type("unsigned int"), 16);
    array.bytes.resize(64);
    EXPECT_EQ(text_of(array), "{0 <repeats 16 times>}");
    array.bytes[4] = std::byte{9};
    EXPECT_EQ(text_of(array), "{0, 9, 0 <repeats 14 times>}");
    array.type = debug::array_of(debug::basic_type("char"), 64);
    array.bytes[0] = std::byte{'a'};
    array.bytes[1] = std::byte{7};
    array.bytes[2] = std::byte{'b'};
    EXPECT_EQ(text_of(array), "\"a\\007b\"");
    EXPECT_EQ(text_of(word(0x40490fdb), 'f'), "3.14159274");
    EXPECT_EQ(text_of(word(0xfff00000), 'd'), "-1048576");
    EXPECT_EQ(text_of(word(8), 'o'), "010");
    EXPECT_EQ(text_of(word(0xab), 'z'), "0x000000ab");
    EXPECT_EQ(text_of(Value::of_real(-0.0)), "-0");
    EXPECT_EQ(text_of(Value::of_integer(-5, 2)), "-5");
    Value half;
    half.type = debug::basic_type("half");
    for (const auto& [bits, text] : {std::pair<int, const char*>{0x3c00, "1"},
                                     {0x0001, "5.9605e-08"},
                                     {0xfc00, "-inf"},
                                     {0x7e00, "nan"},
                                     {0xc000, "-2"}}) {
        half.bytes = {static_cast<std::byte>(bits & 255), static_cast<std::byte>(bits >> 8)};
        EXPECT_EQ(text_of(half), text);
    }
    // Fewer bytes than its type has, as of a large buffer: what is there is shown.
    Value cut;
    cut.type = debug::array_of(debug::basic_type("unsigned int"), 1 << 20);
    cut.bytes.resize(8);
    EXPECT_TRUE(text_of(cut).starts_with("{0"));
}

TEST(Values, OfRealNumbersBecomeIntegersWithinTheirRange) {
    EXPECT_EQ(Value::of_real(1e300).integer(), INT64_MAX);
    EXPECT_EQ(Value::of_real(-1e300).integer(), INT64_MIN);
    EXPECT_EQ(Value::of_real(std::nan("")).integer(), 0);
    EXPECT_EQ(Value::of_real(-2.5f, 4).integer(), -2);
}

}  // namespace
}  // namespace sassemu
