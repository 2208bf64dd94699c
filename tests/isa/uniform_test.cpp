// SPDX-License-Identifier: Apache-2.0
// The uniform family against the models of its vector namesakes, on shuffled words, at every host
// level (the code is the same there, what surrounds it is not).
#include "tests/isa/integer_model.hpp"

namespace sassemu::test {
namespace {

struct Model {
    void operator()(const Lane& l, const typed::Uiadd3& i) const { model_add3(l, i); }
    void operator()(const Lane& l, const typed::Uiadd364& i) const {
        const Wide sum = Wide{l.flipped64(i.a)} + l.flipped64(i.b) + l.flipped64(i.c) +
                         static_cast<unsigned>(i.a.neg + i.b.neg + i.c.neg);
        l.set64(i.d, static_cast<uint64_t>(sum));
        l.setp(i.pd2, sum >> 64 >= 2);
        l.setp(i.pd, sum >> 64 >= 1);  // stays if both are one predicate
    }
    void operator()(const Lane& l, const typed::Uimad& i) const { model_mad(l, i); }
    void operator()(const Lane& l, const typed::UimadWide& i) const { l.set64(i.d, mad64(l, i)); }
    void operator()(const Lane& l, const typed::Ulea& i) const { model_lea(l, i); }
    void operator()(const Lane& l, const typed::Ulop3& i) const { model_logic(l, i); }
    void operator()(const Lane& l, const typed::Ushf& i) const { model_shift(l, i); }
    void operator()(const Lane& l, const typed::Usgxt& i) const { model_extend(l, i); }
    void operator()(const Lane& l, const typed::Ubmsk& i) const { model_mask(l, i); }
    void operator()(const Lane& l, const typed::Uflo& i) const { model_find(l, i); }
    void operator()(const Lane& l, const typed::Upopc& i) const {
        uint32_t n = 0;
        for (uint32_t v = l.flipped(i.a); v; v >>= 1) n += v & 1;
        l.set(i.d, n);
    }
    void operator()(const Lane& l, const typed::Ubrev& i) const {
        uint32_t r = 0;
        for (int bit = 0; bit < 32; ++bit) r = r << 1 | (l.src(i.a) >> bit & 1);
        l.set(i.d, r);
    }
    void operator()(const Lane& l, const typed::Uisetp& i) const { model_compare(l, i); }
    void operator()(const Lane& l, const typed::Umov& i) const { l.set(i.d, l.src(i.a)); }
    void operator()(const Lane& l, const typed::Usel& i) const {
        l.set(i.d, l.pred(i.pa) ? l.src(i.a) : l.src(i.b));
    }
    void operator()(const Lane& l, const typed::Uprmt& i) const {
        l.set(i.d, permuted(l.src(i.a), l.src(i.b), l.src(i.c)));
    }
    void operator()(const Lane& l, const typed::Uplop3& i) const {
        const unsigned at = l.pred(i.pa) * 4u + l.pred(i.pb) * 2u + l.pred(i.pc);
        l.setp(i.pd, i.lut.imm >> at & 1);
        l.setp(i.pd2, i.lut2.imm >> at & 1);
    }
    void operator()(const Lane& l, const typed::Up2ur& i) const {
        uint32_t r = l.src(i.a);
        for (unsigned k = 0; k < 8; ++k) {
            if (!(l.src(i.b) >> k & 1)) continue;
            const uint32_t bit = k < 7 ? l.in.p[8 + k] & 1 : 0;
            r = (r & ~(1u << (8 * i.byte + k))) | bit << (8 * i.byte + k);
        }
        l.set(i.d, r);
    }
    void operator()(const Lane& l, const typed::Ur2up& i) const {
        for (uint8_t k = 0; k < 7; ++k)
            if (l.src(i.b) >> k & 1) l.setp({k, false, true}, l.src(i.a) >> (8 * i.byte + k) & 1);
    }
    void operator()(const Lane& l, const typed::Voteu& i) const {
        uint32_t set = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
            if (l.active >> lane & 1)
                set |= uint32_t{Lane{l.in, l.out, lane, 0}.pred(i.pa)} << lane;
        l.set(i.d, set);
        l.setp(i.pd, i.mode == typed::VoteMode::ALL   ? set == l.active
                     : i.mode == typed::VoteMode::ANY ? set != 0
                                                      : set == 0 || set == l.active);
    }
    // What came with sm_100 and sm_120.
    void operator()(const Lane& l, const typed::Uiadd364X& i) const {
        const Wide sum = Wide{l.flipped64(i.a)} + l.flipped64(i.b) + l.flipped64(i.c) +
                         static_cast<unsigned>(l.pred(i.pa)) + static_cast<unsigned>(l.pred(i.pb));
        l.set64(i.d, static_cast<uint64_t>(sum));
        l.setp(i.pd2, sum >> 64 >= 2);
        l.setp(i.pd, sum >> 64 >= 1);  // stays if both are one predicate
    }
    void operator()(const Lane& l, const typed::Umov64& i) const { l.set64(i.d, l.src64(i.a)); }
    void operator()(const Lane& l, const typed::Usel64& i) const {
        l.set64(i.d, l.pred(i.pa) ? l.src64(i.a) : l.src64(i.b));
    }
    void operator()(const Lane& l, const typed::UimadHi& i) const {
        const uint64_t product =
            i.type == typed::SignType::S32
                ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(l.src(i.a))} *
                                        static_cast<int32_t>(l.src(i.b)))
                : uint64_t{l.src(i.a)} * l.src(i.b);
        const Wide sum = Wide{product} + l.src64(i.c);
        l.set(i.d, static_cast<uint32_t>(sum >> 32));
        l.setp(i.pd, sum >> 64 != 0);
    }
    void operator()(const Lane& l, const typed::Uvimnmx& i) const {
        const uint32_t a = l.src(i.a), b = l.src(i.b);
        const bool less = compares(typed::ICmp::LT, i.type == typed::VMinMaxType::S32, a, b);
        l.set(i.d, less == l.pred(i.pa) ? a : b);
    }
    template <class T>
    void operator()(const Lane&, const T&) const {
        FAIL() << "no model";
    }
};

struct Case {
    const char* name;
    Seed seed;
};
Seed seed(const char* word, std::initializer_list<uint8_t> modifiers, bool immediate = false,
          bool third = true, const char* arch = "sm_80") {
    Seed s;
    s.arch = arch;
    s.word = word;
    std::copy(modifiers.begin(), modifiers.end(), s.modifiers);
    s.uniform = true;
    s.immediate = immediate;
    s.third = third;
    return s;
}
const Case cases[] = {
    {"UIADD3", seed("000fe4000ff1e03f000000200c084290", {90, 72, 63, 63})},
    {"UIADD3_immediate", seed("000fe2000ff3e13f000000010a0a7890", {90, 72}, true)},
    {"UIADD3_64", seed("000fe2000fffe03f000000181e187297", {83, 81, 75, 75, 72, 72, 63, 63}, false,
                       true, "sm_90")},
    {"UIADD3_64_immediate",
     seed("000fe2000fffe03f000000181e187897", {83, 81, 75, 75, 72, 72}, true, true, "sm_90")},
    {"UIMAD", seed("000fe4000f8e02140000000d080872a4", {90, 72})},
    {"UIMAD_immediate", seed("000fe2000f8e0a0600000018070b78a4", {90, 72}, true)},
    {"UIMAD_outer", seed("000fe2000f8e020600000018070b74a4", {75, 75, 73, 73}, true)},
    {"UIMAD_WIDE", seed("002fcc000f8e020600000004050412a5", {90, 72})},
    {"UIMAD_WIDE_immediate", seed("000fcc000f8e0204000400000b0808a5", {90, 72}, true)},
    {"ULEA", seed("000fe4000f8fe03f8000001614207291", {90, 72, 63, 63})},
    {"ULEA_immediate", seed("000fe200080f0e3fffffffff04047891", {90, 72}, true)},
    {"ULEA_outer", seed("000fe200080f0c3fffffffff04047491", {90, 81, 79, 74, 72, 72}, true)},
    {"ULOP3", seed("004fe2000f8e3c3f0000000432087292", {90, 72})},
    {"ULOP3_immediate", seed("000fe2000f80c03f0000003f0b3f7892", {90, 72}, true)},
    {"USHF", seed("000fe200080102070000000c06077299", {80, 72})},
    {"USHF_outer", seed("000fe200080102070000000c06077499", {80, 72}, true)},
    {"USHF_immediate", seed("000fe2000800063f00000002160c7899", {80, 72}, true)},
    {"UPRMT", seed("000fe400080000040000105405047296", {})},
    {"UPRMT_immediate", seed("000fe400080000040000105405047896", {}, true)},
    {"USGXT", seed("000fe20008000000000000050505729a", {80, 72}, false, false)},
    {"USGXT_immediate", seed("000fe20008000000000000050505789a", {80, 72}, true, false)},
    {"UBMSK", seed("000fe20008000000000000043f04729b", {80, 72}, false, false)},
    {"UBMSK_immediate", seed("000fe20008000000000000043f04789b", {80, 72}, true, false)},
    {"UFLO", seed("000fe200080e000000000005000572bd", {83, 81, 75, 72, 63, 63}, false, false)},
    {"UFLO_immediate", seed("000fe200080e000000000005000578bd", {83, 81, 75, 72}, true, false)},
    {"UPOPC", seed("000fc8000800000000000004000672bf", {63, 63}, false, false)},
    {"UBREV", seed("000fc8000800000000000004000672be", {}, false, false)},
    {"UISETP", seed("000fcc000bf21270000000143f00728c", {90, 68}, false, false)},
    {"UISETP_immediate", seed("000fe2000bf012700000001f0600788c", {90, 68}, true, false)},
    {"UPLOP3", seed("000fcc000070fd12000000000000789c", {90, 64, 23, 16}, true, false)},
    {"UMOV", seed("000fe400080000000000003c00057c82", {}, false, false)},
    {"UMOV_immediate", seed("01afe200000000000000000000067882", {}, true, false)},
    {"USEL", seed("000fe4000c800000000000090d0e7287", {90, 87}, false, false)},
    {"USEL_immediate", seed("000fe4000c8000000000022b34587887", {90, 87}, true, false)},
    {"UP2UR", seed("000fe200080000000000000104047883", {77, 76}, true, false)},
    {"UR2UP", seed("000fe200080000000000000104007884", {77, 76}, true, false)},
    {"VOTEU", seed("000fe400078e01000000000000047886", {90, 81, 73, 72}, true, false)},
};
// Registers of the seeds lie below 24, so that the wider fields of sm_100 need no other shuffle.
const Case later_cases[] = {
    {"UIADD3_64", seed("001fc8000fffe1ff0000000806087297", {86, 81, 75, 75, 72, 72, 63, 63}, false,
                       true, "sm_100")},
    {"UIADD3_64_X",
     seed("001fc8000fffe5ff0000000806087297", {90, 75, 72, 72, 63, 63}, false, true, "sm_100")},
    {"USEL_64", seed("000fd2000c0000000000000406067c87", {90, 87}, false, false, "sm_120")},
    {"USEL_64_immediate",
     seed("000fe20008000000000000010a0a7487", {90, 87}, true, false, "sm_120")},
    {"UISETP_S64",
     seed("004fd2000bf16270000000080600728c", {90, 81, 78, 73}, false, false, "sm_120")},
    {"UIMAD_HI", seed("000fe2000f840010000000120d1272a6", {83, 81, 73, 73}, false, true, "sm_120")},
    {"UVIMNMX", seed("001fc8000bfe01000000000b0a04724a", {90, 87, 72, 72}, false, false, "sm_120")},
};
TEST(Uniform, LaterForms) {
    for (const Case& c : later_cases) {
        SCOPED_TRACE(c.name);
        check(c.seed, 500, Model{}, true);
    }
}

class UniformCases : public ::testing::TestWithParam<Case> {};

TEST_P(UniformCases, AsTheModelSays) { check(GetParam().seed, 500, Model{}, true); }
INSTANTIATE_TEST_SUITE_P(Cases, UniformCases, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

// R2UR has a vector source: its register fields are of both kinds. The predicate marks the lanes
// with another value; with OR it also stays where it was.
TEST(Uniform, FromTheLowestLane) {
    for (const LevelTable* level : levels())
        for (unsigned merge = 0; merge < 2; ++merge) {
            Machine m(level);
            for (unsigned lane = 0; lane < 32; ++lane) m.r(14, lane) = 0x100u << lane % 3;
            m.r(14, 3) = 0x80000000u;
            m.r(14, 5) = m.r(14, 3);
            m.p(1) = 0x00000027;
            Word w("000fe40000020000000000000e0472ca");  // R2UR P1, UR4, R14
            w.set(84, 84, merge);  // .OR: the predicate stays set where it was
            const uint32_t active = 0xfffffff8u;
            ASSERT_EQ(m.step("sm_90", w, active), Outcome::ok);
            EXPECT_EQ(m.ur(4), 0x80000000u) << m.sass;
            EXPECT_EQ(m.p(1), merge ? 0xfffffff7u : 0xffffffd7u) << m.sass;
            Word old("000e220000020000000000000e0473c2");
            ASSERT_EQ(m.step("sm_80", old.set(84, 84, merge), active), Outcome::ok);
            EXPECT_EQ(m.ur(4), 0x80000000u) << m.sass;
        }
}

TEST(Uniform, SpecialRegisterOfTheFirstLane) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        Word w("000eb0000000000000000000000479c3");  // S2UR UR4, SR_LANEID
        ASSERT_EQ(m.step("sm_90", w, 0xffffffe0u), Outcome::ok);
        EXPECT_EQ(m.ur(4), 5u) << m.sass;
    }
}

// Every size, aligned as the size demands, by offset alone and by register.
TEST(Uniform, Constants) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        std::mt19937 rng(3);
        uint8_t bytes[256];
        for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng());
        for (unsigned b = 0; b < 4; ++b) std::memcpy(m.bank(b), bytes, sizeof bytes);
        for (unsigned round = 0; round < 2000; ++round) {
            const unsigned size = rng() % 6, width = size < 2 ? 1 : size < 4 ? 2 : size < 5 ? 4 : 8;
            const unsigned at = rng() % 240 / width * width, by_register = rng() % 2;
            const uint32_t base = by_register ? static_cast<uint32_t>(rng()) : 0;
            m.ur(10) = base;
            m.ur(4) = m.ur(5) = 0xdeadbeef;
            Word w("000fe200000008000000d30000047ab9");  // ULDC UR4, c[0x0][..]
            if (by_register) w = Word("000fe200080008000001ab000a047abb");
            // With a register the offset is what is left to the address, if it fits 16 bits.
            uint32_t offset = at;
            if (by_register) {
                m.ur(10) = at + 64;
                offset = static_cast<uint32_t>(-64);
                w.set(91, 91, 1);
            }
            w.set(75, 73, size).set(53, 38, offset & 0xffff).set(58, 54, round % 2 ? 0 : 3);
            ASSERT_EQ(m.step("sm_80", w), Outcome::ok) << m.rejection;
            uint64_t v = 0;
            std::memcpy(&v, bytes + at, width);
            if (size == 1) v = static_cast<uint32_t>(static_cast<int8_t>(v));
            if (size == 3) v = static_cast<uint32_t>(static_cast<int16_t>(v));
            ASSERT_EQ(m.ur(4), static_cast<uint32_t>(v)) << m.sass;
            ASSERT_EQ(m.ur(5), size == 5 ? static_cast<uint32_t>(v >> 32) : 0xdeadbeef) << m.sass;
        }
        // Past the end of the bank: zero, not the host's memory.
        m.ur(10) = 0x10000 - 4;
        m.ur(4) = m.ur(5) = 1;
        Word w("000fe200080008000001ab000a047abb");
        ASSERT_EQ(m.step("sm_80", w.set(91, 91, 1).set(75, 73, 5).set(53, 38, 0)), Outcome::ok);
        EXPECT_EQ(m.ur(4) | m.ur(5), 0u) << m.sass;
    }
}

}  // namespace
}  // namespace sassemu::test
