// SPDX-License-Identifier: Apache-2.0
// Any 128-bit word on any architecture gives an instruction or a reason: no crash, no text beyond
// its buffer.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "rows.hpp"

namespace {

void check(sassdec_arch arch, const std::uint64_t (&w)[2]) {
    sassdec_insn insn;
    std::memset(&insn, 0xa5, sizeof insn);
    const sassdec_status status = sassdec_decode(arch, w, 0x1230, &insn);
    ASSERT_EQ(status, insn.status);
    char text[600];
    std::memset(text, '#', sizeof text);
    const int n = sassdec_format(&insn, nullptr, text, sizeof text);
    ASSERT_GT(n, 0);
    ASSERT_EQ(std::strlen(text), static_cast<std::size_t>(n));
    char reason[200];
    ASSERT_GE(sassdec_reason(&insn, reason, sizeof reason), 0);
    ASSERT_EQ(status == SASSDEC_OK, reason[0] == 0);
    if (status == SASSDEC_OK) {
        ASSERT_LE(insn.operand_count, SASSDEC_MAX_OPERANDS);
        ASSERT_LE(insn.field_count, SASSDEC_MAX_FIELDS);
        ASSERT_NE(std::string(sassdec_mnemonic(&insn)), "");
    } else {
        ASSERT_EQ(std::string(text).rfind("<undecodable: ", 0), 0u);
    }
    sassdec_regset read, written;
    sassdec_registers(&insn, &read, &written);
    for (unsigned i = 0; i < 30; ++i) {
        sassdec_field_name(&insn, i);
        sassdec_field_text(&insn, i);
        sassdec_operand_name(&insn, i);
    }
}

TEST(Robustness, RandomWords) {
    std::mt19937_64 random(42);
    for (int arch = 0; arch < SASSDEC_ARCH_COUNT; ++arch)
        for (int i = 0; i < 60000; ++i) {
            const std::uint64_t w[2] = {random(), random()};
            check(static_cast<sassdec_arch>(arch), w);
            if (HasFatalFailure()) return;
        }
}

// Random words rarely reach an opcode; start from real ones and damage a few bits.
TEST(Robustness, DamagedWordsOnEveryArchitecture) {
    const auto rows = read_rows(SASSDEC_TEST_DATA "/own.tsv");
    std::mt19937_64 random(7);
    unsigned decoded = 0;
    for (int arch = 0; arch < SASSDEC_ARCH_COUNT; ++arch)
        for (std::size_t i = 0; i < rows.size(); i += 3) {
            std::uint64_t w[2] = {rows[i].word[0], rows[i].word[1]};
            for (unsigned k = 0, n = random() % 4; k < n; ++k) {
                const unsigned bit = random() % 128;
                w[bit / 64] ^= std::uint64_t{1} << bit % 64;
            }
            check(static_cast<sassdec_arch>(arch), w);
            if (HasFatalFailure()) return;
            sassdec_insn insn;
            decoded += sassdec_decode(static_cast<sassdec_arch>(arch), w, 0, &insn) == SASSDEC_OK;
        }
    EXPECT_GT(decoded, 5000u);
}

TEST(Robustness, ShortBuffersAreTerminatedAndReported) {
    const auto rows = read_rows(SASSDEC_TEST_DATA "/own.tsv");
    ASSERT_FALSE(rows.empty());
    sassdec_insn insn;
    ASSERT_EQ(sassdec_decode(rows[0].arch, rows[0].word, rows[0].pc, &insn), SASSDEC_OK);
    const std::size_t full = rows[0].text.size();
    for (std::size_t size = 1; size <= full + 1; ++size) {
        char text[300];
        std::memset(text, '#', sizeof text);
        const int n = sassdec_format(&insn, nullptr, text, size);
        EXPECT_EQ(n, size > full ? static_cast<int>(full) : -1);
        EXPECT_EQ(text[size], '#');
        EXPECT_LT(std::strlen(text), size);
    }
}

TEST(Robustness, BadArgumentsAreRefused) {
    const std::uint64_t w[2] = {0, 0};
    sassdec_insn insn;
    EXPECT_EQ(sassdec_decode(SASSDEC_SM_90, w, 0, nullptr), SASSDEC_E_ARGUMENT);
    EXPECT_EQ(sassdec_decode(SASSDEC_SM_90, nullptr, 0, &insn), SASSDEC_E_ARGUMENT);
    EXPECT_EQ(sassdec_decode(SASSDEC_ARCH_UNKNOWN, w, 0, &insn), SASSDEC_E_ARGUMENT);
    char text[64];
    EXPECT_EQ(sassdec_format(nullptr, nullptr, text, sizeof text), -1);
    EXPECT_EQ(sassdec_format(&insn, nullptr, nullptr, 0), -1);
}

}  // namespace
