// The C interface: architecture names, control word, operands, register sets, branch targets, reasons, label hook.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "rows.hpp"

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
    for (const char* bad : {"", "sm_", "sm_70", "sm_75a", "sm_90b", "sm_90aa", "sm_900", "fast", "sm_1000"})
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
    sassdec_format_options opts{sizeof opts,
                                [](void*, const sassdec_insn*, std::uint64_t t, char* out, std::size_t size) {
                                    return std::snprintf(out, size, "loop_%llx", static_cast<unsigned long long>(t));
                                },
                                nullptr};
    EXPECT_EQ(text(i, &opts), "BRA loop_200");
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
    EXPECT_NE(reason(0x000fe00000000100, 0x000000141f147221).find("scheduling bits in bits 105..109"), std::string::npos);
    EXPECT_NE(reason(0x080fe20000000100, 0x000000141f147221).find("scheduling bits in bits 122..124"), std::string::npos);
}

}  // namespace
