// Replays the hardware record: every recorded word runs on the same operands at every host level, and
// all registers, predicates and uniform registers must be what the chip made of them. What differs
// must be exactly what known.txt lists. SASSEMU_HARDWARE_RECORD names another record (uncompressed or
// zstd), SASSEMU_HARDWARE_KNOWN a file to write the list of differing mnemonics to,
// SASSEMU_HARDWARE_DIFFERENCES one for every differing lane of the sampled warps on the first level.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "tests/hardware/operands.hpp"
#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

constexpr uint8_t ran = 0, traps = 1, unstable = 2, missing = 3;

struct Recorded {
    Word word;
    uint8_t status = 0;
    std::vector<uint8_t> rows;     // that the word changed in any warp
    std::vector<uint64_t> hashes;  // per warp; empty if nothing changed
    std::vector<Row> sampled;      // [row][warp] after the word
};

struct Record {
    uint32_t warps = 0, samples = 0;
    std::vector<Recorded> words;
};

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string unpacked(std::string bytes) {
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return bytes;
    std::string out(size, 0);
    const size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
    return ZSTD_isError(got) ? std::string() : out;
}

bool parse(const std::string& bytes, Record& record) {
    size_t at = 0;
    bool fits = true;
    auto take = [&](void* to, size_t n) {
        fits = fits && bytes.size() - at >= n;
        if (!fits) return;
        std::memcpy(to, bytes.data() + at, n);
        at += n;
    };
    char magic[8] = {};
    uint32_t count = 0;
    take(magic, 8);
    take(&count, 4);
    take(&record.warps, 4);
    take(&record.samples, 4);
    if (!fits || std::memcmp(magic, "SASSHW01", 8) != 0) return false;
    for (uint32_t i = 0; i < count && fits; ++i) {
        Recorded w;
        uint8_t rows = 0;
        take(&w.word.lo, 8);
        take(&w.word.hi, 8);
        take(&w.status, 1);
        take(&rows, 1);
        if ((w.status == ran || w.status == unstable) && rows) {
            w.rows.resize(rows);
            w.hashes.resize(record.warps);
            w.sampled.resize(size_t{rows} * record.samples);
            take(w.rows.data(), rows);
            take(w.hashes.data(), 8 * w.hashes.size());
            take(w.sampled.data(), sizeof(Row) * w.sampled.size());
        }
        record.words.push_back(std::move(w));
    }
    return fits && at == bytes.size();
}

uint64_t row_hash(const Row& row, uint8_t number) {
    uint64_t h = 0;
    for (uint64_t lane = 0; lane < 32; ++lane) h += mix(row[lane] + (lane << 40) + 0x1234567);
    return mix(h + number * 0x9e3779b97f4a7c15);
}

using State = std::array<Row, slot_rows>;

// One row of the record's numbering, out of and into a machine.
void get_row(Machine& m, uint32_t row, Row& out) {
    if (row < slot_registers) {
        std::memcpy(out.data(), &m.r(row, 0), sizeof out);
    } else if (row == predicate_row) {
        for (uint32_t lane = 0; lane < 32; ++lane) {
            out[lane] = 0;
            for (uint32_t i = 0; i < 7; ++i) out[lane] |= (m.p(i) >> lane & 1) << i;
        }
    } else {
        out = {};
        const uint32_t first = (row - uniform_row) * 32;
        for (uint32_t i = first; i < std::min(first + 32, slot_uniform); ++i) out[i - first] = m.ur(i);
        if (first)
            for (uint32_t i = 0; i < 7; ++i) out[28] |= (m.up(i) & 1) << i;
    }
}
void set_row(Machine& m, uint32_t row, const Row& in) {
    if (row < slot_registers) {
        std::memcpy(&m.r(row, 0), in.data(), sizeof in);
    } else if (row == predicate_row) {
        for (uint32_t i = 0; i < 7; ++i) {
            m.p(i) = 0;
            for (uint32_t lane = 0; lane < 32; ++lane) m.p(i) |= (in[lane] >> i & 1) << lane;
        }
    } else {
        const uint32_t first = (row - uniform_row) * 32;
        for (uint32_t i = first; i < std::min(first + 32, slot_uniform); ++i) m.ur(i) = in[i - first];
        if (first)
            for (uint32_t i = 0; i < 7; ++i) m.up(i) = in[28] >> i & 1 ? ~0u : 0;
    }
}

// A machine per operand set, so that only what a word changed needs to be put back.
struct Bench {
    explicit Bench(const LevelTable* table, uint32_t warp) : machine(table), before(operands(warp)) {
        for (uint32_t row = 0; row < slot_rows; ++row) set_row(machine, row, before[row]);
        for (uint32_t i = 0; i < constant_words; ++i) {
            const uint32_t v = constant(i);
            std::memcpy(machine.bank(0) + constant_offset + 4 * i, &v, 4);
        }
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

std::string row_name(uint32_t row, uint32_t lane) {
    if (row < slot_registers) return "R" + std::to_string(row) + " lane " + std::to_string(lane);
    if (row == predicate_row) return "predicates of lane " + std::to_string(lane);
    const uint32_t i = (row - uniform_row) * 32 + lane;
    return i == 60 ? "uniform predicates" : "UR" + std::to_string(i);
}

// What the word read, for a report: every register operand's value in that lane.
std::string operands_text(const sassdec_insn& insn, const State& before, uint32_t lane) {
    std::ostringstream out;
    out << std::hex;
    for (unsigned i = 0; i < insn.operand_count; ++i) {
        const sassdec_operand& o = insn.operand[i];
        if (!(o.access & SASSDEC_READ) && i) continue;
        if (o.kind == SASSDEC_OP_REG && o.file == SASSDEC_R && o.index != 255)
            for (unsigned k = 0; k < o.width && o.index + k < slot_registers; ++k)
                out << " R" << std::dec << o.index + k << std::hex << "=" << before[o.index + k][lane];
        if (o.kind == SASSDEC_OP_REG && o.file == SASSDEC_UR && o.index < slot_uniform)
            for (unsigned k = 0; k < o.width && o.index + k < slot_uniform; ++k)
                out << " UR" << std::dec << o.index + k << std::hex << "="
                    << before[uniform_row + (o.index + k) / 32][(o.index + k) % 32];
        if (o.kind == SASSDEC_OP_CONST)
            for (int k = 0; k < std::max<int>(o.width, 1); ++k)
                out << " c[" << o.offset + 4 * k << "]="
                    << constant((static_cast<uint32_t>(o.offset) - constant_offset) / 4 + k);
    }
    out << " P=" << before[predicate_row][lane] << " UP=" << before[uniform_row + 1][28];
    return out.str();
}

Result compare(Bench& bench, const Recorded& w, const Record& record, uint32_t warp, bool everything) {
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
        const Row& want = listed == w.rows.end()
                              ? bench.before[row]
                              : w.sampled[static_cast<size_t>(listed - w.rows.begin()) * record.samples + warp];
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (now[lane] == want[lane]) continue;
            const uint64_t bits[2] = {w.word.lo, w.word.hi};
            sassdec_insn insn;
            sassdec_decode(SASSDEC_SM_90, bits, 0, &insn);
            std::ostringstream text;
            text << row_name(row, lane) << " of warp " << warp << ": chip " << std::hex << want[lane] << ", emulator "
                 << now[lane] << ", before " << bench.before[row][lane] << ";"
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

// "FADD.FTZ" of "@!P0 FADD.FTZ R1, R2, R3".
std::string mnemonic_of(const std::string& sass) {
    const size_t begin = sass[0] == '@' ? sass.find(' ') + 1 : 0;
    return sass.substr(begin, sass.find(' ', begin) - begin);
}

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
                        differences << mnemonic_of(bench.machine.sass) << "\t" << bench.machine.sass << "\t" << line << "\n";
                runs = r.outcome == Outcome::ok;
                if (w.status == traps) break;
                if (!runs || r.equal || differs) continue;
                differs = true;
                std::ostringstream text;
                text << table->name << ", " << bench.machine.sass << " (" << std::hex << std::setfill('0')
                     << std::setw(16) << w.word.hi << std::setw(16) << w.word.lo << "): " << r.first;
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
                first.emplace(name, std::string(table->name) + ", " + m.sass + (runs ? " runs" : " does not run") + ", unlike on " +
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
    std::cout << std::left << std::setw(16) << "instruction" << std::right << std::setw(9) << "variants" << std::setw(7)
              << "words" << std::setw(10) << "executed" << std::setw(9) << "tuples" << std::setw(10) << "differing"
              << "\n";
    std::set<std::string> bad;
    for (const auto& [name, t] : tallies) {
        std::cout << std::left << std::setw(16) << name << std::right << std::setw(9) << t.variants.size()
                  << std::setw(7) << t.words << std::setw(10) << t.executed << std::setw(9) << t.tuples
                  << std::setw(10) << t.differing << "\n";
        bad.insert(t.bad.begin(), t.bad.end());
    }
    std::cout << record.words.size() << " words: " << executed << " executed, " << trapping << " trap on the chip (of these "
              << trapping_runs << " run here), " << wavering << " unstable, " << lacking << " not recorded\n";
    for (const auto& [name, count] : unable) std::cout << "cannot run: " << count << " x " << name << "\n";
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
