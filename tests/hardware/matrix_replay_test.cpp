// SPDX-License-Identifier: Apache-2.0
// Replays the record of warp matrix instructions (matrix_record.py): every form on generated
// operands, at every host level, must give what the chip gave. SASSEMU_MATRIX_ALL=1 replays all
// blocks of warps on the best level (a minute or so per core; GTEST_TOTAL_SHARDS splits it) instead
// of two of them.
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "tests/hardware/matrix_operands.hpp"
#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

// The registers of the recorded words.
constexpr unsigned d_register = 64, a_register = 32, b_register = 48, c_register = 56,
                   e_register = 72;
enum Kind : uint8_t { product, sparse, movm, ldsm, stsm };

struct Form {
    Word word;
    Kind kind = product;
    MatrixElement ea{}, eb{}, ec{};
    uint8_t na = 0, nb = 0, nc = 0, nd = 0;
    std::vector<uint64_t> blocks, hashes;
    std::vector<uint32_t> samples;  // [warp][register][lane]
};
struct Record {
    uint32_t warps = 0, block = 0, hashed = 0, sampled = 0;
    std::vector<Form> forms;
};

Record read_record() {
    std::ifstream in(SASSEMU_SOURCE_DIR "/tests/hardware/matrix.bin.zst", std::ios::binary);
    const std::string packed{std::istreambuf_iterator<char>(in), {}};
    std::string bytes(ZSTD_getFrameContentSize(packed.data(), packed.size()), 0);
    Record out;
    const size_t got = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
    if (ZSTD_isError(got)) return out;
    size_t at = 0;
    auto take = [&](void* to, size_t n) {
        if (n == 0 || bytes.size() - at < n) return;  // an empty vector may have no data()
        std::memcpy(to, bytes.data() + at, n);
        at += n;
    };
    char magic[8] = {};
    uint32_t count = 0;
    take(magic, 8);
    if (std::memcmp(magic, "SASSMM01", 8) != 0) return out;
    take(&count, 4);
    take(&out.warps, 4);
    take(&out.block, 4);
    take(&out.hashed, 4);
    take(&out.sampled, 4);
    for (uint32_t i = 0; i < count; ++i) {
        Form f;
        uint8_t head[16] = {};
        take(&f.word.lo, 8);
        take(&f.word.hi, 8);
        f.word.set(125, 105,
                   15 | 7 << 5 | 7 << 8);  // no scoreboard: the record has no control bits
        take(head, 16);
        f.kind = static_cast<Kind>(head[0]);
        f.ea = static_cast<MatrixElement>(head[1]);
        f.eb = static_cast<MatrixElement>(head[2]);
        f.ec = static_cast<MatrixElement>(head[3]);
        f.na = head[4], f.nb = head[5], f.nc = head[6], f.nd = head[7];
        f.blocks.resize(out.warps / out.block);
        f.hashes.resize(out.hashed);
        f.samples.resize(size_t{out.sampled} * f.nd * 32);
        take(f.blocks.data(), 8 * f.blocks.size());
        take(f.hashes.data(), 8 * f.hashes.size());
        take(f.samples.data(), 4 * f.samples.size());
        out.forms.push_back(std::move(f));
    }
    if (at != bytes.size()) out.forms.clear();
    return out;
}
const Record& record() {
    static const Record r = read_record();
    return r;
}

// Sets the operands of a warp, runs the word and returns the hash of what it gave.
uint64_t run(Machine& m, const Form& f, uint32_t warp) {
    const bool half = f.ea == element_f16;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        for (uint32_t i = 0; i < f.na; ++i)
            m.r(a_register + i, lane) = matrix_word(f.ea, operand_a, warp, i, lane, half);
        for (uint32_t i = 0; i < f.nb; ++i)
            m.r(b_register + i, lane) = matrix_word(f.eb, operand_b, warp, i, lane, half);
        for (uint32_t i = 0; i < f.nc; ++i)
            m.r(c_register + i, lane) = matrix_word(f.ec, operand_c, warp, i, lane, half);
        if (f.kind == sparse) m.r(e_register, lane) = matrix_metadata(f.ea, warp, lane);
        if (f.kind >= ldsm) m.r(a_register, lane) = matrix_row_address(warp, lane);
    }
    auto* shared = reinterpret_cast<uint32_t*>(m.shared());
    if (f.kind >= ldsm)
        for (uint32_t i = 0; i < matrix_rows * 4; ++i)
            shared[i] = f.kind == ldsm ? matrix_shared_word(warp, i) : 0;
    if (m.step("sm_90", f.word) != Outcome::ok) return 0;
    uint64_t h = 0;
    if (f.kind == stsm) {
        for (uint32_t i = 0; i < matrix_rows * 4; ++i) h += matrix_hash(shared[i], i, 0);
    } else {
        for (uint32_t i = 0; i < f.nd; ++i)
            for (uint32_t lane = 0; lane < 32; ++lane)
                h += matrix_hash(m.r(d_register + i, lane), i, lane);
    }
    return h;
}

std::string difference(Machine& m, const Form& f, uint32_t warp) {
    std::ostringstream out;
    out << m.sass << ", warp " << warp << " (values of kind " << warp % 16 << ")";
    if (warp >= record().sampled || f.kind == stsm) return out.str();
    out << std::hex << std::setfill('0');
    for (uint32_t i = 0; i < f.nd; ++i)
        for (uint32_t lane = 0; lane < 32; ++lane) {
            const uint32_t want = f.samples[(warp * f.nd + i) * 32 + lane],
                           got = m.r(d_register + i, lane);
            if (want != got) {
                out << ": R" << std::dec << d_register + i << " lane " << lane << std::hex
                    << " chip " << std::setw(8) << want << ", emulator " << std::setw(8) << got;
                return out.str();
            }
        }
    return out.str();
}

TEST(MatrixRecord, IsThere) {
    EXPECT_EQ(record().forms.size(), 100u);
    EXPECT_EQ(record().warps % record().block, 0u);
}

class MatrixForm : public testing::TestWithParam<size_t> {};

TEST_P(MatrixForm, ReplaysOnEveryLevel) {
    ASSERT_LT(GetParam(), record().forms.size());
    const Form& f = record().forms[GetParam()];
    const bool all = std::getenv("SASSEMU_MATRIX_ALL") != nullptr;
    for (const LevelTable* level : levels()) {
        Machine m(level, matrix_rows * 16);
        uint32_t wrong = 0;
        std::string first;
        for (uint32_t warp = 0; warp < record().hashed; ++warp)
            if (run(m, f, warp) != f.hashes[warp] && wrong++ == 0) first = difference(m, f, warp);
        EXPECT_EQ(wrong, 0u) << level->name << ": " << first << " " << m.rejection;
        if (level != levels().back()) continue;
        const size_t step = all ? 1 : f.blocks.size() / 2;
        for (size_t block = 0; block < f.blocks.size(); block += step) {
            uint64_t sum = 0;
            for (uint32_t i = 0; i < record().block; ++i)
                sum += run(m, f, static_cast<uint32_t>(block * record().block + i));
            EXPECT_EQ(sum, f.blocks[block]) << level->name << ": " << m.sass << ", block " << block;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Record, MatrixForm, testing::Range(size_t{0}, size_t{100}));

// Matrix instructions are for whole warps, and their operands are aligned.
TEST(MatrixRules, PartOfAWarpChangesNothing) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        const Form& f = record().forms.front();
        for (uint32_t lane = 0; lane < 32; ++lane) m.r(d_register, lane) = 7;
        EXPECT_EQ(m.step("sm_90", f.word, 0x7fffffff), Outcome::ok);
        for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(m.r(d_register, lane), 7u);
    }
}
// Where the uniform predicate is false, c counts as zero; a negated a or b negates the products.
TEST(MatrixRules, PredicateAndSigns) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        const Form& f = record().forms[9];  // HMMA.16816.F32
        const auto results = [&](Word w, uint32_t flip) {
            run(m, f, 0);  // operands of one warp, moderate values
            for (uint32_t i = 0; i < f.na; ++i)
                for (uint32_t lane = 0; lane < 32; ++lane) m.r(a_register + i, lane) ^= flip;
            EXPECT_EQ(m.step("sm_90", w), Outcome::ok) << m.sass << m.rejection;
            std::vector<uint32_t> out;
            for (uint32_t i = 0; i < f.nd; ++i)
                for (uint32_t lane = 0; lane < 32; ++lane) out.push_back(m.r(d_register + i, lane));
            return out;
        };
        Word without = f.word, never = f.word, minus_a = f.word, minus_b = f.word;
        EXPECT_EQ(results(without.set(71, 64, 255), 0), results(never.set(90, 90, 1), 0));
        EXPECT_EQ(results(minus_a.set(72, 72, 1), 0), results(f.word, 0x80008000u));
        EXPECT_EQ(results(minus_b.set(63, 63, 1), 0), results(f.word, 0x80008000u));
        EXPECT_NE(results(f.word, 0), results(f.word, 0x80008000u));
    }
}
TEST(MatrixRules, MisalignedOperandsAreIllegal) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        for (unsigned low : {16u, 24u, 32u}) {  // d, a, b of HMMA.16816.F16
            Word w = record().forms[1].word;
            w.set(low + 7, low, (w.lo >> low & 255) + 1);
            EXPECT_EQ(m.step("sm_90", w), Outcome::fault) << m.sass;
        }
    }
}

}  // namespace
}  // namespace sassemu::test
