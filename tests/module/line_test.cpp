// Line tables of lines.cu; the numbers below are lines of that file.
#include "emu/module/line_table.hpp"

#include <gtest/gtest.h>

#include <set>

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
                                         "rdc.cuda123.90a.cubin"),
                         [](const auto& info) {
                             std::string name = info.param;
                             for (char& c : name) {
                                 if (c == '.') c = '_';
                             }
                             return name;
                         });

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
