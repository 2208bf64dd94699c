// SPDX-License-Identifier: Apache-2.0
// .sass text -> cubin -> Module: what the file says must be what the loader reads; mistakes have
// line and column.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

#include "emu/sass/assembled.hpp"
#include "sassdec/sassdec.h"

namespace {

using namespace sassemu;

struct Built {
    std::optional<Module> module;
    std::vector<sass::Diagnostic> diagnostics;
    std::string load_error;
};

Built build(const std::string& text, const std::string& arch = {}) {
    Built b;
    const auto read = sass::read_sass(text, arch, b.diagnostics);
    if (!read) return b;
    auto loaded = load_module(sass::write_cubin(*read), "test.cubin");
    if (loaded.ok())
        b.module = *loaded;
    else
        b.load_error = loaded.error().message();
    return b;
}

std::string first(const std::string& text) {
    const Built b = build(text);
    if (b.diagnostics.empty()) return "assembled";
    const auto& d = b.diagnostics[0];
    return std::to_string(d.line) + ":" + std::to_string(d.column) + ": " + d.what;
}

std::vector<std::string> listing(const Module& module, size_t section = 0) {
    std::vector<std::string> lines;
    const CodeSection& code = module.code_sections()[section];
    const sassdec_arch arch = sassdec_arch_from_name(module.arch().name().c_str());
    for (size_t at = 0; at < code.bytes.size(); at += 16) {
        uint64_t w[2];
        std::memcpy(w, code.bytes.data() + at, 16);
        sassdec_insn insn;
        sassdec_decode(arch, w, at, &insn);
        char text[512];
        sassdec_format(&insn, nullptr, text, sizeof text);
        lines.emplace_back(text);
    }
    return lines;
}

const char* const all_directives = R"(
.target sm_90a            // a comment
.kernel one
    .param first 8
    .param second 4
    .param third 16 at 32
    .registers 40
    .shared 100
    .local 64
    .barriers 3
    .max_threads 64, 2
    .cluster 2,1,1
    .max_registers 128
/* over
   lines */
again:  MOV R1, c[0x0][second] ; IADD3 R1, R1, 1, RZ
  @P0   BRA again
        BRA `(.L_end)
.L_end: EXIT
.kernel two
    .required_threads 32
        BAR.SYNC.DEFER_BLOCKING 0x4
        LDG.E.64 R10, desc[UR4][R2.64]
        EXIT
)";

TEST(Sass, DirectivesReachTheLoader) {
    const Built b = build(all_directives);
    ASSERT_TRUE(b.module) << (b.diagnostics.empty() ? b.load_error : b.diagnostics[0].what);
    EXPECT_EQ(b.module->arch().name(), "sm_90a");
    EXPECT_TRUE(b.module->notes().empty());
    const Kernel& one = **b.module->kernel("one");
    EXPECT_EQ(one.registers, 40u);
    EXPECT_EQ(one.max_registers, 128u);
    EXPECT_EQ(one.shared_static, 1024u + 100u);
    EXPECT_EQ(one.frame_size, 64u);
    EXPECT_EQ(one.min_stack_size, 64u);
    EXPECT_EQ(one.barriers, 3u);
    EXPECT_EQ(one.max_threads, (Extent3{64, 2, 1}));
    EXPECT_EQ(one.cluster, (Extent3{2, 1, 1}));
    EXPECT_TRUE(one.explicit_cluster);
    EXPECT_EQ(one.param_base, 0x210u);
    EXPECT_EQ(one.param_size, 48u);
    ASSERT_EQ(one.parameters.size(), 3u);
    EXPECT_EQ(one.parameters[1].offset, 8u);
    EXPECT_EQ(one.parameters[2].offset, 32u);
    EXPECT_EQ(one.parameters[2].size, 16u);
    EXPECT_EQ(one.constant0.size(), 0x210u + 48u);
    EXPECT_EQ(one.exit_offsets, (std::vector<uint32_t>{0x40}));
    const Kernel& two = **b.module->kernel("two");
    EXPECT_EQ(two.registers, 14u) << "R11 is the highest, and two";
    EXPECT_EQ(two.barriers, 5u);
    EXPECT_EQ(two.required_threads, (Extent3{32, 1, 1}));
    EXPECT_EQ(two.shared_static, 1024u);
}

TEST(Sass, LabelsParametersAndTheEnd) {
    const Built b = build(all_directives);
    ASSERT_TRUE(b.module);
    const std::vector<std::string> want = {"MOV R1, c[0x0][0x218]",
                                           "IADD3 R1, R1, 0x1, RZ",
                                           "@P0 BRA 0x0",
                                           "BRA 0x40",
                                           "EXIT",
                                           "BRA 0x50",
                                           "NOP",
                                           "NOP"};
    EXPECT_EQ(listing(*b.module), want);
}

TEST(Sass, EveryArchitectureLoads) {
    for (const char* arch :
         {"sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a",
          "sm_103", "sm_110", "sm_120", "sm_121", "sm_121a"}) {
        const Built b = build(
            ".kernel k\n .param x 4\n .shared 256\n S2R R3, SR_TID.X\n MOV R4, R3\n BAR.SYNC 0x0\n "
            "EXIT\n",
            arch);
        ASSERT_TRUE(b.module) << arch << ": "
                              << (b.diagnostics.empty() ? b.load_error : b.diagnostics[0].what);
        const Kernel& k = b.module->kernels().at(0);
        EXPECT_EQ(b.module->arch().name(), arch);
        EXPECT_EQ(k.registers, 8u);
        EXPECT_EQ(k.barriers, 1u);
        EXPECT_EQ(k.param_size, 4u);
        EXPECT_EQ(k.shared_static, 256u + k.shared_reserved);
    }
}

TEST(Sass, FusedBarriersAreMarked) {
    const Built b = build(
        ".target sm_90\n.kernel k\n NOP\n @P1 MEMBAR.GL.IVALLD\n MEMBAR.CTA.IVALLTD ?WAIT6\n"
        ".fused\n CCTL.IVALL\n MEMBAR.SC.SYS\n EXIT\n");
    ASSERT_TRUE(b.module) << (b.diagnostics.empty() ? b.load_error : b.diagnostics[0].what);
    const auto lines = listing(*b.module);
    EXPECT_EQ(lines[1], "@P1 CCTL.IVALL");
    EXPECT_EQ(lines[2], "@P1 MEMBAR.GPU");
    EXPECT_EQ(lines[3], "CCTLT.IVALL");
    EXPECT_EQ(lines[4], "CCTL.IVALL");
    EXPECT_EQ(lines[5], "MEMBAR.CTA");
    EXPECT_EQ(b.module->kernels()[0].fused_offsets,
              (std::vector<uint32_t>{0x10, 0x30, 0x40, 0x60}));
}

TEST(Sass, ExactLinesKeepTheirBits) {
    const std::string word = "003fde00000120000000000000007992";
    const Built b =
        build(".target sm_90\n.kernel k\n .word 0x" + word +
              "\n FADD R0, R1, R2 &req={} &rd=none &wr=none ?WAIT2 &bits={40=1}\n EXIT\n");
    ASSERT_TRUE(b.module) << b.diagnostics[0].what;
    uint64_t w[4];
    std::memcpy(w, b.module->code_sections()[0].bytes.data(), sizeof w);
    EXPECT_EQ(w[1], 0x003fde0000012000u);
    EXPECT_EQ(w[0], 0x0000000000007992u);
    EXPECT_EQ(w[3] >> 41, 0b00000'0000'00'111'111'1'0010ull << 0)
        << "no waits, no scoreboards, two cycles";
    EXPECT_EQ(w[2] >> 40 & 1, 1u);
}

TEST(Sass, MistakesNameTheirPlace) {
    EXPECT_EQ(first(".target sm_90\n.kernel k\n  FADD R0, R1\n"),
              "3:14: an operand is missing here, not the end of the line");
    EXPECT_EQ(first(".target sm_90\n.kernel k\nx: EXIT\nx: EXIT\n"),
              "4:1: the label 'x' is there already, at line 3");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n  NOP; BRA y\n EXIT\n"), "3:12: unknown label");
    EXPECT_EQ(first(".target sm_91\n.kernel k\nEXIT\n"), "1:9: unknown architecture 'sm_91'");
    EXPECT_EQ(first(".kernel k\nEXIT\n"), "1:1: no architecture");
    EXPECT_EQ(first("EXIT\n"), "1:1: this stands outside a kernel");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n .shared many\n EXIT"),
              "3:10: 'many' is no number up to 262144");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n .foo\n EXIT"), "3:2: unknown directive '.foo'");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n"), "2:1: the kernel 'k' has no code");
    EXPECT_EQ(first(".target sm_90\n.kernel k\nEXIT\n.kernel k\nEXIT"),
              "4:1: there is a kernel 'k' already, at line 2");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n.registers 8\nMOV R8, RZ\nEXIT"),
              "2:1: the code of 'k' uses 9 registers, .registers says 8");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n MOV R2, 32@lo((k + .L_x_0@srel))\nEXIT"),
              "3:10: a name that a linker replaces: a .sass file has no relocations");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n UMOV UR4, `(table)\nEXIT"),
              "3:12: a name that a linker replaces: a .sass file has no relocations");
    EXPECT_EQ(first(".target sm_90\n.constant t 0\n.kernel k\nEXIT"),
              "2:13: bank 3 has 1 to 65536 bytes");
    EXPECT_EQ(first(".target sm_90\n.constant t 65520\n.constant u 17\n.kernel k\nEXIT"),
              "3:13: bank 3 has 1 to 65536 bytes");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n MEMBAR.GL.IVALLT ?WAIT3\nEXIT"),
              "3:19: this instruction needs a schedule of ?WAIT5 or more");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n.fused\n@P0 CCTL.IVALL\nMEMBAR.GPU\nEXIT"),
              "4:1: a fused instruction needs its partner after it, with the same guard");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n.word 12\nEXIT"), "3:1: .word needs 32 hex digits");
    EXPECT_EQ(first(".target sm_90\n.kernel k\n\x01\x02 EXIT").substr(0, 4), "3:1:")
        << "no byte stands for anything";
    EXPECT_EQ(first(".target sm_90\n.kernel k\nEXIT /* open\n"), "3:6: this comment does not end");
    EXPECT_EQ(first(std::string(".target sm_90\n.kernel k\nEX\0IT\n", 30)).substr(0, 2), "3:");
}

// Whatever order the lines of a file come in, with some left out or cut: a complaint has words, and
// a place in the file.
TEST(Sass, EveryComplaintSaysWhatAndWhere) {
    std::vector<std::string> pool;
    std::istringstream in(all_directives);
    for (std::string line; std::getline(in, line);) pool.push_back(line);
    pool.insert(pool.end(), {"FADD R0, R1",
                             "x:",
                             ".word 0x0",
                             ".word",
                             ".param",
                             ".param a",
                             ".kernel",
                             ".target",
                             ".target sm_91",
                             ".fused",
                             ".constant",
                             ".constant t 70000",
                             ".cluster 0",
                             ".registers 4096",
                             "/*",
                             "(*\"",
                             "BRA nowhere",
                             "%!",
                             ".",
                             "MEMBAR.GL.IVALLD",
                             ".section .text.one",
                             ";;",
                             "@P9 EXIT",
                             ":"});
    std::mt19937_64 random(11);
    unsigned complaints = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string text;
        const auto lines = 1 + random() % 12;
        for (unsigned i = 0; i < lines; ++i) {
            std::string line = pool[random() % pool.size()];
            if (random() % 8 == 0) line.resize(random() % (line.size() + 1));
            text += line + "\n";
        }
        for (const auto& d : build(text).diagnostics) {
            ++complaints;
            EXPECT_FALSE(d.what.empty()) << d.line << ":" << d.column << " of\n" << text;
            EXPECT_EQ(d.what.find('\n'), std::string::npos) << d.what;
            EXPECT_TRUE(d.line >= 1 && d.line <= lines + 1 && d.column >= 1)
                << d.line << ":" << d.column << ": " << d.what;
        }
    }
    EXPECT_GT(complaints, 4000u);
}

}  // namespace
