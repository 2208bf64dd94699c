// SPDX-License-Identifier: Apache-2.0
// The C interface: architecture names, control word, operands, register sets, branch targets,
// reasons, label hook.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "rows.hpp"
#include "sassdec/sassdec.hpp"

namespace {

sassdec_insn decode(sassdec_arch arch, std::uint64_t hi, std::uint64_t lo, std::uint64_t pc = 0) {
    const std::uint64_t w[2] = {lo, hi};
    sassdec_insn insn;
    EXPECT_EQ(sassdec_decode(arch, w, pc, &insn), SASSDEC_OK);
    return insn;
}

std::string text(const sassdec_insn& insn, const sassdec_format_options* opts = nullptr) {
    char out[300];
    EXPECT_GE(sassdec_format(&insn, opts, out, sizeof out), 0);
    return out;
}

bool has(const std::uint64_t (&set)[4], unsigned r) { return set[r / 64] >> r % 64 & 1; }

TEST(Api, ArchitectureNames) {
    EXPECT_EQ(sassdec_arch_from_name("sm_75"), SASSDEC_SM_75);
    EXPECT_EQ(sassdec_arch_from_name("sm_87"), SASSDEC_SM_86);
    EXPECT_EQ(sassdec_arch_from_name("sm_88"), SASSDEC_SM_86);
    EXPECT_EQ(sassdec_arch_from_name("sm_90a"), SASSDEC_SM_90);
    EXPECT_EQ(sassdec_arch_from_name("SM100f"), SASSDEC_SM_100);
    EXPECT_EQ(sassdec_arch_from_name("sm_121a"), SASSDEC_SM_120);
    EXPECT_EQ(sassdec_arch_from_name("sm_107f"), SASSDEC_SM_107);
    EXPECT_EQ(sassdec_arch_from_name("sm_90f"), SASSDEC_ARCH_UNKNOWN);  // there is none
    EXPECT_EQ(static_cast<int>(SASSDEC_SM_120), 8);  // values are part of the ABI
    EXPECT_EQ(static_cast<int>(SASSDEC_SM_107), 9);
    for (const char* bad :
         {"", "sm_", "sm_70", "sm_75a", "sm_90b", "sm_90aa", "sm_900", "fast", "sm_1000"})
        EXPECT_EQ(sassdec_arch_from_name(bad), SASSDEC_ARCH_UNKNOWN) << bad;
    EXPECT_EQ(sassdec_arch_from_name(nullptr), SASSDEC_ARCH_UNKNOWN);
}

TEST(Api, ControlWordAndReuse) {
    const sassdec_insn i = decode(SASSDEC_SM_90, 0x040fe20000000100, 0x000000141f147221);
    EXPECT_EQ(text(i), "FADD R20, -R31.reuse, R20");
    EXPECT_EQ(i.control.stall, 1);
    EXPECT_EQ(i.control.yield, 0);
    EXPECT_EQ(i.control.write_barrier, 7);
    EXPECT_EQ(i.control.read_barrier, 7);
    EXPECT_EQ(i.control.wait_mask, 0);
    EXPECT_EQ(i.control.reuse, 1);
    const sassdec_insn load = decode(SASSDEC_SM_90, 0x000ee8000c1ef900, 0x000000160a067981);
    EXPECT_EQ(load.control.write_barrier, 3);
    EXPECT_EQ(load.control.stall, 4);
}

TEST(Api, OperandsCarryKindWidthAndAccess) {
    const sassdec_insn i = decode(SASSDEC_SM_90, 0x000e220000000a00, 0x00008400ff027b82);
    EXPECT_EQ(text(i), "LDC.64 R2, c[0x0][0x210]");
    ASSERT_EQ(i.operand_count, 2);
    EXPECT_EQ(i.operand[0].kind, SASSDEC_OP_REG);
    EXPECT_EQ(i.operand[0].width, 2);
    EXPECT_EQ(i.operand[0].access, SASSDEC_WRITE);
    EXPECT_EQ(i.operand[1].kind, SASSDEC_OP_CONST);
    EXPECT_EQ(i.operand[1].bank, 0);
    EXPECT_EQ(i.operand[1].offset, 0x210);
    EXPECT_STREQ(sassdec_operand_name(&i, 0), "d");
    EXPECT_TRUE(i.groups & SASSDEC_GROUP_LOAD);
}

TEST(Api, RegisterSetsKnowPairsAndDescriptors) {
    const sassdec_insn i = decode(SASSDEC_SM_90, 0x000ea4000c1e1900, 0x0000000402007981);
    EXPECT_EQ(text(i), "LDG.E R0, desc[UR4][R2.64]");
    sassdec_regset read, written;
    sassdec_registers(&i, &read, &written);
    EXPECT_TRUE(has(read.r, 2) && has(read.r, 3) && !has(read.r, 4));
    EXPECT_TRUE(has(read.ur, 4) && has(read.ur, 5));
    EXPECT_TRUE(has(written.r, 0) && !has(written.r, 1));
    EXPECT_EQ(read.p, 0);  // guard PT
}

// A descriptor is two registers: gdesc[URn] of wgmma names those of A and of B, also where A lies
// in registers.
TEST(Api, RegisterSetsKnowMatrixDescriptors) {
    const auto uniform = [](sassdec_arch arch, std::uint64_t high, std::uint64_t low,
                            const char* begin) {
        const sassdec_insn i = decode(arch, high, low);
        EXPECT_EQ(text(i).substr(0, std::strlen(begin)), begin);
        sassdec_regset read, written;
        sassdec_registers(&i, &read, &written);
        return read.ur[0];
    };
    EXPECT_EQ(uniform(SASSDEC_SM_90, 0x000fde0008700618, 0x4be0a400341879f0,
                      "HGMMA.SP.REGOFFSET.64x256x32.F16 R24, gdesc[UR52].tnspB, R24"),
              std::uint64_t{15} << 52);
    EXPECT_EQ(uniform(SASSDEC_SM_90, 0x000fe20008702e18, 0x03e09f04a8187df0,
                      "HGMMA.SP.REGOFFSET.64x256x16.F32.TF32 R24, R168, gdesc[UR4], R24"),
              std::uint64_t{3} << 6);
    EXPECT_EQ(uniform(SASSDEC_SM_100, 0x0005e20008000022, 0x802826060a0075ea,
                      "UTCOMMA.4X gdesc[UR10], gdesc[UR6], tmem[UR34], tmem[UR38], idesc[UR39], "
                      "tmem[UR40], UP0"),
              std::uint64_t{3} << 6 | std::uint64_t{3} << 10 | std::uint64_t{1} << 34 |
                  std::uint64_t{15} << 38);
}

TEST(Api, GuardIsReadAndPredicateWritten) {
    const sassdec_insn i = decode(SASSDEC_SM_90, 0x040fe40000709400, 0x000000061700920b);
    EXPECT_EQ(text(i), "@!P1 FSETP.LTU.OR P0, PT, R23.reuse, R6, P0");
    EXPECT_EQ(i.guard, 1);
    EXPECT_EQ(i.guard_neg, 1);
    sassdec_regset read, written;
    sassdec_registers(&i, &read, &written);
    EXPECT_EQ(read.p, 0b11);
    EXPECT_EQ(written.p, 0b1);
}

// "PR" is those that the mask names; in a register it may name any.
TEST(Api, PredicatesThatAMaskNamesAreReadOrWritten) {
    const auto predicates = [](std::uint64_t high, std::uint64_t low, const char* wanted) {
        const sassdec_insn i = decode(SASSDEC_SM_90, high, low);
        EXPECT_EQ(text(i), wanted);
        sassdec_regset read, written;
        sassdec_registers(&i, &read, &written);
        return std::pair<int, int>{read.p, written.p};
    };
    EXPECT_EQ(predicates(0x000fd20000000000, 0x00000001ff1a7803, "P2R R26, PR, RZ, 0x1"),
              (std::pair{1, 0}));
    EXPECT_EQ(predicates(0x000fe40000000000, 0x0000006016007804, "R2P PR, R22, 0x60"),
              (std::pair{0, 0x60}));
    EXPECT_EQ(predicates(0x000fe40000000000, 0x0000001716007204, "R2P PR, R22, R23"),
              (std::pair{0, 0x7f}));
}

// Without .RELU there is no predicate operand, though its bits name P0.
TEST(Api, WhatAModifierTakesAwayIsNotRead) {
    const sassdec_insn i = decode(SASSDEC_SM_90, 0x000fe200000001ff, 0x00000000ff097435);
    EXPECT_EQ(text(i), "HFMA2.MMA R9, -RZ, RZ, 0, 0");
    sassdec_regset read, written;
    sassdec_registers(&i, &read, &written);
    EXPECT_EQ(read.p, 0);
}

TEST(Api, UniformZeroIsNormalised) {
    const sassdec_insn old = decode(SASSDEC_SM_90, 0x000fe4000fffe03f, 0x0000090004057890);
    const sassdec_insn now = decode(SASSDEC_SM_100, 0x000fe2000fffe0ff, 0x0000000109067890);
    for (const sassdec_insn& i : {old, now}) {
        const sassdec_operand& last = i.operand[i.operand_count - 1];
        EXPECT_EQ(last.file, SASSDEC_UR);
        EXPECT_EQ(last.index, SASSDEC_URZ) << text(i);
    }
}

TEST(Api, BranchTargetsAreAbsolute) {
    const sassdec_insn i = decode(SASSDEC_SM_90, 0x000fc0000383ffff, 0xfffffffc00fc7947, 0x200);
    std::uint64_t target = 0;
    ASSERT_TRUE(sassdec_branch_target(&i, &target));
    EXPECT_EQ(target, 0x200u);
    EXPECT_EQ(text(i), "BRA 0x200");
    sassdec_format_options opts{
        sizeof opts,
        [](void*, const sassdec_insn*, std::uint64_t t, char* out, std::size_t size) {
            return std::snprintf(out, size, "loop_%llx", static_cast<unsigned long long>(t));
        },
        nullptr, nullptr};
    EXPECT_EQ(text(i, &opts), "BRA loop_200");
}

TEST(Api, OperandHookNamesWhatItKnows) {
    const sassdec_insn i = decode(SASSDEC_SM_90, 0x000e220000000a00, 0x00008400ff027b82);
    int asked = 0;
    const auto hook = [](void* user, const sassdec_insn* insn, unsigned operand, char* out,
                         std::size_t size) {
        ++*static_cast<int*>(user);
        const sassdec_operand& op = insn->operand[operand];
        return op.kind == SASSDEC_OP_CONST
                   ? std::snprintf(out, size, "param+0x%x", op.offset - 0x210)
                   : -1;
    };
    sassdec_format_options options{sizeof options, nullptr, &asked, hook};
    EXPECT_EQ(text(i, &options), "LDC.64 R2, param+0x0");
    EXPECT_EQ(asked, 2);
    options.size = offsetof(sassdec_format_options, operand);  // a caller of before this hook
    EXPECT_EQ(text(i, &options), "LDC.64 R2, c[0x0][0x210]");
}

TEST(Api, CursorWalksASection) {
    std::uint8_t code[1 + 3 * 16 + 5] =
        {};  // unaligned, an undecodable word in the middle, a part of a word at the end
    const std::uint64_t exit_word[2] = {0x000000000000794d, 0x000fea0003800000};
    std::memcpy(code + 1, exit_word, 16);
    std::memcpy(code + 33, exit_word, 16);
    sassdec_cursor cursor{code + 1, sizeof code - 1, 0x700, SASSDEC_SM_90, 0};
    sassdec_insn insn;
    std::string seen;
    while (sassdec_next(&cursor, &insn))
        seen += std::to_string(insn.pc) + (insn.status == SASSDEC_OK ? "+" : "-");
    EXPECT_EQ(seen, "1792+1808-1824+");
    EXPECT_EQ(cursor.offset, 48u);
    EXPECT_EQ(sassdec_next(&cursor, &insn), 0);
    cursor.offset = ~std::size_t{0};
    EXPECT_EQ(sassdec_next(&cursor, &insn), 0);
    EXPECT_EQ(sassdec_next(nullptr, &insn), 0);
    unsigned good = 0, all = 0;
    for (const sassdec::Instruction& i :
         sassdec::Section(SASSDEC_SM_90, {code + 1, sizeof code - 1}))
        ++all, good += static_cast<bool>(i);
    EXPECT_EQ(all, 3u);
    EXPECT_EQ(good, 2u);
}

TEST(Api, WrapperGivesValues) {
    const sassdec::Assembly made =
        sassdec::assemble(SASSDEC_SM_90, "@P1 LDG.E.64 R4, desc[UR6][R2.64] &wr=2", 0x40);
    ASSERT_TRUE(made) << made.error.reason;
    const sassdec::Instruction i(SASSDEC_SM_90, made.word, 0x40);
    ASSERT_TRUE(i);
    EXPECT_EQ(i.text(), "@P1 LDG.E.64 R4, desc[UR6][R2.64]");
    EXPECT_EQ(i.mnemonic(), "LDG");
    EXPECT_TRUE(i.in(SASSDEC_GROUP_LOAD) && !i.in(SASSDEC_GROUP_STORE));
    EXPECT_TRUE(has(i.registers().written.r, 5) && has(i.registers().read.r, 3));
    EXPECT_EQ(i.control().write_barrier, 2);
    EXPECT_EQ(i.operands().size(), i.raw().operand_count);
    EXPECT_FALSE(i.branch_target());
    EXPECT_EQ(sassdec::assemble(SASSDEC_SM_90, i.exact_text()).word, made.word);
    const sassdec::Assembly wrong = sassdec::assemble(SASSDEC_SM_90, "FADD R0");
    EXPECT_FALSE(wrong);
    EXPECT_EQ(wrong.error.column, 8u);
    const sassdec::Instruction bad(SASSDEC_SM_90, {0, 0});
    EXPECT_FALSE(bad);
    EXPECT_EQ(bad.reason(), "no instruction with opcode 0x0 on sm_90");
}

TEST(Api, RejectedWordsSayWhy) {
    const auto reason = [](std::uint64_t hi, std::uint64_t lo) {
        const std::uint64_t w[2] = {lo, hi};
        sassdec_insn insn;
        sassdec_decode(SASSDEC_SM_90, w, 0, &insn);
        char out[200];
        sassdec_reason(&insn, out, sizeof out);
        return std::string(out);
    };
    EXPECT_NE(reason(0, 0).find("no instruction with opcode 0x0"), std::string::npos);
    // Schedule 16 and the reuse flag of a missing third operand.
    EXPECT_NE(
        reason(0x000fe00000000100, 0x000000141f147221).find("scheduling bits in bits 105..109"),
        std::string::npos);
    EXPECT_NE(
        reason(0x080fe20000000100, 0x000000141f147221).find("scheduling bits in bits 122..124"),
        std::string::npos);
}

}  // namespace
