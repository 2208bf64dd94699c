// Text against nvdisasm's: every word of our own cubins, its mutations, and the larger collection where it is
// at hand. A wrong field position, enum value or print order anywhere in decoder/isa shows here.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "rows.hpp"

namespace {

TEST(Vectors, OwnCubinsPrintExactly) {
    const auto rows = read_rows(SASSDEC_TEST_DATA "/own.tsv");
    ASSERT_GT(rows.size(), 7000u);
    unsigned wrong = 0;
    for (const Row& row : rows) {
        const std::string got = decode_text(row);
        if (got != row.text && ++wrong <= 20)
            ADD_FAILURE() << sassdec_arch_name(row.arch) << " want " << row.text << "\n   got " << got;
    }
    EXPECT_EQ(wrong, 0u) << "of " << rows.size();
}

// Mutated words leave the compiler's habits: reserved values, odd modifiers, words that must be rejected.
TEST(Vectors, MutationsAgreeWithTheOracle) {
    const auto rows = read_rows(SASSDEC_TEST_DATA "/mutated.tsv");
    ASSERT_GT(rows.size(), 1000u);
    unsigned wrong = 0, rejected = 0;
    for (const Row& row : rows) {
        sassdec_insn insn;
        const bool ok = sassdec_decode(row.arch, row.word, row.pc, &insn) == SASSDEC_OK;
        const bool expected = row.text != "-";
        rejected += !expected;
        if (ok != expected || (ok && decode_text(row) != row.text)) {
            ++wrong;
            if (wrong <= 10) std::printf("differs: want %s\n         got  %s\n", row.text.c_str(), decode_text(row).c_str());
        }
    }
    std::printf("mutations: %u of %zu differ (%u rejected by the oracle)\n", wrong, rows.size(), rejected);
    EXPECT_GT(rejected, 50u);
    EXPECT_LE(wrong * 100, rows.size());  // the aim is under 1 %
}

std::filesystem::path collection() {
    for (const char* p : {SASSEMU_SOURCE_DIR "/../shared/decode", "../shared/decode"})
        if (std::filesystem::is_directory(p)) return p;
    return {};
}

TEST(Vectors, CollectionPrintsExactly) {
    const auto dir = collection();
    if (dir.empty()) GTEST_SKIP() << "no ../shared/decode";
    std::size_t total = 0, good = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".tsv.gz")) continue;
        const std::string arch = name.substr(0, name.size() - 7);
        std::FILE* pipe = popen(("gzip -dc '" + entry.path().string() + "'").c_str(), "r");
        ASSERT_NE(pipe, nullptr);
        std::size_t n = 0, ok = 0;
        char line[1024];
        while (std::fgets(line, sizeof line, pipe)) {
            std::string s(line);
            while (!s.empty() && s.back() == '\n') s.pop_back();
            Row row;
            if (!parse_row(s, row, arch.c_str())) continue;
            ++n;
            ok += decode_text(row) == row.text;
        }
        pclose(pipe);
        std::printf("%-9s %6zu / %6zu  %7.3f %%\n", arch.c_str(), ok, n, 100.0 * static_cast<double>(ok) / static_cast<double>(n ? n : 1));
        total += n;
        good += ok;
    }
    std::printf("total     %6zu / %6zu  %7.3f %%\n", good, total, 100.0 * static_cast<double>(good) / static_cast<double>(total ? total : 1));
    EXPECT_GE(good * 1000, total * 980);
}

}  // namespace
