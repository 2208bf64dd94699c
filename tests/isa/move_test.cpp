// SPDX-License-Identifier: Apache-2.0
// The move family against models of one lane, on shuffled words, at every host level.
#include "tests/isa/integer_model.hpp"

namespace sassemu::test {
namespace {

struct Model {
    void operator()(const Lane& l, const typed::Mov& i) const {
        if (i.lanes.imm >> (l.lane & 3) & 1) l.set(i.d, l.src(i.a));
    }
    void operator()(const Lane& l, const typed::Sel& i) const {
        l.set(i.d, l.pred(i.pa) ? l.src(i.a) : l.src(i.b));
    }
    void operator()(const Lane& l, const typed::Prmt& i) const {
        const uint32_t a = l.src(i.a), b = l.src(i.b), c = l.src(i.c);
        if (i.mode == typed::PrmtMode::None) return l.set(i.d, permuted(a, b, c));
        // PTX ISA, prmt, by formula where the specification has a table.
        uint32_t r = 0;
        const unsigned n = b & 3;
        for (unsigned k = 0; k < 4; ++k) {
            unsigned from = 0;
            switch (i.mode) {
                case typed::PrmtMode::F4E:
                    from = n + k;
                    break;
                case typed::PrmtMode::B4E:
                    from = (n - k) & 7;
                    break;
                case typed::PrmtMode::RC8:
                    from = n;
                    break;
                case typed::PrmtMode::ECL:
                    from = std::max(n, k);
                    break;
                case typed::PrmtMode::ECR:
                    from = std::min(n, k);
                    break;
                default:
                    from = (n & 1) * 2 + (k & 1);
                    break;
            }
            const uint64_t bytes = uint64_t{c} << 32 | a;
            r |= static_cast<uint32_t>(bytes >> (8 * from) & 255) << (8 * k);
        }
        l.set(i.d, r);
    }
    void operator()(const Lane& l, const typed::Plop3& i) const {
        const unsigned at = l.pred(i.pa) * 4u + l.pred(i.pb) * 2u + l.pred(i.pc);
        l.setp(i.pd, i.lut.imm >> at & 1);
        l.setp(i.pd2, i.lut2.imm >> at & 1);
    }
    void operator()(const Lane& l, const typed::P2r& i) const {
        uint32_t r = l.src(i.a);
        const auto byte = static_cast<unsigned>(i.byte);
        for (unsigned k = 0; k < 8; ++k) {
            if (!(l.src(i.b) >> k & 1)) continue;
            const uint32_t bit = k < 7 ? l.in.p[k] >> l.lane & 1 : 0;
            r = (r & ~(1u << (8 * byte + k))) | bit << (8 * byte + k);
        }
        l.set(i.d, r);
    }
    void operator()(const Lane& l, const typed::R2p& i) const {
        const auto byte = static_cast<unsigned>(i.byte);
        for (uint8_t k = 0; k < 7; ++k)
            if (l.src(i.b) >> k & 1) l.setp({k}, l.src(i.a) >> (8 * byte + k) & 1);
    }
    template <class T>
    void operator()(const Lane&, const T&) const {
        FAIL() << "no model";
    }
};

const Entry entries[] = {
    {"MOV", "sm_80", "000fe20000000f00000000ff00528202", {rrr, rir, rcr, rur}, {75, 72}, false},
    {"SEL", "sm_80", "040fe200040000000000000506057207", {rrr, rir, rcr, rur}, {90, 87}, false},
    {"PRMT", "sm_80", "000fe400000000ff00000016181a7216", {rrr, rri, rrc, rir, rcr, rur, rru}, {}},
    {"PRMT modes",
     "sm_80",
     "000fe400000000ff00000016181a7216",
     {rrr, rri, rrc, rir, rcr},
     {74, 72}},
    {"PLOP3", "sm_80", "000fe20006fbebe7000000000000781c", {rir}, {90, 64, 23, 16}, false},
    {"P2R", "sm_80", "000fe800000000000000000fe4d06803", {rrr, rir, rcr, rur}, {77, 76}, false},
    {"R2P", "sm_80", "000fe20000000000000000017b007804", {rrr, rir, rcr, rur}, {77, 76}, false},
};
class Move : public ::testing::TestWithParam<Entry> {};

TEST_P(Move, AsTheModelSays) { check_forms(GetParam(), 500, Model{}); }
INSTANTIATE_TEST_SUITE_P(Entries, Move, ::testing::ValuesIn(entries),
                         [](const auto& info) { return test_name(info.param.name); });

// Compilers emit few selectors, and those take short cuts; here are all that look at bytes alone.
TEST(Permute, EverySelector) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        std::mt19937 rng(7);
        for (unsigned lane = 0; lane < 32; ++lane) {
            m.r(4, lane) = static_cast<uint32_t>(rng());
            m.r(6, lane) = static_cast<uint32_t>(rng());
        }
        for (uint32_t selector = 0; selector < 0x10000; selector += 1 + selector % 3) {
            Word w(0x000fe40000000006, 0x0000000004087816);  // PRMT R8, R4, 0x0, R6
            w.set(63, 32, selector);
            ASSERT_EQ(m.step("sm_80", w), Outcome::ok);
            ASSERT_EQ(m.r(8, 5), permuted(m.r(4, 5), selector, m.r(6, 5))) << m.sass;
        }
    }
}

// Convergence barriers are set from registers and from immediates.
TEST(Bmov, ToABarrier) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        for (unsigned lane = 0; lane < 32; ++lane) m.r(2, lane) = 100 + lane;
        Word immediate(0x000fe80000000000, 0x0000000001007956);  // BMOV.32 B1, 0x0
        ASSERT_EQ(m.step("sm_87", immediate.set(63, 32, 0xfffffff0)), Outcome::ok) << m.rejection;
        EXPECT_EQ(m.w.convergence.b[1], 0xfffffff0u) << m.sass;
        Word from_register(0x000fe80000000000, 0x0000000202007356);  // BMOV.32 B2, R2
        ASSERT_EQ(m.step("sm_87", from_register), Outcome::ok) << m.rejection;
        EXPECT_EQ(m.w.convergence.b[2], 100u) << m.sass;  // the lowest lane's
    }
}

}  // namespace
}  // namespace sassemu::test
