// SPDX-License-Identifier: Apache-2.0
// No sign is lost on the way from a word to its operation: -R, ~R, |R| and !P of every word that
// compilers made of our own sources (tests/decoder/data) change what is lowered, or the word has no
// behaviour at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "emu/schedule/level_choice.hpp"
#include "tests/decoder/rows.hpp"

namespace sassemu {
namespace {

struct Lowered {
    std::string text;
    Op op;
    bool runs = false;
};

Lowered lowered(const LevelTable& level, ImmediatePool& pool, sassdec_arch arch,
                const uint64_t (&word)[2]) {
    Lowered l;
    std::memset(static_cast<void*>(&l.op), 0, sizeof l.op);
    sassdec_insn insn;
    char text[1024];
    if (sassdec_decode(arch, word, 0x1000, &insn) != SASSDEC_OK ||
        sassdec_format(&insn, nullptr, text, sizeof text) < 0)
        return l;
    l.text = text;
    std::string rejection;
    LowerRequest request;
    request.instruction = &insn;
    request.offset = 0x1000;
    request.section_end = 0x100000;
    request.sm = static_cast<uint32_t>(std::stoul(sassdec_arch_name(arch) + 3));
    request.max_registers = 255;
    request.lowering = Lowering::checked;
    request.pool = &pool;
    request.op = &l.op;
    request.rejection = &rejection;
    level.lower(request);
    l.runs = rejection.empty();
    return l;
}

std::string unsigned_text(std::string text) {
    std::erase_if(text, [](char c) { return c == '-' || c == '~' || c == '!' || c == '|'; });
    return text;
}

// A zero has no sign in a sum; without a result predicate nobody reads LOP3's predicate operand;
// NANOSLEEP.SYNCS does nothing here.
bool may_be_ignored(const std::string& text) {
    const bool sum = text.find("IADD3") != text.npos || text.find("IMAD") != text.npos;
    return text.find("LOP3") != text.npos || text.find("NANOSLEEP.SYNCS") != text.npos ||
           (sum && text.find("RZ") != text.npos);
}

TEST(Lowering, LosesNoSign) {
    const auto level = choose_level(HostLevel{});
    ASSERT_TRUE(level);
    ImmediatePool pool;
    // The handler of words without behaviour.
    uint64_t word[2];
    sassdec_asm_error error;
    ASSERT_EQ(sassdec_assemble(SASSDEC_SM_100, "LDG.E.ELL2.256 R8, R4, desc[UR4][R4.64]", 0,
                               nullptr, word, &error),
              SASSDEC_OK);
    const Handler none = lowered(**level, pool, SASSDEC_SM_100, word).op.fn[0];
    unsigned tried = 0, lost = 0;
    for_each_row(
        SASSEMU_SOURCE_DIR "/tests/decoder/data/compiled.tsv.gz", nullptr, [&](const Row& row) {
            const Lowered as_is = lowered(**level, pool, row.arch, row.word);
            if (!as_is.runs || as_is.op.fn[0] == none) return;
            const std::string plain = unsigned_text(as_is.text);
            for (unsigned bit = 16; bit < 105; ++bit) {
                uint64_t flipped[2] = {row.word[0], row.word[1]};
                flipped[bit / 64] ^= uint64_t{1} << bit % 64;
                const Lowered other = lowered(**level, pool, row.arch, flipped);
                if (!other.runs || other.text == as_is.text || unsigned_text(other.text) != plain)
                    continue;
                ++tried;
                if (std::memcmp(&as_is.op, &other.op, sizeof(Op)) == 0 &&
                    !may_be_ignored(as_is.text) && ++lost <= 10)
                    ADD_FAILURE() << sassdec_arch_name(row.arch) << ": " << as_is.text
                                  << " is lowered as " << other.text;
            }
        });
    EXPECT_GT(tried, 50000u);
    EXPECT_EQ(lost, 0u);
}

}  // namespace
}  // namespace sassemu
