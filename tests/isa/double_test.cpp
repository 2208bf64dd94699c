// SPDX-License-Identifier: Apache-2.0
// fp64 arithmetic and comparison against exact models, on shuffled words, at every level.
#include "tests/isa/float_model.hpp"
#include "tests/isa/random_words.hpp"

namespace sassemu::test {
namespace {

// As measured on an H200: |x| and -x leave a NaN alone; a NaN result is the first NaN among b, c,
// a, quieted, and the default one has its sign set.
uint64_t operand(const Lane& l, const typed::Src& s) {
    const uint64_t v = l.src64(s);
    return is_nan(f64, v) ? v : modified(f64, v, s.abs, s.neg);
}
uint64_t with_nan_rule(uint64_t r, std::initializer_list<uint64_t> order) {
    if (!is_nan(f64, r)) return r;
    for (uint64_t v : order)
        if (is_nan(f64, v)) return v | uint64_t{1} << 51;
    return 0xfff8000000000000;
}
bool logic(typed::BoolOp op, bool a, bool b) {
    return op == typed::BoolOp::AND ? a && b : op == typed::BoolOp::OR ? a || b : a != b;
}
// Models run on any word; those with odd pairs are rejected by the machine, so nothing compares.
bool readable(const typed::Src& s) {
    return s.kind != typed::SrcKind::Reg || s.index == 255 || s.index + 1u < used_registers;
}

struct Model {
    template <class T>
    void operator()(const Lane&, const T&) const {
        FAIL() << "no model";
    }
    void operator()(const Lane& l, const typed::Dadd& i) const {
        const uint64_t a = operand(l, i.a), b = operand(l, i.b);
        const uint64_t r = add(f64, a, b, static_cast<int>(i.rnd), false);
        l.set64(i.d, with_nan_rule(r, {b, a}));
    }
    void operator()(const Lane& l, const typed::Dmul& i) const {
        const uint64_t a = operand(l, i.a), b = operand(l, i.b);
        const uint64_t r = multiply_add(f64, a, b, 0, static_cast<int>(i.rnd), false, true);
        l.set64(i.d, with_nan_rule(r, {b, a}));
    }
    void operator()(const Lane& l, const typed::Dfma& i) const {
        const uint64_t a = operand(l, i.a), b = operand(l, i.b), c = operand(l, i.c);
        const uint64_t r = multiply_add(f64, a, b, c, static_cast<int>(i.rnd), false);
        l.set64(i.d, with_nan_rule(r, {b, c, a}));
    }
    void operator()(const Lane& l, const typed::Dsetp& i) const {
        if (!readable(i.a) || !readable(i.b)) return;
        const uint64_t a = operand(l, i.a), b = operand(l, i.b);
        const bool p = l.pred(i.pa);
        bool first, second;
        if (i.cmp == typed::DCmp::MIN || i.cmp == typed::DCmp::MAX) {
            const bool both = is_nan(f64, a) && is_nan(f64, b);
            const uint64_t best = extreme(f64, a, b, i.cmp == typed::DCmp::MIN, false);
            // Equal operands count for the minimum only; both NaN counts whatever the predicate.
            first = !both && best == a && (i.cmp == typed::DCmp::MIN || a != b);
            l.setp(i.pd, logic(i.bool_, first, p));
            l.setp(i.pd2, both);
            return;
        } else {
            first = static_cast<int>(i.cmp) & order(f64, a, b);
            second = !first;
        }
        l.setp(i.pd, logic(i.bool_, first, p));
        l.setp(i.pd2, logic(i.bool_, second, p));
    }
};

class DoubleWords : public ::testing::TestWithParam<Entry> {};
TEST_P(DoubleWords, EveryFormAgreesWithTheModelAtEveryLevel) {
    check_forms(GetParam(), 200, Model());
}
const Entry entries[] = {
    {"DADD", "sm_80", "00000000000000040000000200007229", {rrr, rri, rrc, rru}, {79, 78, 75, 72}},
    {"DMUL",
     "sm_80",
     "00000000000000000000000200007228",
     {rrr, rir, rcr, rur},
     {79, 78, 73, 72, 63, 62},
     false},
    {"DFMA",
     "sm_80",
     "0000000000000004000000020000722b",
     {rrr, rri, rrc, rir, rcr, rur, rru},
     {79, 78, 75, 72, 63, 62}},
    {"DSETP",
     "sm_80",
     "0000000003f0000000000002"
     "0000722a",
     {rrr, rri, rrc, rru},
     {90, 72, 63, 62},
     false},
};
// Random operands are hardly ever equal.
TEST(DoubleTies, CountAsTheMinimumOnly) {
    const uint64_t values[] = {0x3e74db743e74db77, 0xde16851d00000000, 0x000fffffffffffff, 0,
                               1ull << 63};
    for (const LevelTable* level : levels())
        for (const uint64_t value : values)
            for (const bool max : {false, true}) {
                Machine m(level);
                for (unsigned lane = 0; lane < 32; ++lane) {
                    m.set64(12, lane, value);
                    m.set64(14, lane, value);
                }
                const Word word(
                    max ? "03ffde000390f0000000000e0c00722a"  // DSETP.MAX.AND P0, P1, R12, R14, PT
                        : "03ffde00039000000000000e0c00722a");  // DSETP.MIN.AND
                ASSERT_EQ(m.step("sm_90", word), Outcome::ok);
                EXPECT_EQ(m.p(0), max ? 0u : ~0u) << level->name << std::hex << value;
            }
}

INSTANTIATE_TEST_SUITE_P(Isa, DoubleWords, ::testing::ValuesIn(entries),
                         [](const auto& i) { return test_name(i.param.name); });

TEST(Double, AnOddRegisterPairIsRejected) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        EXPECT_EQ(m.step("sm_90", Word("00000000000000040000000003007229")), Outcome::fault);
        EXPECT_FALSE(m.rejection.empty());
    }
}

}  // namespace
}  // namespace sassemu::test
