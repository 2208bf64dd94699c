// SPDX-License-Identifier: Apache-2.0
// Who runs together: what divides a warp, what joins it and who is not waited for, lane for lane as
// an H200 answers (each case was run there; the votes below are its votes).
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

using Groups = std::vector<uint32_t>;  // masks of lanes that vote together
constexpr uint32_t all = 0xffffffff;

struct Case {
    const char* name;
    const char* body;  // R0: lane, P0: not lane 0, R10: the lane's octet, R20: 10, [R6]: words of
                       // 0, NOTE: votes
    Groups end, note = {};  // the votes behind the body, and at its NOTE
};

// One warp runs `body`; the votes of each lane at NOTE and at the end.
void run(const Case& c, bool reference, const std::string& target = "sm_90") {
    std::string body = c.body;
    if (const size_t at = body.find("NOTE"); at != std::string::npos)
        body.replace(at, 4, "VOTE.ANY R12, PT, PT\n STG.E desc[UR4][R2.64+0x4], R12");
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(
        ".target " + target + "\n.kernel k\n.param out 8\n.param words 8\n" +
            (target == "sm_90" ? " ULDC.64 UR4, c[0x0][0x208]\n" : "") +
            " S2R R0, SR_TID.X\n LDC.64 R2, c[0x0][out]\n LDC.64 R6, "
            "c[0x0][words]\n"
            " MOV R20, 0xa\n IMAD.WIDE.U32 R2, R0, 0x8, R2\n ISETP.NE.AND P0, PT, R0, RZ, PT\n"
            " LOP3.LUT R5, R0, 0x18, RZ, 0xc0, !PT\n MOV R4, 0xff\n SHF.L.U32 R10, R4, R5, RZ\n "
            "MOV "
            "R15, 0x7\n" +
            body + "\n VOTE.ANY R4, PT, PT\n STG.E " +
            (target == "sm_90"   ? "desc[UR4][R2.64]"
             : target == "sm_80" ? "[R2.64]"
                                 : "[R2.64+URZ]") +
            ", R4\n EXIT\n",
        {}, diagnostics);
    ASSERT_TRUE(read) << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
    GpuOptions options;
    options.reference = reference;
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "convergence.cubin");
    ASSERT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    const uint64_t buffers[2] = {*(*gpu)->allocate(256, "out"), *(*gpu)->allocate(256, "words")};
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.grid = {1, 1, 1};
    request.block = {32, 1, 1};
    request.limits.max_warp_instructions = 1'000'000;
    request.params.resize(16);
    std::memcpy(request.params.data(), buffers, 16);
    const auto result = (*gpu)->launch(request);
    ASSERT_TRUE(result.ok()) << result.error().what;
    ASSERT_EQ(result->status, LaunchStatus::ok) << result->message;
    uint32_t votes[32][2];
    ASSERT_TRUE((*gpu)->read(buffers[0], std::as_writable_bytes(std::span(votes))));
    const auto expect = [&](const Groups& groups, int word) {
        for (const uint32_t group : groups)
            for (int lane = 0; lane < 32; ++lane)
                if (group >> lane & 1)
                    EXPECT_EQ(votes[lane][word], group)
                        << (word ? "NOTE" : "end") << ", lane " << lane;
    };
    expect(c.end, 0);
    expect(c.note, 1);
}

const Groups apart = {1, 0xfffffffe}, octets = {0xff, 0xff00, 0xff0000, 0xff000000};

const Case cases[] = {
    // A branch without a convergence barrier stays divided.
    {"branch", "@P0 BRA `(E)\n IADD3 R12, R12, 0x1, RZ\nE:", apart},
    {"branch_warpsync", "@P0 BRA `(E)\n IADD3 R12, R12, 0x1, RZ\nE: WARPSYNC.ALL", {all}},
    {"region", "BSSY B0, `(E)\n @P0 BRA `(E)\n IADD3 R12, R12, 0x1, RZ\nE: BSYNC B0", {all}},

    // Lanes that yield while others can run are not waited for, until they run again.
    {"yield", "BSSY B0, `(E)\n @P0 BRA `(E)\n YIELD\nE: BSYNC B0", apart},
    {"yield_loop",
     "BSSY B0, `(E)\n @P0 BRA `(E)\nL: YIELD\n IADD3 R20, R20, -0x1, RZ\n ISETP.NE.AND P1, PT, "
     "R20, RZ, PT\n @P1 BRA `(L)\nE: BSYNC B0",
     apart},
    {"plain_loop",
     "BSSY B0, `(E)\n @P0 BRA `(E)\nL: IADD3 R20, R20, -0x1, RZ\n ISETP.NE.AND P1, PT, R20, RZ, "
     "PT\n @P1 BRA `(L)\nE: BSYNC B0",
     {all}},
    {"nanosleep", "BSSY B0, `(E)\n @P0 BRA `(E)\n NANOSLEEP 0x20\nE: BSYNC B0", apart},
    {"nanosleep_of_nobody",
     "ISETP.EQ.AND P3, PT, R0, 0x40, PT\n BSSY B0, `(E)\n @P0 BRA `(E)\n @P3 NANOSLEEP 0x20\nE: "
     "BSYNC B0",
     {all}},
    // The smaller side goes first, of equal ones the one that falls through: so at this YIELD the
    // others wait already, at the instruction behind it, and all that stand there run ...
    {"yield_of_the_larger", "BSSY B0, `(E)\n @!P0 BRA `(E)\n YIELD\nE: BSYNC B0", {all}},
    // ... but any other YIELD lets them go alone.
    {"yield_twice_of_the_larger", "BSSY B0, `(E)\n @!P0 BRA `(E)\n YIELD\n YIELD\nE: BSYNC B0",
     apart},
    {"yield_elsewhere",
     "BSSY B0, `(E)\n @!P0 BRA `(E)\n IADD3 R12, R12, 0x1, RZ\n YIELD\n BRA `(E)\nE: BSYNC B0",
     apart},
    {"yield_of_a_taken_half",
     "ISETP.LT.U32.AND P1, PT, R0, 0x10, PT\n BSSY B0, `(E)\n @P1 BRA `(T)\n BRA `(E)\nT: "
     "YIELD\nE: BSYNC B0",
     {all}},
    // ... and this one does.
    {"yield_of_a_half",
     "ISETP.LT.U32.AND P1, PT, R0, 0x10, PT\n BSSY B0, `(E)\n @P1 BRA `(E)\n YIELD\nE: BSYNC B0",
     {0xffff, 0xffff0000}},
    {"yield_in_an_inner_region",
     "BSSY B1, `(F)\n BSSY B0, `(E)\n @P0 BRA `(E)\n YIELD\nE: BSYNC B0\n NOTE\nF: BSYNC B1",
     {all},
     apart},
    {"yield_with_one_register",
     "BSSY B6, `(F)\n BMOV.32.CLEAR R11, B6\n BSSY B6, `(E)\n @P0 BRA `(E)\n YIELD\nE: BSYNC B6\n "
     "NOTE\n BMOV.32 B6, R11\nF: BSYNC B6",
     {all},
     apart},
    {"two_yield",
     "ISETP.EQ.AND P2, PT, R0, 0x1, PT\n BSSY B0, `(E)\n @!P0 BRA `(A)\n @P2 BRA `(B)\n BRA "
     "`(E)\nA: YIELD\n BRA `(E)\nB: YIELD\nE: BSYNC B0",
     {1, 2, 0xfffffffc}},
    {"one_of_two_yields",
     "ISETP.EQ.AND P2, PT, R0, 0x1, PT\n BSSY B0, `(E)\n @!P0 BRA `(A)\n @P2 BRA `(B)\n BRA "
     "`(E)\nA: YIELD\n BRA `(E)\nB: IADD3 R12, R12, 0x1, RZ\nE: BSYNC B0",
     apart},
    // The saved copy of a barrier names lanes that have gone: they are not waited for for ever.
    {"saved_barrier",
     "BSSY B6, `(E)\n @P0 BRA `(E)\n BMOV.32.CLEAR R11, B6\n YIELD\n BMOV.32 B6, R11\nE: BSYNC "
     "B6\n NOTE\n WARPSYNC.ALL",
     {all},
     apart},
    {"lock",
     "BSSY B0, `(E)\n @P0 BRA `(E)\nL: YIELD\n LDG.E.STRONG.GPU R8, desc[UR4][R6.64]\n "
     "ISETP.EQ.AND P1, PT, R8, RZ, PT\n @P1 BRA `(L)\n"
     "E: BSYNC B0\n NOTE\n @P0 STG.E.STRONG.GPU desc[UR4][R6.64], R15\n WARPSYNC.ALL",
     {all},
     apart},
    {"lock_with_a_saved_barrier",
     "BSSY B6, `(E)\n @P0 BRA `(E)\n BMOV.32.CLEAR R11, B6\nL: YIELD\n LDG.E.STRONG.GPU R8, "
     "desc[UR4][R6.64]\n ISETP.EQ.AND P1, PT, R8, RZ, PT\n @P1 BRA `(L)\n"
     " BMOV.32 B6, R11\nE: BSYNC B6\n NOTE\n @P0 STG.E.STRONG.GPU desc[UR4][R6.64], R15\n "
     "WARPSYNC.ALL",
     {all},
     apart},
    {"bsync_against_warpsync", "BSSY B0, `(E)\n @!P0 BRA `(E)\n WARPSYNC.ALL\nE: BSYNC B0", apart},

    // WARPSYNC divides nobody ...
    {"warpsync_octets", "WARPSYNC R10", {all}},
    {"warpsync_each_alone", "MOV R4, 0x1\n SHF.L.U32 R11, R4, R0, RZ\n WARPSYNC R11", {all}},
    {"warpsync_guarded", "ISETP.GT.AND P2, PT, R0, 0x7, PT\n @!P2 WARPSYNC R10", {all}},
    {"warpsync_joins_octets",
     "LOP3.LUT R11, R0, 0x1, RZ, 0xc0, !PT\n ISETP.NE.AND P2, PT, R11, RZ, PT\n @P2 BRA `(A)\n "
     "IADD3 R12, R12, 0x1, RZ\nA: WARPSYNC R10",
     {all}},
    // ... but who names lanes that name others waits for them.
    {"warpsync_one_sided",
     "ISETP.GT.AND P2, PT, R0, 0x7, PT\n @P2 MOV R10, 0xffffffff\n WARPSYNC R10",
     {0xff, 0xffffff00}},
    {"warpsync_guard_divides_those_that_wait",
     "LOP3.LUT R11, R0, 0x1, RZ, 0xc0, !PT\n ISETP.NE.AND P2, PT, R11, RZ, PT\n MOV R10, 0xffff\n "
     "ISETP.GT.AND P3, PT, R0, 0xf, PT\n @P2 BRA `(A)\n IADD3 R12, R12, 0x1, RZ\nA: @!P3 WARPSYNC "
     "R10",
     {0xffff, 0x55550000, 0xaaaa0000}},

    // EXCLUSIVE makes each group a path.
    {"exclusive", "WARPSYNC.EXCLUSIVE R10\n NOTE\n WARPSYNC R10", octets, octets},
    {"exclusive_then_all", "WARPSYNC.EXCLUSIVE R10\n NOTE\n WARPSYNC.ALL", {all}, octets},
    {"exclusive_in_a_region",
     "BSSY B0, `(E)\n WARPSYNC.EXCLUSIVE R10\n NOTE\n BSYNC B0\nE:",
     {all},
     octets},
    {"exclusive_guarded",
     "ISETP.GT.AND P2, PT, R0, 0x7, PT\n @!P2 WARPSYNC.EXCLUSIVE R10",
     {0xff, 0xffffff00}},
    {"exclusive_of_all", "MOV R10, 0xffffffff\n WARPSYNC.EXCLUSIVE R10", {all}},
    {"exclusive_of_a_divided_warp",
     "LOP3.LUT R11, R0, 0x1, RZ, 0xc0, !PT\n ISETP.NE.AND P2, PT, R11, RZ, PT\n @P2 BRA `(A)\n "
     "IADD3 R12, R12, 0x1, RZ\nA: WARPSYNC.EXCLUSIVE R10",
     octets},
};

TEST(Convergence, AsMeasured) {
    for (const bool reference : {false, true})
        for (const Case& c : cases) {
            SCOPED_TRACE(std::string(c.name) + (reference ? ", reference" : ""));
            run(c, reference);
        }
}

// What code for other architectures counts on (QUESTIONS.md, T11; not run on a chip).
const char* const counted_loop =
    "BSSY B0, `(E)\n @P0 BRA `(E)\nL: YIELD\n IADD3 R20, R20, -0x1, RZ\n"
    " ISETP.NE.AND P1, PT, R20, RZ, PT\n @P1 BRA `(L)\nE: BSYNC B0";
TEST(Convergence, BeforeSm90BsyncWaitsForLanesThatYieldInACountedLoop) {
    for (const bool reference : {false, true}) {
        run({"counted", counted_loop, {all}}, reference, "sm_80");
        run({"counted", counted_loop, apart}, reference);
    }
}

TEST(Convergence, OfSm120LanesThatCanComeToBarAreWaitedFor) {
    const Case some[] = {
        {"branch", "@P0 BRA `(A)\n MOV R12, R13\nA: BAR.SYNC.DEFER_BLOCKING 0x0", {all}},
        {"three",
         "@!P0 BRA `(A)\n ISETP.GT.U32.AND P1, PT, R0, 0x7, PT\n @P1 BRA `(A)\nA: "
         "BAR.SYNC.DEFER_BLOCKING 0x0",
         {all}},
        {"elsewhere", "@P0 BRA `(A)\n BAR.SYNC.DEFER_BLOCKING 0x0\nA: WARPSYNC.ALL", {all}},
        {"region",
         "BSSY B0, `(A)\n @P0 BRA `(A)\n BAR.SYNC.DEFER_BLOCKING 0x0\nA: BSYNC B0",
         {all}},
    };
    for (const bool reference : {false, true})
        for (const Case& c : some) {
            SCOPED_TRACE(c.name);
            run(c, reference, "sm_120");
        }
}

// BREAK lets lanes go that wait for one barrier register in two places; each goes on behind its own
// BSYNC. (Not run on a chip; ptxas makes it at -O0, where functions share the registers.)
TEST(Convergence, BreakOfLanesThatWaitInTwoPlaces) {
    const Case c{"break",
                 "BSSY B0, `(E)\n @P0 BRA `(A)\n BSYNC B0\n BRA `(E)\n"
                 "A: ISETP.GT.U32.AND P1, PT, R0, 0x7, PT\n @P1 BRA `(C)\n BSYNC B0\n BRA `(E)\n"
                 "C: BREAK B0\nE: IADD3 R12, R12, 0x1, RZ",
                 {1, 0xfe, 0xffffff00}};
    for (const bool reference : {false, true}) run(c, reference);
}

// Lanes of a warp that waits at a barrier are ready, and do not run.
TEST(Convergence, ADeadlockReportSaysWhyLanesThatAreReadyDoNotRun) {
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(
        ".target sm_90\n.kernel k\n.barriers 3\n S2R R0, SR_TID.X\n"
        " ISETP.GT.U32.AND P1, PT, R0, 0x1f, PT\n @P1 BRA `(OTHER)\n"
        " ISETP.NE.AND P0, PT, R0, RZ, PT\n @P0 BRA `(REST)\n"
        " BAR.SYNC.DEFER_BLOCKING 0x1, 0x40\nREST: EXIT\n"
        "OTHER: BAR.SYNC.DEFER_BLOCKING 0x2, 0x40\n EXIT\n",
        {}, diagnostics);
    ASSERT_TRUE(read) << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
    auto gpu = Gpu::create({});
    auto module = load_module(sass::write_cubin(*read), "deadlock.cubin");
    ASSERT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.grid = {1, 1, 1};
    request.block = {64, 1, 1};
    const auto result = (*gpu)->launch(request);
    ASSERT_TRUE(result.ok()) << result.error().what;
    EXPECT_EQ(result->status, LaunchStatus::deadlock);
    EXPECT_NE(result->message.find("lanes 0xfffffffe can go on when those of its warp that wait at "
                                   "a barrier do\n    at k+0x60: EXIT"),
              std::string::npos)
        << result->message;
}

}  // namespace
}  // namespace sassemu
