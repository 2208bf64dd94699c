// SPDX-License-Identifier: Apache-2.0
// Replays the hardware record: every recorded word runs on the same operands at every host level,
// and all registers, predicates and uniform registers must be what the chip made of them. What
// differs must be exactly what known.txt lists. SASSEMU_HARDWARE_RECORD names another record
// (uncompressed or zstd), SASSEMU_HARDWARE_KNOWN a file to write the list of differing mnemonics
// to, SASSEMU_HARDWARE_DIFFERENCES one for every differing lane of the sampled warps on the first
// level.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "tests/hardware/record_file.hpp"

namespace sassemu::test {
namespace {

// A machine per operand set, so that only what a word changed needs to be put back.
struct Bench {
    explicit Bench(const LevelTable* table, uint32_t warp)
        : machine(table), before(operands(warp)) {
        for (uint32_t row = 0; row < slot_rows; ++row) set_row(machine, row, before[row]);
        set_constants(machine);
    }
    Machine machine;
    const State before;
};

struct Result {
    Outcome outcome = Outcome::ok;
    bool equal = true;
    std::string first;  // the first difference
    std::vector<std::string> all;
};

Result compare(Bench& bench, const Recorded& w, const Record& record, uint32_t warp,
               bool everything) {
    Result out;
    Machine& m = bench.machine;
    out.outcome = m.step("sm_90", w.word);
    Row now;
    uint64_t hash = 0;
    std::vector<uint32_t> changed;
    const bool sampled = warp < record.samples;
    for (uint32_t row = 0; row < slot_rows; ++row) {
        get_row(m, row, now);
        const auto listed = std::find(w.rows.begin(), w.rows.end(), row);
        if (now != bench.before[row]) {
            changed.push_back(row);
            hash += row_hash(now, static_cast<uint8_t>(row));
        }
        if (!sampled || (!out.first.empty() && !everything) || out.outcome != Outcome::ok) continue;
        const Row& want =
            listed == w.rows.end()
                ? bench.before[row]
                : w.sampled[static_cast<size_t>(listed - w.rows.begin()) * record.samples + warp];
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (now[lane] == want[lane]) continue;
            const uint64_t bits[2] = {w.word.lo, w.word.hi};
            sassdec_insn insn;
            sassdec_decode(SASSDEC_SM_90, bits, 0, &insn);
            std::ostringstream text;
            text << row_name(row, lane) << " of warp " << warp << ": chip " << std::hex
                 << want[lane] << ", emulator " << now[lane] << ", before "
                 << bench.before[row][lane] << ";"
                 << operands_text(insn, bench.before, row > predicate_row ? 0 : lane);
            if (out.first.empty()) out.first = text.str();
            if (!everything) break;
            out.all.push_back(text.str());
        }
    }
    for (uint32_t row : changed) set_row(m, row, bench.before[row]);
    out.equal = hash == (w.hashes.empty() ? 0 : w.hashes[warp]);
    if (!out.equal && out.first.empty()) out.first = "only in warp " + std::to_string(warp);
    return out;
}

struct Tally {
    uint32_t words = 0, executed = 0, differing = 0;
    uint64_t tuples = 0;
    std::set<std::string> variants, bad;
};

struct Known {
    std::set<std::string> mnemonics;
    uint32_t executed = 0;
};

// Lines: `executed N`, or a mnemonic with its modifiers and a reason; # begins a comment.
Known read_known(const std::string& path) {
    Known out;
    std::istringstream in(read_file(path));
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string first, second;
        words >> first >> second;
        if (first.empty() || first[0] == '#') continue;
        if (first == "executed")
            out.executed = static_cast<uint32_t>(std::stoul(second));
        else
            out.mnemonics.insert(first);
        EXPECT_FALSE(second.empty()) << "no reason given: " << line;
    }
    return out;
}

const std::string here = SASSEMU_SOURCE_DIR "/tests/hardware/";

TEST(HardwareRecord, OperandsAreThoseOfTheRecorder) {
    // Printed by `record.py --selftest`.
    EXPECT_EQ(operand(0, 0, 3), 0x3f803000u);
    EXPECT_EQ(operand(0, 11, 3), 0xfffffffbu);
    EXPECT_EQ(operand(1, 0, 3), 0x3fa00000u);
    EXPECT_EQ(operand(1, 11, 3), 0xc081e04du);
    EXPECT_EQ(operand(2, 5, 3), 0x2fd54424u);
    EXPECT_EQ(operand(3, 9, 3), 0x401ed7f9u);
    EXPECT_EQ(operand(4, 4, 3), 0xfb0e0005u);
    EXPECT_EQ(operand(5, 8, 3), 0xad2e7668u);
    EXPECT_EQ(operand(6, 10, 3), 0x00c421e0u);
    EXPECT_EQ(operand(7, 1, 3), 0xd800ff80u);
    EXPECT_EQ(constant(0), 0xae0e0e0du);
    EXPECT_EQ(constant(5), 0x00000021u);
}

TEST(HardwareRecord, ReplaysOnEveryLevel) {
    const char* other = std::getenv("SASSEMU_HARDWARE_RECORD");
    const std::string path = other ? other : here + "record.bin.zst";
    Record record;
    ASSERT_TRUE(parse(unpacked(read_file(path)), record)) << path;
    const char* differences_to = std::getenv("SASSEMU_HARDWARE_DIFFERENCES");
    std::ofstream differences(differences_to ? differences_to : "/dev/null");
    std::map<std::string, Tally> tallies;
    std::map<std::string, std::string> first;  // by variant
    std::map<std::string, uint32_t> unable;
    std::vector<bool> leading_runs;  // a word that runs on one level runs on all
    uint32_t executed = 0, trapping = 0, trapping_runs = 0, wavering = 0, lacking = 0;
    for (const LevelTable* table : levels()) {
        std::vector<std::unique_ptr<Bench>> benches;
        for (uint32_t warp = 0; warp < record.warps; ++warp)
            benches.push_back(std::make_unique<Bench>(table, warp));
        const bool leading = table == levels().front();
        leading_runs.resize(record.words.size());
        for (size_t index = 0; index < record.words.size(); ++index) {
            const Recorded& w = record.words[index];
            if (w.status == unstable) wavering += leading;
            if (w.status == missing) lacking += leading;
            if (w.status == unstable || w.status == missing) continue;
            bool differs = false, runs = true;
            for (uint32_t warp = 0; warp < record.warps && runs; ++warp) {
                Bench& bench = *benches[warp];
                const Result r = compare(bench, w, record, warp, leading && differences_to);
                if (w.status == ran)
                    for (const std::string& line : r.all)
                        differences << mnemonic_of(bench.machine.sass) << "\t" << bench.machine.sass
                                    << "\t" << line << "\n";
                runs = r.outcome == Outcome::ok;
                if (w.status == traps) break;
                if (!runs || r.equal || differs) continue;
                differs = true;
                std::ostringstream text;
                text << table->name << ", " << bench.machine.sass << " (" << std::hex
                     << std::setfill('0') << std::setw(16) << w.word.hi << std::setw(16)
                     << w.word.lo << "): " << r.first;
                first.emplace(mnemonic_of(bench.machine.sass), text.str());
            }
            const Machine& m = benches[0]->machine;
            if (w.status == traps) {
                trapping += leading;
                trapping_runs += leading && runs;
                continue;
            }
            const uint64_t bits[2] = {w.word.lo, w.word.hi};
            sassdec_insn insn;
            const bool decodes = sassdec_decode(SASSDEC_SM_90, bits, 0, &insn) == SASSDEC_OK;
            const std::string name = decodes ? mnemonic_of(m.sass) : "undecodable";
            Tally& t = tallies[decodes ? name.substr(0, name.find('.')) : name];
            if (leading) leading_runs[index] = runs;
            if (runs != leading_runs[index]) {
                differs = true;
                first.emplace(name, std::string(table->name) + ", " + m.sass +
                                        (runs ? " runs" : " does not run") + ", unlike on " +
                                        levels().front()->name);
            }
            if (differs) t.bad.insert(name);
            if (!leading) continue;
            ++t.words;
            t.variants.insert(name);
            if (!runs) {
                ++unable[name + (decodes ? ": " + m.rejection : "")];
                continue;
            }
            ++executed;
            ++t.executed;
            t.differing += differs;
            t.tuples += uint64_t{32} * record.warps;
        }
    }
    std::cout << std::left << std::setw(16) << "instruction" << std::right << std::setw(9)
              << "variants" << std::setw(7) << "words" << std::setw(10) << "executed"
              << std::setw(9) << "tuples" << std::setw(10) << "differing"
              << "\n";
    std::set<std::string> bad;
    for (const auto& [name, t] : tallies) {
        std::cout << std::left << std::setw(16) << name << std::right << std::setw(9)
                  << t.variants.size() << std::setw(7) << t.words << std::setw(10) << t.executed
                  << std::setw(9) << t.tuples << std::setw(10) << t.differing << "\n";
        bad.insert(t.bad.begin(), t.bad.end());
    }
    std::cout << record.words.size() << " words: " << executed << " executed, " << trapping
              << " trap on the chip (of these " << trapping_runs << " run here), " << wavering
              << " unstable, " << lacking << " not recorded\n";
    for (const auto& [name, count] : unable)
        std::cout << "cannot run: " << count << " x " << name << "\n";
    for (const auto& [name, text] : first) std::cout << "differs: " << name << ": " << text << "\n";
    if (const char* target = std::getenv("SASSEMU_HARDWARE_KNOWN")) {
        std::ofstream out(target);
        out << "executed " << executed << "\n";
        for (const std::string& name : bad) out << name << "\n";
    }
    if (other) return;
    const Known known = read_known(here + "known.txt");
    EXPECT_GE(executed, known.executed);
    EXPECT_GT(executed, 1000u);
    for (const std::string& name : bad)
        EXPECT_TRUE(known.mnemonics.count(name)) << "differs from hardware: " << first[name];
    for (const std::string& name : known.mnemonics)
        EXPECT_TRUE(bad.count(name)) << name << " is exact: remove its line from known.txt";
}

}  // namespace
}  // namespace sassemu::test
