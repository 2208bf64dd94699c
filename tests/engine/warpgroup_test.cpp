// SPDX-License-Identifier: Apache-2.0
// wgmma as warps see it: the four warps of a warpgroup meet, nothing is done before all have come,
// who waits waits for the others, and what a warpgroup must not do ends the launch by name.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

struct Launched {
    LaunchResult result;
    std::vector<uint32_t> out;
};

// `threads` threads run `body` and store R24. R0: thread, R1: warp; P0: a thread of warp 0, P3: of
// warp 3; UR8 to UR11: descriptors of A and B in ones (f16).
Launched run(const std::string& body, uint32_t threads = 128, AgentOrder agents = AgentOrder::eager,
             uint64_t seed = 1) {
    Launched r;
    r.out.resize(threads);
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(
        ".target sm_90a\n.kernel k\n.param out 8\n.shared 8192\n S2R R0, SR_TID.X\n LDC.64 R2, "
        "c[0x0][out]\n ULDC.64 UR4, c[0x0][0x208]\n IMAD.WIDE.U32 R2, R0, 0x4, R2\n"
        " SHF.R.U32.HI R1, RZ, 0x5, R0\n ISETP.EQ.U32.AND P0, PT, R1, RZ, PT\n"
        " ISETP.EQ.U32.AND P3, PT, R1, 0x3, PT\n SHF.L.U32 R4, R0, 0x5, RZ\n"
        " MOV R5, 0x3c003c00\n"
        " STS [R4+0x400], R5\n STS [R4+0x404], R5\n STS [R4+0x408], R5\n STS [R4+0x40c], R5\n"
        " STS [R4+0x410], R5\n STS [R4+0x414], R5\n STS [R4+0x418], R5\n STS [R4+0x41c], R5\n"
        " BAR.SYNC.DEFER_BLOCKING 0x0\n"
        " UMOV UR8, 0x80040\n UMOV UR9, 0x10\n UMOV UR10, 0x80040\n UMOV UR11, 0x10\n"
        " MOV R24, 0x1\n MOV R25, 0x1\n MOV R26, 0x1\n MOV R27, 0x1\n" +
            body + "\n STG.E desc[UR4][R2.64], R24\n EXIT\n",
        {}, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return r;
    }
    GpuOptions options;
    options.agents = agents;
    options.seed = seed;
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "wgmma.cubin");
    EXPECT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    const uint64_t buffer = *(*gpu)->allocate(threads * 4, "out");
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.block = {threads, 1, 1};
    request.limits.max_warp_instructions = 1'000'000;
    request.params.resize(8);
    std::memcpy(request.params.data(), &buffer, 8);
    auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok()) << result.error().what;
    r.result = std::move(*result);
    EXPECT_TRUE((*gpu)->read(buffer, std::as_writable_bytes(std::span(r.out))));
    return r;
}
std::string report(const Launched& r) {
    return r.result.message + (r.result.fault ? r.result.fault->report() : "");
}
void expect_fault(const Launched& r, FaultKind kind, const char* text) {
    ASSERT_EQ(r.result.status, LaunchStatus::fault) << report(r);
    EXPECT_EQ(r.result.fault->kind, kind);
    EXPECT_NE(report(r).find(text), std::string::npos) << report(r);
}

constexpr const char* product = " HGMMA.64x8x16.F32 R24, gdesc[UR8], RZ, !UPT, gsb0\n";
constexpr const char* wait = " WARPGROUP.DEPBAR.LE gsb0, 0x0\n";
constexpr uint32_t sixteen = 0x41800000, forty_eight = 0x42400000;

TEST(WarpgroupUnit, MultipliesWhenAllHaveIssued) {
    for (const AgentOrder order : {AgentOrder::eager, AgentOrder::lazy, AgentOrder::random}) {
        const Launched r = run(std::string(" WARPGROUP.ARRIVE\n") + product + wait, 256, order);
        ASSERT_EQ(r.result.status, LaunchStatus::ok) << report(r);
        for (const uint32_t v : r.out) EXPECT_EQ(v, sixteen);
    }
}

// Three in a chain, the last with its sum kept in other registers; an empty one signals as well.
TEST(WarpgroupUnit, ChainsInOrder) {
    for (const AgentOrder order : {AgentOrder::eager, AgentOrder::lazy, AgentOrder::random})
        for (uint64_t seed = 0; seed < 8; ++seed) {
            const Launched r =
                run(" WARPGROUP.ARRIVE\n HGMMA.64x8x16.F32 R24, gdesc[UR8], RZ, !UPT\n"
                    " HGMMA.64x8x16.F32 R24, gdesc[UR8], R24, gsb0\n"
                    " HGMMA.64x8x16.F32 R32, gdesc[UR8], R24, gsb0\n"
                    " HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0\n"
                    " WARPGROUP.DEPBAR.LE gsb0, 0x1\n MOV R24, R32\n" +
                        std::string(wait),
                    128, order, seed);
            ASSERT_EQ(r.result.status, LaunchStatus::ok) << report(r);
            for (const uint32_t v : r.out) EXPECT_EQ(v, forty_eight);
        }
}

// Nothing is written before all warps have issued it, and in the lazy order nothing before the
// wait.
TEST(WarpgroupUnit, IsDoneWhenItsUnitGetsToIt) {
    // Warps look at D at once; warp 0 comes last, after the others have stored what they saw.
    const std::string early = std::string("@P0 NANOSLEEP 0x1000\n") + product + " MOV R30, R24\n" +
                              wait + " MOV R24, R30\n";
    const Launched eager = run(early);
    ASSERT_EQ(eager.result.status, LaunchStatus::ok) << report(eager);
    EXPECT_EQ(eager.out[0], sixteen);  // the last to issue
    EXPECT_EQ(eager.out[40], 1u);
    const Launched lazy = run(early, 128, AgentOrder::lazy);
    ASSERT_EQ(lazy.result.status, LaunchStatus::ok) << report(lazy);
    for (const uint32_t v : lazy.out) EXPECT_EQ(v, 1u);
    // Shared memory is read when the unit gets to it, too: B becomes zeros before the wait.
    const std::string late = std::string(product) +
                             " BAR.SYNC.DEFER_BLOCKING 0x0\n MOV R5, RZ\n"
                             " STS [R4+0x400], R5\n STS [R4+0x404], R5\n STS [R4+0x408], R5\n"
                             " STS [R4+0x40c], R5\n STS [R4+0x410], R5\n STS [R4+0x414], R5\n"
                             " STS [R4+0x418], R5\n STS [R4+0x41c], R5\n"
                             " BAR.SYNC.DEFER_BLOCKING 0x0\n" +
                             wait;
    EXPECT_EQ(run(late).out[77], sixteen);
    EXPECT_EQ(run(late, 128, AgentOrder::lazy).out[77], 0u);
}

// One thread may speak for all: where its wait is over, all warps have read their operands.
TEST(WarpgroupUnit, AWaitIsForTheWholeWarpgroup) {
    const Launched r =
        run(std::string("@P3 NANOSLEEP 0x1000\n") + product + wait +
            // Warp 0 overwrites B as soon as its own wait is over.
            "@P0 STS [R4+0x400], RZ\n@P0 STS [R4+0x404], RZ\n@P0 STS [R4+0x408], RZ\n"
            "@P0 STS [R4+0x40c], RZ\n@P0 STS [R4+0x410], RZ\n@P0 STS [R4+0x414], RZ\n"
            "@P0 STS [R4+0x418], RZ\n@P0 STS [R4+0x41c], RZ\n");
    ASSERT_EQ(r.result.status, LaunchStatus::ok) << report(r);
    for (const uint32_t v : r.out) EXPECT_EQ(v, sixteen);
}

// setmaxnreg: warps 4 to 7 give what warps 0 to 3 wait for. `keep`: per thread.
std::string moved_registers(const char* keep) {
    return std::string(
               " ISETP.GE.U32.AND P1, PT, R0, 0x80, PT\n@P1 BRA `(GIVE)\n"
               "ASK:\n USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0x30\n"
               " PLOP3.LUT P2, PT, PT, PT, UP0, 0x80, 0x0\n@!P2 BRA `(ASK)\n"
               " BRA `(DONE)\nGIVE:\n NANOSLEEP 0x1000\n"
               " USETMAXREG.DEALLOC.CTAPOOL ") +
           keep + "\nDONE:\n MOV R24, 0x7\n";
}

TEST(WarpgroupUnit, RegistersMoveBetweenWarps) {
    const Launched r = run(moved_registers("0x10"), 256);  // 32 - 16 of four, 48 - 32 for four
    ASSERT_EQ(r.result.status, LaunchStatus::ok) << report(r);
    for (const uint32_t v : r.out) EXPECT_EQ(v, 7u);
}

TEST(WarpgroupUnit, TooFewRegistersAreADeadlock) {
    const Launched r = run(moved_registers("0x18"), 256);
    ASSERT_EQ(r.result.status, LaunchStatus::deadlock) << report(r);
    // Two warps got theirs.
    EXPECT_NE(report(r).find("waits for registers; 0 per thread of a warp are free; "),
              std::string::npos)
        << report(r);
    EXPECT_NE(report(r).find("warps 4 to 7 have 24"), std::string::npos) << report(r);
}

TEST(WarpgroupUnit, FaultsHaveNames) {
    expect_fault(run(product, 96), FaultKind::other,
                 "wgmma by an incomplete warpgroup: of warps 0 to 3, warp 3 does not exist");
    expect_fault(run(std::string("@P3 NANOSLEEP 0x1000\n") + product, 112), FaultKind::other,
                 "warp 3 has lanes that do not exist");
    expect_fault(run(std::string("@P3 EXIT\n NANOSLEEP 0x1000\n") + product), FaultKind::other,
                 "warp 3 has lanes that do not exist or have exited");
    expect_fault(run(" ISETP.EQ.U32.AND P1, PT, R0, 0x5, PT\n@!P1" + std::string(product)),
                 FaultKind::other, "wgmma by some lanes of a warp");
    expect_fault(run(std::string("@P3 R2UR UR10, R0\n") + product + wait), FaultKind::other,
                 "different matrix descriptors");
    expect_fault(run("@P3 BRA `(OTHER)\n" + std::string(product) + wait + " BRA `(END)\nOTHER:\n" +
                     product + wait + "END:\n"),
                 FaultKind::other, "the warps of a warpgroup execute different wgmma");
    expect_fault(run(" UMOV UR10, 0x83f00\n" + std::string(product)), FaultKind::out_of_bounds,
                 "the matrix descriptor of B leaves the shared memory");
    expect_fault(run(" UMOV UR8, 0x83f00\n" + std::string(product)), FaultKind::out_of_bounds,
                 "the matrix descriptor of A leaves the shared memory");
}

TEST(WarpgroupUnit, ADeadlockSaysWhoIsMissing) {
    const Launched r = run("@P3 BAR.SYNC.DEFER_BLOCKING 0x1, 0x80\n" + std::string(product) + wait);
    ASSERT_EQ(r.result.status, LaunchStatus::deadlock) << report(r);
    EXPECT_NE(report(r).find("waits for a wgmma that warp 3 of its warpgroup has not issued"),
              std::string::npos)
        << report(r);
}

// What an H100 does (tests/hardware/warpgroup/wait.py): who arrives goes on, who waits waits for
// the others of its warpgroup.
TEST(WarpgroupUnit, WarpsMeet) {
    // Warp 3 comes late, after having written what warp 0 reads behind the meeting: in each phase.
    const std::string late =
        "@P3 NANOSLEEP 0x1000\n@P3 STS [0x400], R0\n WARPGROUP.ARRIVE\n WARPGROUP.WAIT\n"
        " LDS R24, [0x400]\n WARPGROUP.ARRIVE\n WARPGROUP.WAIT\n"
        "@P3 NANOSLEEP 0x1000\n@P3 STS [0x400], RZ\n WARPGROUP.ARRIVE\n WARPGROUP.WAIT\n"
        " LDS R25, [0x400]\n IMAD R24, R25, 0x1000, R24\n";
    for (uint64_t seed = 0; seed < 4; ++seed) {
        const Launched r = run(late, 128, AgentOrder::eager, seed);
        ASSERT_EQ(r.result.status, LaunchStatus::ok) << report(r);
        for (const uint32_t v : r.out) EXPECT_EQ(v, 0x60u);  // its lowest lane
    }
    // Who does not arrive waits for nobody; half a warp, and a short one, arrive for all of it; one
    // that exits is not waited for.
    for (const char* body :
         {"@P3 BAR.SYNC.DEFER_BLOCKING 0x1, 0x40\n WARPGROUP.WAIT\n"
          "@P0 BAR.SYNC.DEFER_BLOCKING 0x1, 0x40\n",
          " ISETP.EQ.U32.AND P1, PT, R0, 0x5, PT\n@!P1 WARPGROUP.ARRIVE\n WARPGROUP.WAIT\n",
          "@P3 BRA `(GO)\n WARPGROUP.ARRIVE\n WARPGROUP.WAIT\nGO:\n@P3 NANOSLEEP 0x1000\n"}) {
        const Launched r = run(body);
        EXPECT_EQ(r.result.status, LaunchStatus::ok) << body << report(r);
    }
    EXPECT_EQ(run(" WARPGROUP.ARRIVE\n WARPGROUP.WAIT\n", 112).result.status, LaunchStatus::ok);
    expect_fault(run(" WARPGROUP.ARRIVE\n", 96), FaultKind::illegal_instruction,
                 "WARPGROUP.ARRIVE in an incomplete warpgroup: of warps 0 to 3, warp 3 does not "
                 "exist");
    expect_fault(run("@P3 EXIT\n NANOSLEEP 0x1000\n WARPGROUP.ARRIVE\n"),
                 FaultKind::illegal_instruction, "warp 3 has exited");
    // A second arrival waits for the others' first.
    for (const char* second : {" WARPGROUP.WAIT\n", " WARPGROUP.ARRIVE\n"}) {
        const Launched r =
            run("@P3 BAR.SYNC.DEFER_BLOCKING 0x1, 0x80\n WARPGROUP.ARRIVE\n" + std::string(second));
        ASSERT_EQ(r.result.status, LaunchStatus::deadlock) << report(r);
        EXPECT_NE(report(r).find("waits for warp 3 of its warpgroup, which has not arrived"),
                  std::string::npos)
            << report(r);
    }
}

}  // namespace
}  // namespace sassemu
