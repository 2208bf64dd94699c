// SPDX-License-Identifier: Apache-2.0
// fp32 arithmetic, comparison and selection against exact models, on shuffled words, at every
// level.
#include "tests/isa/float_model.hpp"
#include "tests/isa/random_words.hpp"

namespace sassemu::test {
namespace {

uint32_t operand(const Lane& l, const typed::Src& s) {
    return static_cast<uint32_t>(modified(f32, l.src(s), s.abs, s.neg));
}
bool logic(typed::BoolOp op, bool a, bool b) {
    return op == typed::BoolOp::AND ? a && b : op == typed::BoolOp::OR ? a || b : a != b;
}
bool zero_after_flush(uint32_t x) { return !(x & 0x7f800000u); }

struct Model {
    template <class T>
    void operator()(const Lane&, const T&) const {
        FAIL() << "no model";
    }
    void operator()(const Lane& l, const typed::Fadd& i) const {
        const uint64_t r =
            add(f32, operand(l, i.a), operand(l, i.b), static_cast<int>(i.rnd), i.ftz);
        l.set(i.d, static_cast<uint32_t>(i.sat ? saturated(f32, r) : r));
    }
    void operator()(const Lane& l, const typed::Fswzadd& i) const {
        const typed::QuadSign signs[4] = {i.lane0, i.lane1, i.lane2, i.lane3};
        const typed::QuadSign sign = signs[l.lane & 3];
        uint32_t a = operand(l, i.a), b = operand(l, i.b);
        if (sign == typed::QuadSign::NP) a ^= 0x80000000u;
        if (sign == typed::QuadSign::PN) b ^= 0x80000000u;
        if (sign == typed::QuadSign::ZP) a = 0;
        l.set(i.d, static_cast<uint32_t>(add(f32, a, b, static_cast<int>(i.rnd), i.ftz)));
    }
    void operator()(const Lane& l, const typed::Fmul& i) const {
        const uint32_t a = operand(l, i.a), b = operand(l, i.b);
        const bool fmz = i.fmz == typed::Fmz::FMZ, ftz = fmz || i.fmz == typed::Fmz::FTZ;
        uint64_t r;
        if (i.scale == typed::FScale::M1) {
            r = multiply_add(f32, a, b, 0, static_cast<int>(i.rnd), ftz, true);
        } else {  // a number times a power of two is exact in fp64
            const int e = static_cast<int>(i.scale) - 4;
            const uint64_t x = converted(f32, f64, flushed(f32, a, ftz), 0);
            const uint64_t y = converted(f32, f64, flushed(f32, b, ftz), 0);
            const uint64_t s = static_cast<uint64_t>(1023 + e) << 52;
            const uint64_t p =
                multiply_add(f64, multiply_add(f64, x, s, 0, 0, false, true), y, 0, 0, false, true);
            r = flushed(f32, converted(f64, f32, p, static_cast<int>(i.rnd)), ftz);
        }
        if (fmz && (zero_after_flush(a) || zero_after_flush(b))) r = 0;
        l.set(i.d, static_cast<uint32_t>(i.sat ? saturated(f32, r) : r));
    }
    void operator()(const Lane& l, const typed::Ffma& i) const {
        uint32_t a = operand(l, i.a), b = operand(l, i.b);
        const bool fmz = i.fmz == typed::Fmz::FMZ, ftz = fmz || i.fmz == typed::Fmz::FTZ;
        if (fmz && (zero_after_flush(a) || zero_after_flush(b))) a = b = 0;
        const uint64_t r = multiply_add(f32, a, b, operand(l, i.c), static_cast<int>(i.rnd), ftz);
        l.set(i.d, static_cast<uint32_t>(i.sat ? saturated(f32, r) : r));
    }
    void operator()(const Lane& l, const typed::Fmnmx& i) const {
        uint64_t a = flushed(f32, operand(l, i.a), i.ftz), b = flushed(f32, operand(l, i.b), i.ftz);
        uint64_t r = extreme(f32, a, b, l.pred(i.pa), i.nan);
        // The registers' signs, whatever stands before the operands.
        const uint64_t signs = l.src(i.a) ^ l.src(i.b);
        if (i.xorsign && !is_nan(f32, r)) r = (r & ~f32.sign()) | (signs & f32.sign());
        l.set(i.d, static_cast<uint32_t>(r));
    }
    void operator()(const Lane& l, const typed::Fsel& i) const {
        const uint32_t v = l.pred(i.pa) ? operand(l, i.a) : operand(l, i.b);
        l.set(i.d, static_cast<uint32_t>(flushed(f32, v, i.ftz)));
    }
    template <class T>
    static bool compare(const Lane& l, const T& i) {
        const int o =
            order(f32, flushed(f32, operand(l, i.a), i.ftz), flushed(f32, operand(l, i.b), i.ftz));
        return static_cast<int>(i.cmp) & o;
    }
    void operator()(const Lane& l, const typed::Fsetp& i) const {
        const bool r = compare(l, i), p = l.pred(i.pa);
        l.setp(i.pd, logic(i.bool_, r, p));
        l.setp(i.pd2, logic(i.bool_, !r, p));
    }
    void operator()(const Lane& l, const typed::Fset& i) const {
        l.set(i.d, logic(i.bool_, compare(l, i), l.pred(i.pa)) ? 0x3f800000u : 0);
    }
};

class FloatWords : public ::testing::TestWithParam<Entry> {};
TEST_P(FloatWords, EveryFormAgreesWithTheModelAtEveryLevel) {
    check_forms(GetParam(), 120, Model());
}
const Entry entries[] = {
    {"FADD",
     "sm_80",
     "00000000000000000000000200007221",
     {rrr, rri, rrc, rru},
     {80, 77, 73, 72, 63, 62},
     false},
    {"FSWZADD", "sm_80", "00000000000000040000000002007822", {rir}, {80, 77}},
    {"FMUL",
     "sm_80",
     "00000000004000000000000200007220",
     {rrr, rir, rcr, rur},
     {86, 84, 80, 76, 73, 72, 63, 62},
     false},
    {"FMUL plain",
     "sm_80",
     "00000000004000000000000200007220",
     {rrr, rir, rcr, rur},
     {80, 76, 73, 72, 63, 62},
     false},
    {"FFMA",
     "sm_80",
     "00000000000000040000000200007223",
     {rrr, rri, rrc, rir, rcr, rur, rru},
     {80, 72, 63, 62}},
    {"FMNMX",
     "sm_86",
     "00000000038000000000000200007209",
     {rrr, rir, rcr, rur},
     {82, 80, 90, 87, 73, 72, 63, 62},
     false},
    {"FSEL",
     "sm_80",
     "00000000038000000000000200007208",
     {rrr, rir, rcr, rur},
     {80, 80, 90, 87, 73, 72, 63, 62},
     false},
    {"FSETP",
     "sm_80",
     "0000000003f000000000000200"
     "00720b",
     {rrr, rir, rcr, rur},
     {90, 72, 63, 62},
     false},
    {"FSET",
     "sm_80",
     "0000000003800000000000020000720a",
     {rrr, rir, rcr, rur},
     {90, 87, 80, 72, 63, 62},
     false},
};
INSTANTIATE_TEST_SUITE_P(Isa, FloatWords, ::testing::ValuesIn(entries),
                         [](const auto& i) { return test_name(i.param.name); });

// A word of two sources and a destination, on chosen values, at every level.
uint32_t two_source(const LevelTable* level, const char* word, uint32_t a, uint32_t b) {
    Machine m(level);
    for (unsigned lane = 0; lane < 32; ++lane) {
        m.r(2, lane) = a;
        m.r(4, lane) = b;
    }
    EXPECT_EQ(m.step("sm_90", Word(word)), Outcome::ok);
    return m.r(0, 7);
}

TEST(Float, NansAreCanonicalAndInfinitiesFollowIeee) {
    constexpr uint32_t inf = 0x7f800000u, nan = 0x7fffffffu;
    const char* const fadd = "00000000000000000000000402007221";
    const char* const fmul = "00000000004000000000000402007220";
    for (const LevelTable* level : levels()) {
        EXPECT_EQ(two_source(level, fadd, inf, inf | 0x80000000u), nan) << level->name;
        EXPECT_EQ(two_source(level, fadd, 0xffc12345u, 0), nan) << level->name;
        EXPECT_EQ(two_source(level, fmul, inf, 0x80000000u), nan) << level->name;
        EXPECT_EQ(two_source(level, fmul, inf, 0xbf800000u), 0xff800000u) << level->name;
    }
}

TEST(Float, DivisionCheckSendsEveryUnsafePairToTheSlowPath) {
    const char* const word = "00000000000000000000000402007302";  // FCHK P0, R2, R4
    const auto unsafe = [&](const LevelTable* level, uint32_t a, uint32_t b) {
        Machine m(level);
        for (unsigned lane = 0; lane < 32; ++lane) {
            m.r(2, lane) = a;
            m.r(4, lane) = b;
        }
        EXPECT_EQ(m.step("sm_90", Word(word)), Outcome::ok);
        return m.p(0) == ~0u;
    };
    for (const LevelTable* level : levels()) {
        EXPECT_FALSE(unsafe(level, 0x3f800000u, 0x40400000u));
        EXPECT_FALSE(unsafe(level, 0xc2280000u, 0x42f60000u));
        for (uint32_t special : {0u, 0x80000000u, 1u, 0x7f800000u, 0x7fc00000u}) {
            EXPECT_TRUE(unsafe(level, special, 0x3f800000u)) << std::hex << special;
            EXPECT_TRUE(unsafe(level, 0x3f800000u, special)) << std::hex << special;
        }
        EXPECT_TRUE(unsafe(level, 0x7f000000u, 0x00800000u));  // the quotient overflows
        EXPECT_TRUE(unsafe(level, 0x3f800000u, 0x7f000000u));  // the reciprocal is subnormal
        // Recorded on an H200.
        EXPECT_TRUE(unsafe(level, 0x3effffffu, 0x80e53de1u));
        EXPECT_TRUE(unsafe(level, 0x41e00000u, 0xfe04c027u));
        EXPECT_TRUE(unsafe(level, 0xa455ce94u, 0xe284bd6eu));
        EXPECT_TRUE(unsafe(level, 0x0c0705dau, 0x3ea7fffeu));
        EXPECT_FALSE(unsafe(level, 0x7f7fffffu, 0x40490fdbu));
        EXPECT_FALSE(unsafe(level, 0x4076680du, 0x01000000u));
    }
}

}  // namespace
}  // namespace sassemu::test
