// SPDX-License-Identifier: Apache-2.0
// MUFU against what an H200 computed for every operand: special.bin holds a hash of each block of
// operands (README.md). The test runs the blocks that use each coefficient of each table, and a
// sample of the others; with SASSEMU_EXHAUSTIVE=1 all 2^32 operands of every function, on every
// host level; SASSEMU_EXHAUSTIVE=P/N takes the blocks whose number is P modulo N, so that N
// processes share the work.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

constexpr const char* names[] = {"COS", "SIN",    "EX2",    "LG2",  "RCP",
                                 "RSQ", "RCP64H", "RSQ64H", "SQRT", "TANH"};
constexpr uint32_t functions = 10, blocks = 4096, half_blocks = 16;
constexpr uint32_t block_size = 1u << 20, half_block_size = 1u << 12;
constexpr uint32_t wide_functions = 2;  // RCP64H and RSQ64H have no half-precision forms

uint64_t mix(uint64_t x) {  // the finaliser of splitmix64
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

std::vector<uint64_t> read_hashes() {
    std::ifstream in(SASSEMU_SOURCE_DIR "/tests/hardware/special.bin", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::vector<uint64_t> out(bytes.size() / 8);
    for (size_t i = 0; i < 8 * out.size(); ++i)
        out[i / 8] |= uint64_t{static_cast<uint8_t>(bytes[i])} << 8 * (i % 8);
    return out;
}

// One function of one type, lowered for many registers at once: 64 warps of operands a run.
class Unit {
  public:
    Unit(const LevelTable* level, uint32_t function, uint32_t type)
        : level_(level), machine_(level), ops_(count + 1) {
        machine_.launch().arch = 90;
        for (uint32_t i = 0; i < count; ++i) {
            Word word("00000000000000000000000000007308");  // MUFU R(64+i), R(i)
            word.set(23, 16, count + i).set(39, 32, i).set(77, 74, function).set(73, 72, type);
            const uint64_t bits[2] = {word.lo, word.hi};
            sassdec_insn insn;
            good_ = good_ && sassdec_decode(SASSDEC_SM_90, bits, 16 * i, &insn) == SASSDEC_OK;
            std::string rejection;
            LowerRequest request;
            request.instruction = &insn;
            request.offset = 16 * i;
            request.section_end = 16 * count;
            request.pool = &pool_;
            request.op = &ops_[i];
            request.rejection = &rejection;
            if (good_) level_->lower(request);
            good_ = good_ && rejection.empty();
        }
        ops_.back().guard = 7;
        ops_.back().fn[0] =
            ops_.back().fn[1] = [](const Op*, Warp&, uint32_t) -> const Op* { return nullptr; };
    }
    bool good() const { return good_; }

    // Of the operands from `first` on; n is a multiple of 32 * count.
    uint64_t hash(uint32_t first, uint32_t n) {
        uint64_t h = 0;
        for (uint32_t done = 0; done < n; done += 32 * count) {
            const uint32_t x = first + done;
            for (uint32_t i = 0; i < 32 * count; ++i) (&machine_.r(i / 32, 0))[i % 32] = x + i;
            level_->run(machine_.w, ops_.data());
            for (uint32_t i = 0; i < 32 * count; ++i)
                h += mix(uint64_t{x + i} << 32 | (&machine_.r(count + i / 32, 0))[i % 32]);
        }
        return h;
    }

  private:
    static constexpr uint32_t count = 64;
    const LevelTable* level_;
    Machine machine_;
    ImmediatePool pool_;
    std::vector<Op> ops_;
    bool good_ = true;
};

// The blocks where a function uses every segment of its table, as a range of the operand's upper 12
// bits.
struct Range {
    uint32_t first, end;
};
Range whole_table(uint32_t function) {
    switch (function) {
        case 0:
        case 1:
            return {0x3e8, 0x3f0};  // a quarter of a turn
        case 2:
        case 4:
            return {0x3f8, 0x400};  // 1 .. 2
        case 3:
            return {0x3f0, 0x408};  // 1/2 .. 4
        case 6:
            return {0x3ff, 0x400};
        case 7:
            return {0x3ff, 0x401};
        case 9:
            return {0x3b8, 0x418};  // 2^-8 .. 16
        default:
            return {0x3f8, 0x408};  // 1 .. 4
    }
}
bool chosen(uint32_t function, uint32_t block, bool fast_level) {
    const Range r = whole_table(function);
    if (block >= r.first && block < r.end) return fast_level || block % 8 == 3;
    if (!fast_level) return block % 997 == function;
    const bool limits =
        (block & 0x7f8) == 0 || (block & 0x7ff) == 0x7f8;  // subnormals, infinity and NaN
    return limits || block % 251 == function;
}

TEST(SpecialFunctions, EveryBlockHasTheHashOfTheHardware) {
    const std::vector<uint64_t> want = read_hashes();
    ASSERT_EQ(want.size(), functions * blocks + 2 * (functions - wide_functions) * half_blocks);
    const char* exhaustive = std::getenv("SASSEMU_EXHAUSTIVE");
    uint32_t part = 0, parts = 1;
    if (exhaustive && std::sscanf(exhaustive, "%u/%u", &part, &parts) != 2) part = 0, parts = 1;
    ASSERT_LT(part, parts) << "SASSEMU_EXHAUSTIVE is 1, or P/N with P below N";
    uint64_t tried = 0;
    for (const LevelTable* level : levels()) {
        // v2 is scalar; the other levels share their source with it and run everything that is
        // chosen.
        const bool fast = level != levels().front() || levels().size() == 1;
        for (uint32_t f = 0; f < functions; ++f) {
            Unit unit(level, f, 0);
            ASSERT_TRUE(unit.good()) << names[f];
            for (uint32_t b = 0; b < blocks; ++b) {
                if (exhaustive ? b % parts != part : !chosen(f, b, fast)) continue;
                tried += block_size;
                EXPECT_EQ(unit.hash(b << 20, block_size), want[f * blocks + b])
                    << level->name << ": MUFU." << names[f] << " of 0x" << std::hex << b
                    << "00000 ..";
            }
        }
    }
    std::cout << tried << " results\n";
}

TEST(SpecialFunctions, EveryHalfPrecisionResultIsThatOfTheHardware) {
    const std::vector<uint64_t> want = read_hashes();
    for (const LevelTable* level : levels()) {
        size_t at = functions * blocks;
        for (uint32_t type : {1u, 2u}) {
            for (uint32_t f = 0; f < functions; ++f) {
                if (f == 6 || f == 7) continue;
                Unit unit(level, f, type);
                ASSERT_TRUE(unit.good()) << names[f];
                for (uint32_t b = 0; b < half_blocks; ++b, ++at)
                    EXPECT_EQ(unit.hash(b * half_block_size, half_block_size), want.at(at))
                        << level->name << ": MUFU." << names[f] << (type == 1 ? ".F16" : ".BF16")
                        << " of 0x" << std::hex << b << "000 ..";
            }
        }
        EXPECT_EQ(at, want.size());
    }
}

}  // namespace
}  // namespace sassemu::test
