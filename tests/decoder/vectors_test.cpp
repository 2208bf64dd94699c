// Text against nvdisasm's: every word of our own cubins, its mutations, and the larger collection where it is
// at hand. A wrong field position, enum value or print order anywhere in decoder/isa shows here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
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

struct Verdict {
    std::size_t total = 0, wrong = 0, rejected = 0;

    void judge(const Row& row) {
        sassdec_insn insn;
        const bool ok = sassdec_decode(row.arch, row.word, row.pc, &insn) == SASSDEC_OK;
        const bool expected = row.text != "-";
        ++total;
        rejected += !expected;
        if (ok == expected && (!ok || decode_text(row) == row.text)) return;
        if (++wrong <= 5) std::printf("%s differs: want %s\n   got  %s\n", sassdec_arch_name(row.arch), row.text.c_str(), decode_text(row).c_str());
    }

    // Rate of disagreement with its 95 % confidence interval (normal approximation).
    void print(const char* name) const {
        const double n = static_cast<double>(total), p = static_cast<double>(wrong) / n;
        std::printf("%-12s %6zu words, %5zu rejected by the oracle: %4zu differ, %.2f %% +- %.2f\n", name, total, rejected,
                    wrong, 100 * p, 196 * std::sqrt(p * (1 - p) / n));
    }
};

// Damaged words leave the compiler's habits: reserved values, odd modifiers, words that must be rejected.
// 20,000 for each group of architectures; the aim is under 1 %.
TEST(Vectors, MutationsAgreeWithTheOracle) {
    std::map<std::string, Verdict> groups;
    for_each_row(SASSDEC_TEST_DATA "/mutations.tsv.gz", nullptr, [&](const Row& row) {
        const char* group = row.arch == SASSDEC_SM_75                                  ? "turing"
                            : row.arch == SASSDEC_SM_80 || row.arch == SASSDEC_SM_86   ? "ampere"
                            : row.arch == SASSDEC_SM_89 || row.arch == SASSDEC_SM_90   ? "ada, hopper"
                                                                                       : "blackwell";
        groups[group].judge(row);
    });
    ASSERT_EQ(groups.size(), 4u);
    for (const auto& [name, verdict] : groups) {
        verdict.print(name.c_str());
        EXPECT_EQ(verdict.total, 20000u);
        EXPECT_GT(verdict.rejected, 1000u);
        EXPECT_LT(verdict.wrong * 1000, verdict.total * 7) << name;
    }
}

// Every value of every modifier field of every entry, most of them never seen in compiled code.
TEST(Vectors, SweepOfAllFieldsAgreesWithTheOracle) {
    Verdict all;
    for_each_row(SASSDEC_TEST_DATA "/sweep.tsv.gz", nullptr, [&](const Row& row) { all.judge(row); });
    ASSERT_GT(all.total, 30000u);
    all.print("sweep");
    EXPECT_LT(all.wrong * 1000, all.total * 5);
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
        std::size_t n = 0, ok = 0;
        for_each_row(entry.path().string(), arch.c_str(), [&](const Row& row) {
            ++n;
            ok += decode_text(row) == row.text;
        });
        std::printf("%-9s %6zu / %6zu  %7.3f %%\n", arch.c_str(), ok, n, 100.0 * static_cast<double>(ok) / static_cast<double>(n ? n : 1));
        total += n;
        good += ok;
    }
    std::printf("total     %6zu / %6zu  %7.3f %%\n", good, total, 100.0 * static_cast<double>(good) / static_cast<double>(total ? total : 1));
    EXPECT_EQ(good, total);
}

}  // namespace
