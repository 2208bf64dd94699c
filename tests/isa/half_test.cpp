// SPDX-License-Identifier: Apache-2.0
// fp16x2 and bf16x2 against exact models, on shuffled words, at every level.
#include "tests/isa/float_model.hpp"
#include "tests/isa/random_words.hpp"

namespace sassemu::test {
namespace {

using typed::HalfSwizzle;

// The two halves that a source feeds to the lanes, low one first.
struct Halves {
    uint64_t h[2];
};
Halves fetch(const Lane& l, const typed::Src& s, HalfSwizzle swizzle) {
    const uint32_t v = l.src(s);
    if (s.kind == typed::SrcKind::Imm) swizzle = HalfSwizzle::H1_H0;
    uint64_t lo = v & 0xffff, hi = v >> 16;
    if (swizzle == HalfSwizzle::H0_H0) hi = lo;
    if (swizzle == HalfSwizzle::H1_H1) lo = hi;
    if (swizzle == HalfSwizzle::H0_NH1) {
        const uint64_t low = lo;
        lo = hi ^ 0x8000;
        hi = low;
    }
    return {{modified(f16, lo, s.abs, s.neg), modified(f16, hi, s.abs, s.neg)}};
}
uint32_t join(uint64_t lo, uint64_t hi) { return static_cast<uint32_t>(lo | hi << 16); }
bool logic(typed::BoolOp op, bool a, bool b) {
    return op == typed::BoolOp::AND ? a && b : op == typed::BoolOp::OR ? a || b : a != b;
}

struct Mode {
    bool ftz = false, fmz = false, sat = false, relu = false, oob = false;
};
template <class T>
Mode mode_of(const T& i) {
    Mode m;
    if constexpr (requires { i.ftz; }) m.ftz = i.ftz;
    if constexpr (requires { i.fmz; }) {
        m.oob = static_cast<int>(i.fmz) == 3;
        m.ftz = static_cast<int>(i.fmz) != 0 && !m.oob;
        m.fmz = static_cast<int>(i.fmz) == 1;
    }
    m.sat = i.sat;
    if constexpr (requires { i.relu; }) m.relu = i.relu;
    return m;
}
uint64_t finished(Format f, uint64_t r, const Mode& m) {
    if (m.sat) return saturated(f, r);
    if (m.relu && !is_nan(f, r) && (r & f.sign())) return 0;
    return r;
}
uint64_t product(Format f, uint64_t a, uint64_t b, const Mode& m) {
    if (m.fmz && (is_subnormal(f, a) || is_subnormal(f, b))) return 0;
    return multiply_add(f, a, b, 0, 0, m.ftz, true);
}
// The element that stands for "outside of the tensor", of either sign.
bool is_outside(uint64_t h) { return (h & 0x7fff) == 0x7ff7; }
uint64_t fused(Format f, uint64_t a, uint64_t b, uint64_t c, const Mode& m) {
    if (m.fmz && (is_subnormal(f, a) || is_subnormal(f, b))) a = b = 0;
    return multiply_add(f, a, b, c, 0, m.ftz);
}

struct Model {
    template <class T>
    void operator()(const Lane&, const T&) const {
        FAIL() << "no model";
    }
    template <class T>
    static void sum(const Lane& l, const T& i, Format f) {
        const Halves a = fetch(l, i.a, i.swizzle_a), b = fetch(l, i.b, i.swizzle_b);
        uint64_t r[2];
        for (int k = 0; k < 2; ++k)
            r[k] = finished(f, add(f, a.h[k], b.h[k], 0, i.ftz), mode_of(i));
        l.set(i.d, join(r[0], r[1]));
    }
    void operator()(const Lane& l, const typed::Hadd2& i) const { sum(l, i, f16); }
    void operator()(const Lane& l, const typed::Hadd2Bf16& i) const { sum(l, i, bf16); }
    void operator()(const Lane& l, const typed::Hadd2F32& i) const {
        uint64_t a = flushed(f16, fetch(l, i.a, i.swizzle_a).h[0], i.ftz);
        uint64_t b = flushed(f16, fetch(l, i.b, i.swizzle_b).h[0], i.ftz);
        const uint64_t r = add(f32, converted(f16, f32, a, 0), converted(f16, f32, b, 0), 0, i.ftz);
        l.set(i.d, static_cast<uint32_t>(i.sat ? saturated(f32, r) : r));
    }
    template <class T>
    static void times(const Lane& l, const T& i, Format f) {
        const Halves a = fetch(l, i.a, i.swizzle_a), b = fetch(l, i.b, i.swizzle_b);
        const Mode m = mode_of(i);
        uint64_t r[2];
        for (int k = 0; k < 2; ++k) r[k] = finished(f, product(f, a.h[k], b.h[k], m), m);
        l.set(i.d, join(r[0], r[1]));
    }
    void operator()(const Lane& l, const typed::Hmul2& i) const { times(l, i, f16); }
    void operator()(const Lane& l, const typed::Hmul2Bf16& i) const { times(l, i, bf16); }
    template <class T>
    static void fma(const Lane& l, const T& i, Format f) {
        const Halves a = fetch(l, i.a, i.swizzle_a), b = fetch(l, i.b, i.swizzle_b),
                     c = fetch(l, i.c, i.swizzle_c);
        Mode m = mode_of(i);
        m.relu = m.relu && l.pred(i.pa);
        if constexpr (requires { i.f32; }) {
            if (i.f32) {
                uint64_t x[3] = {a.h[0], b.h[0], c.h[0]};
                if (m.fmz && (is_subnormal(f16, x[0]) || is_subnormal(f16, x[1]))) x[0] = x[1] = 0;
                for (uint64_t& v : x) v = converted(f16, f32, flushed(f16, v, m.ftz), 0);
                const uint64_t r = multiply_add(f32, x[0], x[1], x[2], 0, m.ftz);
                l.set(i.d, static_cast<uint32_t>(i.sat ? saturated(f32, r) : r));
                return;
            }
        }
        uint64_t r[2];
        for (int k = 0; k < 2; ++k) {
            r[k] = finished(f, fused(f, a.h[k], b.h[k], c.h[k], m), m);
            if (m.oob && (is_outside(a.h[k]) || is_outside(b.h[k]))) r[k] = 0;
        }
        l.set(i.d, join(r[0], r[1]));
    }
    void operator()(const Lane& l, const typed::Hfma2& i) const { fma(l, i, f16); }
    void operator()(const Lane& l, const typed::Hfma2Bf16& i) const { fma(l, i, bf16); }

    template <class T>
    static void extremes(const Lane& l, const T& i, Format f) {
        const Halves a = fetch(l, i.a, i.swizzle_a), b = fetch(l, i.b, i.swizzle_b);
        typed::Src raw_a = i.a, raw_b = i.b;
        raw_a.abs = raw_b.abs = raw_a.neg = raw_b.neg = false;
        const Halves sign_a = fetch(l, raw_a, i.swizzle_a), sign_b = fetch(l, raw_b, i.swizzle_b);
        uint64_t r[2];
        for (int k = 0; k < 2; ++k) {
            const uint64_t x = flushed(f, a.h[k], i.ftz), y = flushed(f, b.h[k], i.ftz);
            r[k] = extreme(f, x, y, l.pred(i.pa), i.nan);
            if (i.xorsign && !is_nan(f, r[k]))
                r[k] = (r[k] & 0x7fff) | ((sign_a.h[k] ^ sign_b.h[k]) & 0x8000);
        }
        l.set(i.d, join(r[0], r[1]));
    }
    void operator()(const Lane& l, const typed::Hmnmx2& i) const { extremes(l, i, f16); }
    void operator()(const Lane& l, const typed::Hmnmx2Bf16& i) const { extremes(l, i, bf16); }

    template <class T>
    static void compare(const Lane& l, const T& i, Format f, bool* r) {
        const Halves a = fetch(l, i.a, i.swizzle_a), b = fetch(l, i.b, i.swizzle_b);
        for (int k = 0; k < 2; ++k)
            r[k] = static_cast<int>(i.cmp) &
                   order(f, flushed(f, a.h[k], i.ftz), flushed(f, b.h[k], i.ftz));
    }
    template <class T>
    static void set_value(const Lane& l, const T& i, Format f) {
        bool r[2];
        compare(l, i, f, r);
        const uint64_t yes = i.bf ? f.one() : 0xffff;
        const bool p = l.pred(i.pa);
        l.set(i.d, join(logic(i.bool_, r[0], p) ? yes : 0, logic(i.bool_, r[1], p) ? yes : 0));
    }
    template <class T>
    static void set_predicates(const Lane& l, const T& i, Format f) {
        bool r[2];
        compare(l, i, f, r);
        if (i.h_and) {
            r[0] = r[0] && r[1];
            r[1] = !r[0];
        }
        const bool p = l.pred(i.pa);
        l.setp(i.pd, logic(i.bool_, r[0], p));
        l.setp(i.pd2, logic(i.bool_, r[1], p));
    }
    void operator()(const Lane& l, const typed::Hset2& i) const { set_value(l, i, f16); }
    void operator()(const Lane& l, const typed::Hset2Bf16& i) const { set_value(l, i, bf16); }
    void operator()(const Lane& l, const typed::Hsetp2& i) const { set_predicates(l, i, f16); }
    void operator()(const Lane& l, const typed::Hsetp2Bf16& i) const { set_predicates(l, i, bf16); }
};

class HalfWords : public ::testing::TestWithParam<Entry> {};
TEST_P(HalfWords, EveryFormAgreesWithTheModelAtEveryLevel) {
    check_forms(GetParam(), 160, Model());
}
// Bits 63:60 and 75:72 hold signs and half selections; 85 chooses bf16, 78 the fp32 result.
const Entry entries[] = {
    {"HADD2",
     "sm_90",
     "00000000000000000000000200007230",
     {rrr, rri, rrc, rru},
     {85, 85, 80, 77, 75, 72, 63, 60},
     false},
    {"HMUL2",
     "sm_90",
     "00000000000000000000000200007232",
     {rrr, rir, rcr, rur},
     {85, 85, 80, 79, 77, 72, 63, 60},
     false},
    {"HFMA2",
     "sm_90",
     "00000000038000040000000200007231",
     {rrr, rri, rrc, rir, rcr, rur, rru},
     {75, 72, 80, 80, 63, 61, 82, 82}},
    {"HFMA2 post",
     "sm_90",
     "00000000038000040000000200007231",
     {rrr, rur},
     {90, 87, 85, 83, 79, 79, 72, 72}},
    {"HFMA2 modes",
     "sm_90",
     "00000000038000040000000200007231",
     {rrr, rur},
     {86, 86, 80, 80, 78, 76}},
    {"HFMA2.MMA",
     "sm_90",
     "00000000038000040000000200007235",
     {rrr, rri, rrc, rir, rcr, rur, rru},
     {85, 83, 80, 79, 73, 72, 63, 62}},
    {"HMNMX2",
     "sm_90",
     "00000000038000000000000200007240",
     {rrr, rir, rcr, rur},
     {90, 85, 82, 80, 75, 72, 63, 60},
     false},
    {"HSET2",
     "sm_90",
     "00000000038000000000000200007233",
     {rrr, rri, rrc, rru},
     {90, 87, 80, 69, 63, 60},
     false},
    {"HSET2.BF16",
     "sm_90",
     "00000000038000020000000200007233",
     {rrr},
     {90, 87, 80, 69, 63, 60},
     false},
    {"HSETP2",
     "sm_90",
     "0000000003f000000000000200007234",
     {rrr, rri, rrc, rru},
     {90, 69, 63, 60},
     false},
    {"HSETP2.BF16", "sm_90", "0000000003f000020000000200007234", {rrr}, {90, 69, 63, 60}, false},
};
INSTANTIATE_TEST_SUITE_P(Isa, HalfWords, ::testing::ValuesIn(entries),
                         [](const auto& i) { return test_name(i.param.name); });

// a * b + c lies next to the middle of two numbers, so close that in fp32 it is the middle: what is
// rounded twice goes to the wrong side. The small part is the addend, then the product.
TEST(Half, FusedSumsNextToTiesRoundOnce) {
    const struct {
        uint32_t a, b, c, want;
    } cases[] = {{0x3c01, 0x3e00, 0x8001, 0x3e01},
                 {0x3c03, 0x3e00, 0x0001, 0x3e05},
                 {0x3bfe, 0x1001, 0x3c01, 0x3c01},
                 {0x3f2e, 0x0c75, 0x3c00, 0x3c01}};
    const char* const words[] = {
        "03ffde00038000060000000402007231",   // HFMA2 R0, R2, R4, R6
        "03ffde00038600062000000402007231",   // HFMA2 R0, R2, R4.H0_H0, R6.H1_H1
        "03ffde00038001068000000402007231"};  // HFMA2 R0, -R2, -R4, R6
    for (const LevelTable* level : levels())
        for (const char* word : words)
            for (const auto& x : cases)
                for (const uint32_t sign : {0u, 0x8000u}) {
                    Machine m(level);
                    const auto both = [](uint32_t h) { return h | h << 16; };
                    for (unsigned lane = 0; lane < 32; ++lane) {
                        m.r(2, lane) = both(x.a ^ sign);
                        m.r(4, lane) = both(x.b);
                        m.r(6, lane) = both(x.c ^ sign);
                    }
                    ASSERT_EQ(m.step("sm_90", Word(word)), Outcome::ok);
                    for (unsigned lane : {0u, 5u, 31u})
                        EXPECT_EQ(m.r(0, lane), both(x.want ^ sign))
                            << level->name << " " << m.sass;
                }
}

TEST(Half, AnFp32SourceIsRoundedTowardsZeroIntoBothHalves) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        for (unsigned lane = 0; lane < 32; ++lane) m.r(6, lane) = 0x3f803fffu;  // just below 0x3c02
        // HADD2 R5, R6.F32, -RZ.H0_H0
        ASSERT_EQ(m.step("sm_75", Word("000fe20000000400a00000ff06057230")), Outcome::ok);
        EXPECT_EQ(m.sass, "HADD2 R5, R6.F32, -RZ.H0_H0");
        EXPECT_EQ(m.r(5, 9), 0x3c013c01u) << level->name;
    }
}

}  // namespace
}  // namespace sassemu::test
