// SPDX-License-Identifier: Apache-2.0
// Line tables of lines.cu; the numbers below are lines of that file.
#include "emu/module/line_table.hpp"

#include <gtest/gtest.h>

#include <set>

#include "emu/module/elf.hpp"
#include "tests/module/test_data.hpp"

namespace sassemu {
namespace {

using test::load;

constexpr std::uint32_t cosine_line = 5, outer_call_line = 8, minus_line = 9, factorial_line = 11,
                        kernel_line = 12, kernel_call_line = 13, print_line = 15;

class Lines : public testing::TestWithParam<const char*> {};

TEST_P(Lines, EveryInstructionHasALineOfTheRightFunction) {
    const Module module = load(GetParam());
    ASSERT_TRUE(module.lines().has_source());
    std::set<std::uint32_t> seen;
    for (std::uint64_t at = 0; at < module.code_image_size(); at += 16) {
        const auto info = module.lines().find(at);
        ASSERT_TRUE(info.has_value() && info->source.has_value()) << at;
        EXPECT_TRUE(info->source->file.ends_with("/lines.cu")) << info->source->file;
        const Function* function = module.function_at(at);
        ASSERT_NE(function, nullptr) << at;
        const std::uint32_t outermost =
            info->inlined_at.empty() ? info->source->line : info->inlined_at.back().line;
        if (function->is_kernel) {
            EXPECT_GE(outermost, kernel_line) << at;
            EXPECT_LE(outermost, 16U) << at;
        } else {
            EXPECT_EQ(outermost, factorial_line) << at;
        }
        seen.insert(info->source->line);
    }
    for (const auto line : {cosine_line, minus_line, factorial_line, print_line}) {
        EXPECT_TRUE(seen.contains(line)) << line;
    }
}

TEST_P(Lines, InlinedFramesLeadBackToTheKernel) {
    const Module module = load(GetParam());
    bool cosine = false, difference = false;
    for (std::uint64_t at = 0; at < module.code_image_size(); at += 16) {
        const auto info = module.lines().find(at);
        ASSERT_TRUE(info.has_value());
        if (info->source->line == cosine_line) {
            cosine = true;
            EXPECT_EQ(info->source->function, "_Z5innerf");
            ASSERT_EQ(info->inlined_at.size(), 2U);
            EXPECT_EQ(info->inlined_at[0].line, outer_call_line);
            EXPECT_EQ(info->inlined_at[0].function, "_Z5outerf");
            EXPECT_EQ(info->inlined_at[1].line, kernel_call_line);
            EXPECT_TRUE(info->inlined_at[1].function.empty());
        }
        if (info->source->line == minus_line) {
            difference = true;
            EXPECT_EQ(info->source->function, "_Z5outerf");
            ASSERT_EQ(info->inlined_at.size(), 1U);
            EXPECT_EQ(info->inlined_at[0].line, kernel_call_line);
        }
        if (info->source->line == print_line) {
            EXPECT_TRUE(info->inlined_at.empty());
        }
    }
    EXPECT_TRUE(cosine);
    EXPECT_TRUE(difference);
}

TEST_P(Lines, PtxLinesCarryTheirText) {
    const Module module = load(GetParam());
    ASSERT_TRUE(module.lines().has_ptx());
    bool cosine = false;
    for (std::uint64_t at = 0; at < module.code_image_size(); at += 16) {
        const auto info = module.lines().find(at);
        ASSERT_TRUE(info.has_value());
        if (info->ptx_text.find("cos.approx.f32") == std::string_view::npos) continue;
        cosine = true;
        EXPECT_EQ(info->source->line, cosine_line);
    }
    EXPECT_TRUE(cosine);
    ASSERT_EQ(module.lines().ptx_texts().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Files, Lines,
                         testing::Values("lines.75.cubin", "lines.90a.cubin", "lines.120.cubin",
                                         "lines.cuda118.80.cubin", "lines.cuda123.90a.cubin",
                                         "rdc.cuda118.80.cubin", "rdc.cuda123.90a.cubin"),
                         [](const auto& info) {
                             std::string name = info.param;
                             for (char& c : name) {
                                 if (c == '.') c = '_';
                             }
                             return name;
                         });

// A DWARF unit in place of a file's own: set_address must meet the file's first relocation, so the
// header is padded to end three bytes before it.
class OwnUnit {
  public:
    explicit OwnUnit(const std::string& file) : bytes_(test::data_bytes(file)) {
        const auto elf = elf::parse(bytes_, file);
        for (std::size_t i = 0; i < elf->sections.size(); ++i) {
            const auto& section = elf->sections[i];
            if (section.name == ".debug_line") {
                unit_ = std::span(bytes_).subspan(
                    static_cast<std::size_t>(section.bytes.data() - bytes_.data()),
                    section.bytes.size());
                for (std::size_t j = 0; j < elf->sections.size(); ++j) {
                    const auto& candidate = elf->sections[j];
                    if (!candidate.name.starts_with(".rela.debug_line")) continue;
                    const auto records = elf::relocations(*elf, j, 1000, file);
                    for (const auto& record : *records) {
                        operand_ = std::min<std::size_t>(operand_, record.offset);
                    }
                }
            }
        }
    }

    // `before` is everything between header_length and the last file name, which is padded with
    // 'n'; `after` is what follows the name's NUL within the header.
    Module load(std::uint16_t version, std::vector<std::uint8_t> before,
                std::vector<std::uint8_t> after, std::vector<std::uint8_t> program) {
        std::vector<std::uint8_t> out;
        const auto word = [&](std::uint64_t value, int size) {
            for (int i = 0; i < size; ++i) out.push_back((value >> (8 * i)) & 0xff);
        };
        word(unit_.size() - 4, 4);
        word(version, 2);
        if (version >= 5) word(8, 2);  // address size, no segment selector
        const std::size_t start = out.size() + 4, end = operand_ - 3;
        word(end - start, 4);
        out.insert(out.end(), before.begin(), before.end());
        while (out.size() + 1 + after.size() < end) out.push_back('n');
        out.push_back(0);
        out.insert(out.end(), after.begin(), after.end());
        const std::uint8_t set_address[] = {0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0};
        out.insert(out.end(), std::begin(set_address), std::end(set_address));
        out.insert(out.end(), program.begin(), program.end());
        const std::uint8_t end_sequence[] = {0, 1, 1};
        out.insert(out.end(), std::begin(end_sequence), std::end(end_sequence));
        EXPECT_LE(out.size(), unit_.size());
        while (out.size() < unit_.size()) out.push_back(6);  // negate_stmt: no effect on rows
        std::copy(out.begin(), out.end(), unit_.begin());
        auto module = load_module(bytes_, "own");
        EXPECT_TRUE(module.ok()) << module.error().message();
        return *module;
    }

  private:
    std::vector<std::uint8_t> bytes_;
    std::span<std::uint8_t> unit_;
    std::size_t operand_ = ~std::size_t{0};
};

// Line 42, column 7 at 0; line 40 from 0x20 on, by a special opcode; the code of the first
// relocated function starts at code offset `base`.
void expect_own_lines(const Module& module, std::string_view directory) {
    const auto& rows = module.lines().rows();
    ASSERT_EQ(rows.size(), 3U);
    const std::uint64_t base = rows[0].code_offset;
    const auto first = module.lines().find(base + 0x10);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->source->line, 42U);
    EXPECT_EQ(first->source->column, 7U);
    EXPECT_TRUE(first->source->file.starts_with(std::string(directory) + "/nn"));
    EXPECT_TRUE(first->source->file.ends_with("nn"));
    EXPECT_EQ(module.lines().find(base + 0x20)->source->line, 40U);
    EXPECT_FALSE(module.lines().find(base + 0x40)->source.has_value());
}

const std::vector<std::uint8_t> own_program = {
    4,
    1,  // set_file 1
    5,
    7,  // set_column 7
    3,
    41,  // advance_line 41: 1 -> 42
    1,   // copy
    2,
    0x10,              // advance_pc 16
    10 + 16 * 14 + 3,  // special: 16 bytes on, line -2
    9,
    0x20,
    0,  // fixed_advance_pc 32
};

TEST(DwarfLine, Version5) {
    const std::vector<std::uint8_t> before = {
        1, 1,   1,  0xfb, 14,  10,           // lengths, is_stmt, line_base -5, range, opcodes
        0, 1,   1,  1,    1,   0,  0, 0, 1,  // operands of the standard opcodes
        1, 1,   8,                           // a directory is a string
        2, 'a', 0,  'b',  0,                 // two directories
        3, 2,   11, 5,    10,  1,  8,        // a file is directory (data1), a block of bytes, name
        2,                                   // two files
        0, 2,   9,  9,    'f', 0,            //
        1, 1,   9};                          // the second's name follows
    expect_own_lines(OwnUnit("lines.90a.cubin").load(5, before, {}, own_program), "b");
}

TEST(DwarfLine, Version4) {
    const std::vector<std::uint8_t> before = {
        1,   1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1,  // with operations per instruction
        'd', 0, 0};                                          // one directory
    // directory 1, time, size, end of files, name base
    expect_own_lines(
        OwnUnit("lines.90a.cubin").load(4, before, {1, 0, 0, 0, 0, 0, 0, 0}, own_program), "d");
}

TEST(LineTable, WithoutLineInformation) {
    const Module module = load("plain.90a.cubin");
    EXPECT_TRUE(module.lines().empty());
    EXPECT_FALSE(module.lines().find(0).has_value());
}

TEST(LineTable, SequencesInAnyOrderAndTheirGaps) {
    using Row = LineTable::Row;
    LineTable table;
    std::vector<Row> rows;
    const auto add = [&](std::uint64_t offset, std::uint32_t line, bool end) {
        Row row;
        row.code_offset = offset;
        row.line = line;
        row.end_of_sequence = end;
        rows.push_back(row);
    };
    add(0x200, 20, false);
    add(0x240, 21, true);
    add(0x100, 10, false);
    add(0x140, 11, false);
    add(0x140, 12, false);  // the later of two rows at one address counts
    add(0x200, 13, true);   // ends where the other begins
    table.set_source(rows, {"f"}, {});
    EXPECT_FALSE(table.find(0xf0).has_value());
    EXPECT_EQ(table.find(0x130)->source->line, 10U);
    EXPECT_EQ(table.find(0x150)->source->line, 12U);
    EXPECT_EQ(table.find(0x200)->source->line, 20U);
    EXPECT_EQ(table.find(0x23f)->source->line, 20U);
    EXPECT_FALSE(table.find(0x240).has_value());
}

TEST(LineTable, CircularInliningEnds) {
    LineTable::Row row;
    row.line = 1;
    row.context = 0;
    LineTable table;
    table.set_source({row}, {"f"}, {});
    ASSERT_TRUE(table.find(0).has_value());
    EXPECT_LE(table.find(0)->inlined_at.size(), 64U);
}

}  // namespace
}  // namespace sassemu
