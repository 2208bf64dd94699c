// SPDX-License-Identifier: Apache-2.0
// CLMAD: 64-bit products over GF(2) (clmad), against bits multiplied one by one; every form of its
// operands on every architecture that has it. The replay of tests/hardware holds it against a chip.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "harness.hpp"

namespace sassemu::test {
namespace {

uint64_t expected(bool high, uint64_t a, uint64_t b, uint64_t c) {
    for (unsigned i = 0; i < 64; ++i)
        for (unsigned k = 0; k < 64; ++k)
            if ((a >> i & b >> k & 1) && (i + k >= 64) == high) c ^= uint64_t{1} << (i + k) % 64;
    return c;
}

TEST(Carryless, ProductOf64Bits) {
    std::mt19937_64 random(4);
    const struct {
        const char* operands;
        bool constant;
    } forms[] = {{"R8, R10, R12, R14", false},         {"R8, R10, R8, R12", false},
                 {"R8, RZ, R12, R14", false},          {"R8, R10, R12, RZ", false},
                 {"R8, R10, UR4, R14", false},         {"R8, R10, R12, UR4", false},
                 {"R8, R10, c[0x3][0x20], R14", true}, {"R8, R10, R12, c[0x3][0x20]", true}};
    for (const LevelTable* level : levels()) {
        Machine m(level);
        for (const char* arch :
             {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_107", "sm_110", "sm_120"})
            for (const auto& form : forms)
                for (const bool high : {false, true}) {
                    const std::string name = arch;
                    if (form.constant && name.size() > 5) continue;  // no constants from sm_100 on
                    const std::string text =
                        std::string(high ? "CLMAD.HI " : "CLMAD.LO ") + form.operands;
                    uint64_t bits[2];
                    ASSERT_EQ(sassdec_assemble(sassdec_arch_from_name(arch), text.c_str(), 0,
                                               nullptr, bits, nullptr),
                              SASSDEC_OK)
                        << arch << " " << text;
                    const uint64_t shared = random();
                    m.ur(4) = static_cast<uint32_t>(shared);
                    m.ur(5) = static_cast<uint32_t>(shared >> 32);
                    std::memcpy(m.bank(2) + 0x20, &shared, 8);
                    uint64_t values[32][4];
                    for (unsigned lane = 0; lane < 32; ++lane)
                        for (unsigned k = 0; k < 4; ++k)
                            m.set64(8 + 2 * k, lane, values[lane][k] = random() & random());
                    ASSERT_EQ(m.step(arch, Word(bits[1], bits[0])), Outcome::ok) << m.rejection;
                    for (unsigned lane = 0; lane < 32; ++lane) {
                        const std::string at = form.operands;
                        uint64_t source[3];
                        size_t from = at.find(", ") + 2;
                        for (uint64_t& s : source) {
                            const std::string one = at.substr(from, at.find(", ", from) - from);
                            from += one.size() + 2;
                            s = one == "RZ"     ? 0
                                : one[0] != 'R' ? shared
                                                : values[lane][(std::stoul(one.substr(1)) - 8) / 2];
                        }
                        ASSERT_EQ(m.r64(8, lane), expected(high, source[0], source[1], source[2]))
                            << arch << " " << text;
                    }
                }
    }
}

// An H100 answers CUDA error 715.
TEST(Carryless, OddRegistersFault) {
    Machine m(levels().front());
    for (const char* word :
         {"000000000000000a000000080605722c", "000000000000000a000000080704722c",
          "000000000000000a000000090604722c", "000000000000000b000000080604722c"})
        EXPECT_EQ(m.step("sm_90", Word((std::string("000fe2") + (word + 6)).c_str())),
                  Outcome::fault)
            << m.sass;
}

}  // namespace
}  // namespace sassemu::test
