// SPDX-License-Identifier: Apache-2.0
// Records and counts: blocks say what a call per instruction says, in the same order.
#include <gtest/gtest.h>

#include <cstdio>

#include "machine.hpp"

namespace sassemu {
namespace {

// Loops that lanes leave at different times, instructions whose guard is false in all lanes, a
// barrier, shared memory, an atomic, a vector.
constexpr const char* of_all_kinds = R"(
.target sm_90
.kernel k
    .param data 8
    .shared 2048
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        S2R R0, SR_TID.X
        IMAD.WIDE R2, R0, 0x10, R2
        LOP3.LUT R6, R0, 0x7, RZ, 0xc0, !PT
        ISETP.GT.AND P1, PT, R0, 0x1f, PT
        SHF.L.U32 R1, R0, 0x4, RZ
        IADD3 R1, R1, 0x400, RZ
        BSSY B0, `(join)
again:
        LDG.E.128 R8, desc[UR4][R2.64]
  @P1   IADD3 R8, R8, 0x1, RZ
        STS.128 [R1], R8
  @!P1  LDS.64 R10, [R1+0x8]
        IADD3 R6, R6, -0x1, RZ
        ISETP.GT.AND P0, PT, R6, RZ, PT
  @P0   BRA `(again)
join:
        BSYNC B0
        BAR.SYNC.DEFER_BLOCKING 0x0
        LDS R5, [R1]
        ATOMG.E.ADD.STRONG.GPU PT, R7, desc[UR4][R2.64], R5
        BAR.SYNC.DEFER_BLOCKING 0x0
        STG.E.128 desc[UR4][R2.64], R8
        EXIT
)";

std::string told(const std::string& how, GpuOptions options = {}) {
    options.deterministic = true;
    Machine m(of_all_kinds, {own("batches") + ":mode=" + how}, "flat", options);
    const uint64_t data = m.buffer();
    EXPECT_EQ(m.run(3, 80, {data}).status, LaunchStatus::ok);
    return m.out;
}

TEST(Records, SayWhatCallsSay) {
    const std::string calls = told("calls");
    EXPECT_GT(calls.size(), 20000u);
    EXPECT_NE(calls.find("LDS.64"), std::string::npos);
    EXPECT_EQ(calls, told("records"));
    GpuOptions reference;
    reference.reference = true;
    EXPECT_EQ(calls, told("records", reference));
}

struct Summed {
    unsigned long long instructions = 0, wrong = 1, issued = 0, skipped = 0, lanes = 0;
};
Summed summed(const std::string& text) {
    Summed s;
    EXPECT_EQ(std::sscanf(text.c_str(),
                          "instructions %llu wrong %llu issued %llu skipped %llu lanes %llu",
                          &s.instructions, &s.wrong, &s.issued, &s.skipped, &s.lanes),
              5)
        << text;
    return s;
}

TEST(Records, CountsAreTheirSums) {
    Machine m(of_all_kinds, {own("batches") + ":mode=counts"});
    const uint64_t data = m.buffer(1 << 16);
    for (const uint32_t grid : {1u, 40u}) {
        m.out.clear();
        const LaunchResult r = m.run(grid, 96, {data});
        ASSERT_EQ(r.status, LaunchStatus::ok);
        if (grid > 1 && r.stats.threads > 1) continue;  // the plugin's own sums know no threads
        const Summed s = summed(m.out);
        EXPECT_EQ(s.wrong, 0u);
        EXPECT_GT(s.skipped, 0u);
        EXPECT_EQ(s.skipped, r.stats.guard_false);
        EXPECT_EQ(s.issued, r.stats.warp_instructions + r.stats.guard_false);
        EXPECT_EQ(s.lanes, r.stats.thread_instructions);
    }
}

// What did not take place is not counted.
TEST(Records, AttemptsThatArePutOffAreNotCounted) {
    Machine plain(of_all_kinds, {own("batches") + ":mode=counts"});
    Machine m(of_all_kinds, {own("batches") + ":mode=counts"}, own("puts_off"));
    std::string lines[2];
    for (Machine* each : {&plain, &m}) {
        const uint64_t data = each->buffer();
        each->out.clear();
        const LaunchResult r = each->run(1, 64, {data});
        ASSERT_EQ(r.status, LaunchStatus::ok);
        const Summed s = summed(each->out);
        EXPECT_EQ(s.wrong, 0u);
        EXPECT_EQ(s.issued, r.stats.warp_instructions + r.stats.guard_false);
        EXPECT_EQ(s.lanes, r.stats.thread_instructions);
        lines[each == &m] = each->out;
    }
    EXPECT_EQ(lines[0], lines[1]);
}

TEST(Records, AFaultEndsThem) {
    for (const char* how : {"calls", "records"}) {
        Machine m(of_all_kinds, {own("batches") + ":mode=" + how});
        EXPECT_EQ(m.run(1, 32, {0x1000}).status, LaunchStatus::fault);
        EXPECT_NE(m.out.find("LDG.E.128"), std::string::npos) << m.out;
        EXPECT_EQ(m.out.find("STS"), std::string::npos) << m.out;
    }
}

TEST(Records, AreCutAtTheLimitOfInstructions) {
    Machine m(of_all_kinds, {own("batches") + ":mode=counts"});
    const uint64_t data = m.buffer();
    m.out.clear();
    const LaunchResult r = m.run(1, 64, {data}, 37);
    EXPECT_EQ(r.status, LaunchStatus::limit);
    const Summed s = summed(m.out);
    EXPECT_EQ(s.wrong, 0u);
    EXPECT_EQ(s.issued - s.skipped, 37u);
}

TEST(Records, EndWhereThatIsAskedFor) {
    Machine m(of_all_kinds, {own("tries") + ":mode=last"});
    const uint64_t data = m.buffer();
    ASSERT_EQ(m.run(3, 80, {data}).status, LaunchStatus::ok);
    m.hooks().finish();
    unsigned long long tried = 0, wrong = 1;
    ASSERT_EQ(std::sscanf(m.out.c_str(), "tried %llu wrong %llu", &tried, &wrong), 2) << m.out;
    EXPECT_GT(tried, 100u);
    EXPECT_EQ(wrong, 0u);
}

// Arithmetic of all register files, guarded too, and what is none.
constexpr const char* to_try = R"(
.target sm_90
.kernel k
    .param data 8
    .shared 2048
        ULDC.64 UR4, c[0x0][0x208]
        LDC.64 R2, c[0x0][data]
        S2R R0, SR_TID.X
        ISETP.GT.U32.AND P0, PT, R0, 0x10, PT
        UMOV UR6, 0x5
        UIADD3 UR7, UR6, 0x3, URZ
        IADD3 R4, P1, R0, UR7, RZ
        IADD3.X R5, RZ, RZ, RZ, P1, !PT
  @P0   IMAD R6, R4, c[0x0][0x0], R0
  @!P0  I2F R6, R0
        FFMA R7, R6, 0.5, R6
        MUFU.RCP R8, R7
        F2F.F64.F32 R10, R7
        DADD R10, R10, R10
        HADD2 R9, R7, R8
        PRMT R9, R9, 0x5432, R7
        SEL R9, R9, R6, P0
        PLOP3.LUT P2, P3, P0, P1, PT, 0x60, 0x8
        SHF.L.U32 R12, R0, 0x2, RZ
        IADD3 R12, R12, 0x400, RZ
        STS [R12], R9
        LDS R13, [R12]
        SHFL.BFLY PT, R14, R13, 0x1, 0x1f
        VOTE.ANY R15, PT, P0
        R2UR UR8, R13
        BAR.SYNC.DEFER_BLOCKING 0x0
        STG.E desc[UR4][R2.64], R14
        EXIT
)";

TEST(Scratch, ComputesWhatRunsCompute) {
    Machine m(to_try, {own("tries")});
    const uint64_t data = m.buffer();
    ASSERT_EQ(m.run(1, 80, {data}).status, LaunchStatus::ok);
    m.hooks().finish();
    EXPECT_EQ(m.out, "tried 49 wrong 0 refused BAR EXIT LDC LDS R2UR S2R SHFL STG STS ULDC VOTE\n");
}

}  // namespace
}  // namespace sassemu
