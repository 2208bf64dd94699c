// SPDX-License-Identifier: Apache-2.0
// Text against nvdisasm's: every word of our own cubins, its mutations, and the larger collection
// where it is at hand. A wrong field position, enum value or print order anywhere in decoder/isa
// shows here. Of the sets made by asking nvdisasm a sample is committed (oracle.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "rows.hpp"

namespace {

TEST(Vectors, OwnCubinsPrintExactly) {
    const auto rows = read_rows(SASSDEC_TEST_DATA "/own.tsv");
    ASSERT_GT(rows.size(), 7000u);
    unsigned wrong = 0;
    for (const Row& row : rows) {
        const std::string got = decode_text(row);
        if (got != row.text && ++wrong <= 20)
            ADD_FAILURE() << sassdec_arch_name(row.arch) << " want " << row.text << "\n   got "
                          << got;
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
        if (++wrong <= 5)
            std::printf("%s differs: want %s\n   got  %s\n", sassdec_arch_name(row.arch),
                        row.text.c_str(), decode_text(row).c_str());
    }

    // Rate of disagreement with its 95 % confidence interval (normal approximation).
    void print(const char* name) const {
        const double n = static_cast<double>(total), p = static_cast<double>(wrong) / n;
        std::printf("%-12s %6zu words, %5zu rejected by the oracle: %4zu differ, %.2f %% +- %.2f\n",
                    name, total, rejected, wrong, 100 * p, 196 * std::sqrt(p * (1 - p) / n));
    }
};

// Damaged words leave the compiler's habits: reserved values, odd modifiers, words that must be
// rejected; of the whole set 20,000 for each table family.
TEST(Vectors, MutationsAgreeWithTheOracle) {
    std::map<sassdec_arch, Verdict> families;
    Verdict all;
    for_each_row(vectors("mutations"), nullptr, [&](const Row& row) {
        families[row.arch].judge(row);
        all.judge(row);
    });
    // All but sm_107, which nvdisasm 13.0 does not know.
    ASSERT_EQ(families.size(), static_cast<std::size_t>(SASSDEC_ARCH_COUNT) - 1);
    for (const auto& [arch, verdict] : families) {
        verdict.print(sassdec_arch_name(arch));
        EXPECT_GT(verdict.total, 2500u);
        EXPECT_GT(verdict.rejected, 150u);
        EXPECT_LT(verdict.wrong * 1000, verdict.total) << sassdec_arch_name(arch);
    }
    all.print("mutations");
}

// One word of each shape (mnemonic, modifiers, kinds of operands) that ptxas 13.0 made of own
// sources.
TEST(Vectors, CompiledShapesPrintExactly) {
    Verdict all;
    for_each_row(SASSDEC_TEST_DATA "/compiled.tsv.gz", nullptr,
                 [&](const Row& row) { all.judge(row); });
    ASSERT_GT(all.total, 50000u);
    all.print("compiled");
    EXPECT_EQ(all.wrong, 0u);
}

// Every value of every modifier field of every entry, most of them never seen in compiled code.
TEST(Vectors, SweepOfAllFieldsAgreesWithTheOracle) {
    Verdict all;
    for_each_row(vectors("sweep"), nullptr, [&](const Row& row) { all.judge(row); });
    ASSERT_GT(all.total, 20000u);
    all.print("sweep");
    EXPECT_LT(all.wrong * 1000, all.total);
}

// Random words of every form of the description, as random in registers, immediates, signs and
// schedules as in modifiers.
TEST(Vectors, RandomWordsAgreeWithTheOracle) {
    Verdict all;
    for_each_row(vectors("random"), nullptr, [&](const Row& row) { all.judge(row); });
    ASSERT_GT(all.total, 10000u);
    all.print("random");
    EXPECT_LT(all.wrong * 1000, all.total);
}

// Instructions that compiled code hardly shows: combinations of all their modifiers. Each of these
// must occur, with the modifiers behind it, as nvdisasm prints it, on every architecture that has
// it.
struct Wanted {
    std::vector<std::string> words;  // mnemonic, then modifiers in any order
    std::set<sassdec_arch> archs;
};

std::vector<Wanted> wanted() {
    const std::set<sassdec_arch> all = {SASSDEC_SM_75,  SASSDEC_SM_80,  SASSDEC_SM_86,
                                        SASSDEC_SM_89,  SASSDEC_SM_90,  SASSDEC_SM_100,
                                        SASSDEC_SM_103, SASSDEC_SM_110, SASSDEC_SM_120};
    std::set<sassdec_arch> ampere = all;
    ampere.erase(SASSDEC_SM_75);
    const std::set<sassdec_arch> hopper = {SASSDEC_SM_90, SASSDEC_SM_100, SASSDEC_SM_103,
                                           SASSDEC_SM_110, SASSDEC_SM_120};
    const std::set<sassdec_arch> tcgen05 = {SASSDEC_SM_100, SASSDEC_SM_103, SASSDEC_SM_110};
    std::vector<Wanted> list;
    const auto add = [&](const std::set<sassdec_arch>& archs, const std::string& name,
                         const std::string& modifiers) {
        std::istringstream in(modifiers);
        for (std::string m; in >> m;) {
            Wanted w{{name}, archs};
            std::istringstream parts(m);
            for (std::string part; std::getline(parts, part, '.');) w.words.push_back(part);
            list.push_back(std::move(w));
        }
    };
    add(all, "CCTL", "PF1 PF2 WB IV IVALL RS IVALLP WBALL");
    add(ampere, "CCTL", "PML2 DML2 RML2");
    add(all, "CCTLT", "IVALL IVTH");
    add(all, "CCTLL", "PF1 PF2 WB IV IVALL RS WBALL");
    add(all, "MEMBAR", "CTA SM GPU SYS VC SC.CTA SC.SM SC.GPU SC.SYS SC.VC ALL.GPU MMIO.SYS");
    add(hopper, "MEMBAR", "CTA.PARTIAL");
    add(hopper, "MEMBAR", "VC.ASYNC");
    add(hopper, "FENCE", "VIEW.ASYNC.S VIEW.ASYNC.G");
    add(tcgen05, "FENCE", "VIEW.ASYNC.T");
    add(all, "BAR", "SYNC ARV SCAN RED.POPC RED.AND RED.OR");
    add(hopper, "UTMAREDG", "ADD MIN MAX INC DEC AND OR XOR 1D 2D 3D 4D 5D");
    add(hopper, "UBLKRED", "S.ADD S.MIN S.MAX S.INC S.DEC S.AND S.OR S.XOR");
    add(hopper, "REDAS", "ADD MIN MAX INC DEC AND OR XOR S32 64");
    add(tcgen05, "UTCSHIFT", "2CTA");
    add(tcgen05, "UTCBAR", "FLUSH 2CTA.MULTICAST A0TX");
    add(tcgen05, "LDTM", "16dp128bit.x2 16dp256bit.x16 16dp64bit.x4 x128");
    add(tcgen05, "STTM", "16dp128bit.x2 16dp256bit.x16 16dp64bit.x4 x128");
    add(all, "TEX", "LZ LB LL LC AOFFI DC NODEP SCR F16.RN");
    add(all, "TLD", "LZ LL AOFFI MS NODEP");
    add(all, "TLD4", "R G B A AOFFI PTP DC");
    add(all, "TXQ", "NODEP");
    add(all, "SULD", "D.1D D.2D D.3D D.2D_ARRAY D.64 D.TRAP D.BA P.1D P.RG P.R");
    add(all, "SUST", "D.1D D.2D D.3D D.2D_ARRAY D.64 D.TRAP D.BA P.1D P.RG P.R");
    add(all, "SUATOM", "D.ADD D.MIN D.MAX D.INC D.DEC D.AND D.OR D.XOR D.EXCH D.CAS");
    add(all, "SURED", "D.ADD D.MIN D.MAX D.INC D.DEC D.AND D.OR D.XOR");
    return list;
}

TEST(Vectors, NamedInstructionsAgreeInTheirCombinations) {
    Verdict all;
    std::map<std::pair<sassdec_arch, std::string>, std::vector<std::set<std::string>>> seen;
    for_each_row(vectors("named"), nullptr, [&](const Row& row) {
        all.judge(row);
        if (row.text == "-" || decode_text(row) != row.text) return;
        std::istringstream in(row.text.substr(0, row.text.find(' ')));
        std::set<std::string> parts;
        std::string name, part;
        std::getline(in, name, '.');
        while (std::getline(in, part, '.')) parts.insert(part);
        seen[{row.arch, name}].push_back(std::move(parts));
    });
    ASSERT_GT(all.total, 20000u);
    all.print("named");
    EXPECT_EQ(all.wrong, 0u);
    for (const Wanted& w : wanted())
        for (const sassdec_arch arch : w.archs) {
            const auto& rows = seen[{arch, w.words[0]}];
            const bool found =
                std::any_of(rows.begin(), rows.end(), [&](const std::set<std::string>& parts) {
                    return std::all_of(w.words.begin() + 1, w.words.end(),
                                       [&](const std::string& m) { return parts.contains(m); });
                });
            std::string text;
            for (const std::string& word : w.words) text += word + ".";
            EXPECT_TRUE(found) << sassdec_arch_name(arch) << " " << text;
        }
}

std::vector<std::filesystem::path> collection() {
    std::vector<std::filesystem::path> files;
    for (const char* p : {SASSEMU_SOURCE_DIR "/../shared/decode", "../shared/decode",
                          SASSEMU_SOURCE_DIR "/../shared/decode-13.5", "../shared/decode-13.5"}) {
        if (!std::filesystem::is_directory(p)) continue;
        for (const auto& entry : std::filesystem::directory_iterator(p))
            files.push_back(entry.path());
    }
    return files;
}

TEST(Vectors, CollectionPrintsExactly) {
    const auto files = collection();
    if (files.empty()) GTEST_SKIP() << "no ../shared/decode";
    std::size_t total = 0, good = 0;
    for (const auto& path : files) {
        const std::string name = path.filename().string();
        if (!name.ends_with(".tsv.gz")) continue;
        const std::string arch = name.substr(0, name.size() - 7);
        std::size_t n = 0, ok = 0;
        for_each_row(path.string(), arch.c_str(), [&](const Row& row) {
            ++n;
            ok += decode_text(row) == row.text;
        });
        std::printf("%-9s %6zu / %6zu  %7.3f %%\n", arch.c_str(), ok, n,
                    100.0 * static_cast<double>(ok) / static_cast<double>(n ? n : 1));
        total += n;
        good += ok;
    }
    std::printf("total     %6zu / %6zu  %7.3f %%\n", good, total,
                100.0 * static_cast<double>(good) / static_cast<double>(total ? total : 1));
    EXPECT_EQ(good, total);
}

}  // namespace
