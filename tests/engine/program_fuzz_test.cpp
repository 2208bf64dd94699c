// SPDX-License-Identifier: Apache-2.0
// Random programs, fast against reference: instructions of our own cubins with their operand and
// modifier bits changed at random run on the scalar level and on every vector level, from the same
// random registers, predicates and uniform registers; all state must be equal after each step.
// SASSEMU_FUZZ_SEED and SASSEMU_FUZZ_STEPS widen the search.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <set>

#include "emu/module/module.hpp"
#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

uint64_t setting(const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

struct Seed {
    Word word;
    std::string arch;
};

// Distinct words of the committed cubins of one architecture that compute on registers only.
std::vector<Seed> seeds(const std::string& arch) {
    namespace fs = std::filesystem;
    std::vector<Seed> out;
    std::set<std::pair<uint64_t, uint64_t>> known;
    std::set<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(SASSEMU_SOURCE_DIR "/cubins"))
        if (entry.path().filename() == arch + ".cubin") files.insert(entry.path());
    for (const fs::path& file : files) {
        auto module = load_module_file(file.string());
        if (!module) continue;
        for (const CodeSection& section : module->code_sections())
            for (size_t at = 0; at + 16 <= section.bytes.size(); at += 16) {
                Word w;
                std::memcpy(&w.lo, section.bytes.data() + at, 8);
                std::memcpy(&w.hi, section.bytes.data() + at + 8, 8);
                w.set(127, 105, 0);
                if (known.insert({w.lo, w.hi}).second) out.push_back({w, arch});
            }
    }
    return out;
}

constexpr uint32_t forbidden = SASSDEC_GROUP_BRANCH | SASSDEC_GROUP_CALL | SASSDEC_GROUP_RETURN |
                               SASSDEC_GROUP_EXIT | SASSDEC_GROUP_BARRIER |
                               SASSDEC_GROUP_CONVERGENCE | SASSDEC_GROUP_MEMORY |
                               SASSDEC_GROUP_ASYNC | SASSDEC_GROUP_FENCE | SASSDEC_GROUP_TENSOR |
                               SASSDEC_GROUP_TEXTURE | SASSDEC_GROUP_SYSTEM | SASSDEC_GROUP_CACHE;

bool computes(const Seed& s) {
    const uint64_t bits[2] = {s.word.lo, s.word.hi};
    sassdec_insn insn;
    return sassdec_decode(sassdec_arch_from_name(s.arch.c_str()), bits, 0, &insn) == SASSDEC_OK &&
           (insn.groups & forbidden) == 0;
}

class Values {
  public:
    explicit Values(uint64_t seed) : random_(seed) {}
    uint64_t next() { return random_(); }
    // Raw bits, special floats, small integers, moderate floats.
    uint32_t value() {
        static constexpr uint32_t special[] = {
            0,          0x80000000, 1,          0x7fffffff, 0x7f800000, 0xff800000, 0x7fc00001,
            0x7f800001, 0x3f800000, 0xbf800000, 0x007fffff, 0x00800000, 0x807fffff, 0xffffffff,
            0x7c007c00, 0xfc00fe00, 0x3c003c00, 0x00010400, 0x7f7fffff, 31,         32,
            33,         0x3ff00000, 0x7ff00000, 0xfff80000, 0x00100000, 0x000fffff};
        switch (random_() % 4) {
            case 0:
                return special[random_() % std::size(special)];
            case 1:
                return static_cast<uint32_t>(random_()) % 64;
            case 2:
                return 0x3e000000 + static_cast<uint32_t>(random_()) % 0x04000000;
            default:
                return static_cast<uint32_t>(random_());
        }
    }

  private:
    std::mt19937_64 random_;
};

void fill(Machine& m, Values values) {
    for (unsigned r = 0; r < Machine::registers; ++r)
        for (unsigned lane = 0; lane < 32; ++lane) m.r(r, lane) = values.value();
    for (unsigned i = 0; i < 7; ++i) {
        m.p(i) = static_cast<uint32_t>(values.next());
        m.up(i) = values.next() & 1 ? ~0u : 0;
    }
    for (unsigned i = 0; i < 63; ++i) m.ur(i) = values.value();
    for (unsigned bank = 0; bank < 4; ++bank)
        for (unsigned at = 0; at < 4096; at += 4) {
            const uint32_t v = values.value();
            std::memcpy(m.bank(bank) + at, &v, 4);
        }
}

testing::AssertionResult same(Machine& a, Machine& b) {
    for (unsigned r = 0; r < Machine::registers; ++r)
        for (unsigned lane = 0; lane < 32; ++lane)
            if (a.r(r, lane) != b.r(r, lane))
                return testing::AssertionFailure()
                       << "R" << r << " lane " << lane << std::hex << ": reference 0x"
                       << a.r(r, lane) << ", fast 0x" << b.r(r, lane);
    for (unsigned i = 0; i < 16; ++i)
        if (a.w.p[i] != b.w.p[i])
            return testing::AssertionFailure() << "predicate " << i << std::hex << ": reference 0x"
                                               << a.w.p[i] << ", fast 0x" << b.w.p[i];
    for (unsigned i = 0; i < 63; ++i)
        if (a.ur(i) != b.ur(i))
            return testing::AssertionFailure() << "UR" << i << std::hex << ": reference 0x"
                                               << a.ur(i) << ", fast 0x" << b.ur(i);
    return testing::AssertionSuccess();
}

void fuzz(const std::string& arch) {
    const uint64_t seed = setting("SASSEMU_FUZZ_SEED", 20261121);
    const uint64_t steps = setting("SASSEMU_FUZZ_STEPS", 100000);
    SCOPED_TRACE("SASSEMU_FUZZ_SEED=" + std::to_string(seed));
    const std::vector<Seed> words = seeds(arch);
    ASSERT_GT(words.size(), 500u);
    const auto tables = levels();
    ASSERT_STREQ(tables.front()->name, "v2");
    std::vector<std::unique_ptr<Machine>> machines;
    for (const LevelTable* table : tables) machines.push_back(std::make_unique<Machine>(table));

    Values values(seed);
    uint64_t ran = 0;
    for (uint64_t step = 0; step < steps; ++step) {
        if (step % 64 == 0) {  // a new program
            const uint64_t state = values.next();
            for (auto& m : machines) fill(*m, Values(state));
        }
        Seed s = words[values.next() % words.size()];
        for (uint64_t flips = values.next() % 6; flips; --flips) {
            // Bits 9..11 and 91 choose the operand form; 0..8 the instruction.
            const unsigned bit = 12 + static_cast<unsigned>(values.next() % 93);
            if (bit != 91) (bit < 64 ? s.word.lo : s.word.hi) ^= uint64_t{1} << (bit % 64);
        }
        if (!computes(s)) continue;
        const uint32_t active = values.next() % 2 ? ~0u : static_cast<uint32_t>(values.next()) | 1;
        const Outcome want = machines[0]->step(arch.c_str(), s.word, active, Lowering::reference);
        for (size_t i = 1; i < machines.size(); ++i) {
            const Outcome got = machines[i]->step(arch.c_str(), s.word, active);
            ASSERT_EQ(static_cast<int>(got), static_cast<int>(want)) << machines[0]->sass;
            ASSERT_TRUE(same(*machines[0], *machines[i]))
                << machines[0]->sass << " on " << tables[i]->name << ", word " << std::hex
                << s.word.hi << ' ' << s.word.lo << ", lanes 0x" << active << ", step " << std::dec
                << step;
        }
        ran += want == Outcome::ok;
    }
    std::cout << ran << " instructions ran on " << tables.size() << " levels\n";
    EXPECT_GT(ran, steps / 4);
}

TEST(ProgramFuzz, Sm75) { fuzz("sm_75"); }
TEST(ProgramFuzz, Sm80) { fuzz("sm_80"); }
TEST(ProgramFuzz, Sm90) { fuzz("sm_90"); }

}  // namespace
}  // namespace sassemu::test
