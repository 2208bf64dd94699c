// SPDX-License-Identifier: Apache-2.0
// Random instruction words against a scalar model: a seed word has its modifiers, predicates,
// registers and immediates shuffled; what still decodes runs at every host level, and registers,
// predicates and uniform registers must end as the model says. The models are in the tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <memory>
#include <random>

// <cmath> makes it a macro, the description has a comparison of that name.
#undef NAN
#include "sassdec/visit.hpp"
#include "tests/isa/harness.hpp"

namespace sassemu::test {

namespace typed = sassdec::typed;

constexpr unsigned used_registers = 40;

struct State {
    uint32_t r[used_registers][32];
    uint32_t p[16];
    uint32_t ur[64];
    uint32_t bank[4][64];  // the first words of constant banks 0, 2, 3, 4

    bool operator==(const State&) const = default;
};

// What a model sees: one lane of the state before, and the state after.
struct Lane {
    const State& in;
    State& out;
    unsigned lane;
    uint32_t active;  // lanes that execute

    uint64_t src64(const typed::Src& s) const {
        const auto pair = [](const uint32_t* at, unsigned stride) {
            return at[0] | uint64_t{at[stride]} << 32;
        };
        switch (s.kind) {
            case typed::SrcKind::Reg:
                return s.index == 255 ? 0 : pair(&in.r[s.index][lane], 32);
            case typed::SrcKind::UReg:
                return s.index == 255 ? 0 : pair(&in.ur[s.index], 1);
            case typed::SrcKind::Imm:
                return s.imm;
            case typed::SrcKind::Const:
                return pair(&in.bank[s.bank == 0 ? 0 : s.bank - 1][s.offset / 4], 1);
            default:
                return 0;
        }
    }
    uint32_t src(const typed::Src& s) const { return static_cast<uint32_t>(src64(s)); }
    // The operand, complemented where a sign or a complement stands before it.
    uint32_t flipped(const typed::Src& s) const { return s.neg || s.inv ? ~src(s) : src(s); }
    uint64_t flipped64(const typed::Src& s) const { return s.neg || s.inv ? ~src64(s) : src64(s); }
    bool pred(const typed::Pred& p) const {
        return (in.p[p.index + (p.uniform ? 8 : 0)] >> lane & 1) != p.neg;
    }
    void set(const typed::Reg& d, uint32_t v) const {
        if (d.index == 255) return;
        (d.uniform ? out.ur[d.index] : out.r[d.index][lane]) = v;
    }
    void set64(const typed::Reg& d, uint64_t v) const {
        if (d.index == 255) return;
        set(d, static_cast<uint32_t>(v));
        typed::Reg upper = d;
        ++upper.index;
        set(upper, static_cast<uint32_t>(v >> 32));
    }
    void setp(const typed::Pred& d, bool v) const {
        if (d.index == 7) return;
        if (d.uniform)
            out.p[8 + d.index] = v ? ~0u : 0;
        else
            out.p[d.index] = (out.p[d.index] & ~(1u << lane)) | uint32_t{v} << lane;
    }
};

inline uint32_t interesting(std::mt19937& rng) {
    static constexpr uint32_t corner[] = {
        0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
        0x80000001, 0xffffffff, 0xfffffffe, 31, 32, 33, 63, 64,
        // one, infinities, NaNs and the smallest normal numbers of fp32, fp64 (upper word), fp16
        0x3f800000, 0xff800000, 0x7f800000, 0x7f800001, 0x00800000, 0x3ff00000, 0x7ff00000,
        0xfff80000, 0x00100000, 0x7c003c00, 0xfc000400, 0x80007e00,
        0x7ff7fff7};  // the fp16 NaN of .OOB, twice
    switch (rng() % 4) {
        case 0:
            return corner[rng() % std::size(corner)];
        case 1:
            return static_cast<uint32_t>(rng()) >> rng() % 32;
        default:
            return static_cast<uint32_t>(rng());
    }
}
inline void randomise(State& s, std::mt19937& rng) {
    // Whole rows alike now and then, so that equal operands happen.
    for (auto& row : s.r) {
        const uint32_t same = interesting(rng);
        const bool alike = rng() % 4 == 0;
        for (uint32_t& v : row) v = alike ? same : interesting(rng);
    }
    for (uint32_t& p : s.p) p = static_cast<uint32_t>(rng());
    for (int i = 8; i < 15; ++i) s.p[i] = rng() % 2 ? ~0u : 0;
    s.p[7] = s.p[15] = ~0u;
    for (uint32_t& u : s.ur) u = interesting(rng);
    for (auto& bank : s.bank)
        for (uint32_t& v : bank) v = interesting(rng);
}

struct Seed {
    const char* arch = "sm_80";
    const char* word = nullptr;
    // What may be shuffled besides registers and predicates: bit ranges, high then low, 0 ends.
    uint8_t modifiers[10] = {};
    bool uniform = false;       // register fields are uniform ones (6 bits)
    bool immediate = false;     // bits 63:32 are one
    bool constant = false;      // bits 58:40 name a constant
    bool third = true;          // bits 71:64 are a register
    bool short_second = false;  // bits 37:32 are a uniform register
};

inline Word shuffle(const Seed& seed, std::mt19937& rng) {
    Word w(seed.word);
    const auto reg = [&](unsigned low, bool uniform) {
        const bool narrow = uniform && std::strlen(seed.arch) == 5;  // before sm_100
        const uint32_t zero = narrow ? 63 : 255;
        const uint32_t n = rng() % 8 == 0 ? zero : rng() % 12 * 2 + (rng() % 16 == 0);
        w.set(low + (narrow ? 5 : 7), low, n);
    };
    reg(16, seed.uniform);
    reg(24, seed.uniform);
    if (seed.third) reg(64, seed.uniform);
    if (seed.immediate)
        w.set(63, 32, rng() % 3 ? interesting(rng) : 1u << rng() % 32);
    else if (seed.constant)
        w.set(53, 40, rng() % 31).set(58, 54, rng() % 4 ? 0 : rng() % 3 + 2);
    else
        reg(32, seed.uniform || seed.short_second);
    for (int i = 0; seed.modifiers[i]; i += 2)
        w.set(seed.modifiers[i], seed.modifiers[i + 1], rng());
    // The forms without predicates are the usual ones.
    for (int i = 0; seed.modifiers[i]; i += 2) {
        if (seed.modifiers[i] != 90 || seed.modifiers[i + 1] > 81) continue;
        if (rng() % 2) w.set(86, 81, 63);
        if (rng() % 2) w.set(90, 87, rng() % 2 ? 7 : 15);
    }
    w.set(15, 12, rng() % 3 ? 7 : rng() % 16);  // guard
    return w;
}

// The half formats that print as .INVALID1 and .INVALID3 have no behaviour.
inline bool has_meaning(const sassdec_insn& insn) {
    switch (insn.id) {
        case SASSDEC_ID_HMUL2INVALID:
        case SASSDEC_ID_HFMA2INVALID:
        case SASSDEC_ID_HMNMX2INVALID:
        case SASSDEC_ID_HSET2INVALID:
        case SASSDEC_ID_HSETP2INVALID:
            return false;
        default:
            return true;
    }
}

// Runs `rounds` shuffles of the seed at every level. `model(lane, instruction)` is called for each
// executing lane (uniform instructions: once); instructions that it has no overload for fail.
template <class Model>
void check(const Seed& seed, int rounds, const Model& model, bool once = false) {
    std::mt19937 rng(static_cast<uint32_t>(Word(seed.word).lo ^ Word(seed.word).hi));
    std::vector<std::unique_ptr<Machine>> machines;
    for (const LevelTable* level : levels()) machines.push_back(std::make_unique<Machine>(level));
    int ran = 0;
    const auto before = std::make_unique<State>(), expected = std::make_unique<State>(),
               after = std::make_unique<State>();
    for (int round = 0; round < rounds; ++round) {
        const Word word = shuffle(seed, rng);
        const uint32_t active = rng() % 3 ? ~0u : static_cast<uint32_t>(rng()) | 1u << rng() % 32;
        randomise(*before, rng);
        const uint64_t bits[2] = {word.lo, word.hi};
        sassdec_insn insn;
        if (sassdec_decode(sassdec_arch_from_name(seed.arch), bits, 0, &insn) != SASSDEC_OK ||
            !has_meaning(insn))
            continue;
        const unsigned guard = insn.guard + (insn.guard_uniform ? 8 : 0);
        const uint32_t mask = active & (before->p[guard] ^ (insn.guard_neg ? ~0u : 0));
        *expected = *before;
        typed::visit(insn, [&](const auto& i) {
            for (unsigned lane = 0; lane < 32; ++lane) {
                if (!(mask >> lane & 1)) continue;
                model(Lane{*before, *expected, lane, mask}, i);
                if (once) break;
            }
        });
        const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                           ::testing::Message()
                                               << std::hex << word.hi << "'" << word.lo << " lanes "
                                               << active << " run " << mask);
        bool first = true;
        Outcome outcome = Outcome::ok;
        for (auto& m : machines) {
            for (unsigned r = 0; r < used_registers; ++r)
                std::memcpy(&m->r(r, 0), before->r[r], sizeof before->r[r]);
            std::memcpy(m->w.p, before->p, sizeof before->p);
            std::memcpy(m->w.uniform, before->ur, sizeof before->ur);
            for (unsigned b = 0; b < 4; ++b)
                std::memcpy(m->bank(b), before->bank[b], sizeof before->bank[b]);
            const Outcome here = m->step(seed.arch, word, active);
            if (first) outcome = here;
            first = false;
            ASSERT_EQ(outcome, here) << m->sass;
            if (here != Outcome::ok) continue;
            *after = *expected;
            for (unsigned r = 0; r < used_registers; ++r)
                std::memcpy(after->r[r], &m->r(r, 0), sizeof after->r[r]);
            std::memcpy(after->p, m->w.p, sizeof after->p);
            std::memcpy(after->ur, m->w.uniform, sizeof after->ur);
            if (*after == *expected) continue;
            for (unsigned r = 0; r < used_registers; ++r)
                for (unsigned lane = 0; lane < 32; ++lane)
                    ASSERT_EQ(expected->r[r][lane], after->r[r][lane])
                        << m->sass << " R" << r << " lane " << lane;
            for (unsigned p = 0; p < 16; ++p)
                ASSERT_EQ(expected->p[p], after->p[p]) << m->sass << " predicate " << p;
            for (unsigned u = 0; u < 64; ++u)
                ASSERT_EQ(expected->ur[u], after->ur[u]) << m->sass << " UR" << u;
        }
        if (outcome == Outcome::ok && mask) ++ran;
    }
    EXPECT_GT(ran, rounds / 8) << seed.word << ": too few of the shuffled words ran";
}

// An ALU instruction in several operand forms: `word` is any of them, bits 63:32 and 71:64 and the
// form are filled in.
constexpr unsigned rrr = 0x200, rri = 0x400, rrc = 0x600, rir = 0x800, rcr = 0xa00, rur = 0x1c00,
                   rru = 0x1e00;
struct Entry {
    const char* name;
    const char* arch;
    const char* word;
    std::vector<unsigned> forms;
    uint8_t modifiers[10];
    bool third = true;
};

template <class Model>
void check_forms(const Entry& e, int rounds, const Model& model) {
    for (unsigned form : e.forms) {
        Word w(e.word);
        w.set(11, 9, form >> 9 & 7).set(91, 91, form >> 12);
        if (form != rrr) w.set(63, 32, 0);
        const bool outer = form == rri || form == rrc || form == rru;
        if (outer) w.set(71, 64, 4);
        char text[40];
        std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(w.hi),
                      static_cast<unsigned long long>(w.lo));
        Seed seed;
        seed.arch = e.arch;
        seed.word = text;
        seed.immediate = form == rir || form == rri;
        seed.constant = form == rcr || form == rrc;
        seed.third = e.third || outer;
        seed.short_second = form == rur || form == rru;
        std::copy(std::begin(e.modifiers), std::end(e.modifiers), seed.modifiers);
        // Bit 63 belongs to the immediate, and is no sign where the outer form moves operand b.
        if (seed.immediate || outer)
            for (int k = 0; seed.modifiers[k]; k += 2)
                if (seed.modifiers[k] == 63) seed.modifiers[k] = 0;
        SCOPED_TRACE(std::string(e.name) + " form " + std::to_string(form));
        check(seed, rounds, model);
        if (::testing::Test::HasFatalFailure()) return;
    }
}
inline std::string test_name(std::string name) {
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
}

}  // namespace sassemu::test
