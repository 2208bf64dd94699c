// SPDX-License-Identifier: Apache-2.0
// Named barriers at which a warp arrives twice: each time counts (emu/isa/QUESTIONS.md, T11).
#include <gtest/gtest.h>

#include <cstring>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

struct Launched {
    LaunchStatus status;
    std::vector<uint32_t> out;
};

// Two of three warps run `body` and store R10. R0: thread, P0: a thread of warp 1, R4: where its
// word of shared memory is, R5: where that of the other warp's thread is.
Launched run(const std::string& body, uint64_t seed) {
    Launched r{LaunchStatus::fault, std::vector<uint32_t>(64)};
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(
        ".target sm_90\n.kernel k\n.param out 8\n.shared 256\n S2R R0, SR_TID.X\n LDC.64 R2, "
        "c[0x0][out]\n ULDC.64 UR4, c[0x0][0x208]\n IMAD.WIDE.U32 R2, R0, 0x4, R2\n"
        " ISETP.GE.U32.AND P0, PT, R0, 0x40, PT\n @P0 EXIT\n"
        " ISETP.GE.U32.AND P0, PT, R0, 0x20, PT\n SHF.L.U32 R4, R0, 0x2, RZ\n"
        " LOP3.LUT R5, R4, 0x80, RZ, 0x3c, !PT\n IADD3 R6, R0, 0x64, RZ\n MOV R10, 0x7\n" +
            body + "\nE: STG.E desc[UR4][R2.64], R10\n EXIT\n",
        {}, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return r;
    }
    GpuOptions options;
    options.seed = seed;
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "barrier.cubin");
    EXPECT_TRUE(gpu.ok() && module.ok());
    LaunchRequest request;
    request.module = *(*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    request.kernel = "k";
    request.block = {96, 1, 1};
    request.limits.max_warp_instructions = 100'000;
    const uint64_t buffer = *(*gpu)->allocate(256, "out");
    request.params.resize(8);
    std::memcpy(request.params.data(), &buffer, 8);
    const auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok()) << result.error().what;
    r.status = result->status;
    EXPECT_TRUE((*gpu)->read(buffer, std::as_writable_bytes(std::span(r.out))));
    return r;
}

// As attention kernels end: all warps arrive, and the one that stores for all waits besides.
TEST(Barriers, AWarpThatHasArrivedCountsAgainWhereItWaits) {
    for (const uint64_t seed : {1, 2, 3, 4, 5}) {
        const Launched r =
            run("STS [R4], R6\n BAR.ARV 0x1, 0x60\n @!P0 BRA `(E)\n"
                " BAR.SYNC.DEFER_BLOCKING 0x1, 0x60\n LDS R10, [R5]",
                seed);
        ASSERT_EQ(r.status, LaunchStatus::ok);
        for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.out[i], i < 32 ? 7 : i - 32 + 100);
    }
}

// Two phases, the first of which is over when both have arrived and none waits yet.
TEST(Barriers, WarpsThatArriveAndWaitAtOneBarrierRunAbreast) {
    for (const uint64_t seed : {1, 2, 3, 4, 5}) {
        const Launched r =
            run("STS [R4], R6\n BAR.ARV 0x1, 0x40\n BAR.SYNC.DEFER_BLOCKING 0x1, 0x40\n"
                " LDS R10, [R5]",
                seed);
        ASSERT_EQ(r.status, LaunchStatus::ok);
        for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.out[i], (i ^ 32) + 100);
    }
}

TEST(Barriers, ArrivalsOfAPhaseMayAllBeOneWarps) {
    for (const uint64_t seed : {1, 2, 3, 4, 5}) {
        EXPECT_EQ(run("@P0 BRA `(E)\n BAR.ARV 0x1, 0x40\n BAR.ARV 0x1, 0x40\n BAR.ARV 0x1, 0x40\n"
                      " BAR.SYNC.DEFER_BLOCKING 0x1, 0x40",
                      seed)
                      .status,
                  LaunchStatus::ok);
        // What is missing is waited for as ever.
        EXPECT_EQ(run("@P0 BRA `(E)\n BAR.ARV 0x1, 0x40\n BAR.ARV 0x1, 0x40\n"
                      " BAR.SYNC.DEFER_BLOCKING 0x1, 0x40",
                      seed)
                      .status,
                  LaunchStatus::deadlock);
    }
}

// The ends that the plan of cubins/arrivals has no place for.
TEST(Barriers, EndAsTheChipsDo) {
    const auto end = [](const char* kernel) {
        auto gpu = Gpu::create({});
        auto module = load_module_file(SASSEMU_SOURCE_DIR "/cubins/arrivals/sm_90.cubin");
        EXPECT_TRUE(gpu.ok() && module.ok());
        LaunchRequest request;
        request.module = *(*gpu)->load(std::make_shared<const Module>(std::move(*module)));
        request.kernel = kernel;
        request.block = {128, 1, 1};
        const uint64_t buffer = *(*gpu)->allocate(24, "out");
        request.params.resize(8);
        std::memcpy(request.params.data(), &buffer, 8);
        auto result = (*gpu)->launch(request);
        EXPECT_TRUE(result.ok()) << result.error().what;
        return std::move(*result);
    };
    EXPECT_EQ(end("half_arrives_half_waits").status, LaunchStatus::deadlock);
    const LaunchResult mixed = end("arrive_and_reduce");
    ASSERT_EQ(mixed.status, LaunchStatus::fault);
    ASSERT_TRUE(mixed.fault);
    EXPECT_EQ(mixed.fault->kind, FaultKind::illegal_instruction);
    EXPECT_NE(mixed.fault->what.find("a reduction (BAR.RED) in a phase"), std::string::npos)
        << mixed.fault->what;
}

// A phase is over with its last arrival: what arrived in the one before does not count.
TEST(Barriers, AReductionMayFollowAPhaseOfArrivals) {
    for (const uint64_t seed : {1, 2, 3}) {
        const Launched r =
            run("BAR.ARV 0x1, 0x40\n BAR.SYNC.DEFER_BLOCKING 0x2, 0x40\n"
                " BAR.RED.POPC.DEFER_BLOCKING 0x1, 0x40, P0\n B2R.RESULT R10",
                seed);
        ASSERT_EQ(r.status, LaunchStatus::ok);
        for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.out[i], 32u);
    }
}

}  // namespace
}  // namespace sassemu
