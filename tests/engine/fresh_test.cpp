// SPDX-License-Identifier: Apache-2.0
// What a CTA finds in the state that only instructions of their own read: predicates, uniform
// registers, barriers, tensor memory. Every CTA leaves all of it dirty for the next, and none sees
// that. (Memory, which kernels of nvcc can read: state_test.cpp.)
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "emu/gpu.hpp"
#include "emu/machine/state_fill.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"
#include "emu/schedule/create_gpu.hpp"

namespace sassemu {
namespace {

constexpr uint32_t lanes = 128, ctas = 6;
// The words that a thread writes, in this order.
enum What {
    predicates,
    uniform_predicates,
    uniform,
    reg,
    join,
    barrier,
    tensor,
    shared,
    vote,
    count
};

constexpr const char* text =
    ".target sm_100a\n.kernel dirty\n.param out 8\n.shared 4096\n"
    // All that is read before anything but R0 to R4, R10 to R15 and UR4 to UR10 is written.
    " S2R R0, SR_TID.X\n S2R R1, SR_CTAID.X\n LDC.64 R2, c[0x0][out]\n LDCU.64 UR4, c[0x0][0x358]\n"
    " IMAD R4, R1, 0x480, R0\n IMAD.WIDE.U32 R2, R4, 0x4, R2\n SHF.L.U32 R6, R0, 0x2, RZ\n"
    " P2R R10, PR, RZ, 0x7f\n STG.E desc[UR4][R2.64], R10\n"
    " UP2UR UR10, UPR, URZ, 0x7f\n MOV R10, UR10\n STG.E desc[UR4][R2.64+0x200], R10\n"
    " MOV R10, UR20\n STG.E desc[UR4][R2.64+0x400], R10\n"
    " STG.E desc[UR4][R2.64+0x600], R100\n"
    " BMOV.32.CLEAR R10, B3\n STG.E desc[UR4][R2.64+0x800], R10\n"
    " B2R.RESULT R10\n STG.E desc[UR4][R2.64+0xa00], R10\n"
    " UMOV UR8, 0xffff\n UTCATOMSWS.OR URZ, UR8\n LOP3.LUT R5, R0, 0x60, RZ, 0xc0, !PT\n"
    " SHF.L.U32 R5, R5, 0x10, RZ\n R2UR UR9, R5\n LDTM R10, tmem[UR9+0x11]\n"
    " STG.E desc[UR4][R2.64+0xc00], R10\n LDS R10, [R6]\n STG.E desc[UR4][R2.64+0xe00], R10\n"
    " PLOP3.LUT P1, PT, PT, PT, UP1, 0xaa, 0x8\n P2R R10, PR, RZ, 0x2\n"
    " STG.E desc[UR4][R2.64+0x1000], R10\n"
    // Now it is made dirty.
    " MOV R100, 0x77\n STTM tmem[UR9+0x11], R100\n STS [R6], R100\n BMOV.32 B3, R100\n"
    " UMOV UR20, 0x77\n R2P PR, R100, 0x7f\n UISETP.EQ.U32.AND UP0, UPT, URZ, URZ, UPT\n"
    " UISETP.EQ.U32.AND UP5, UPT, URZ, URZ, UPT\n BAR.RED.POPC.DEFER_BLOCKING 0x3, PT\n"
    " ISETP.GE.U32.AND P0, PT, R0, 0x20, PT\n @P0 EXIT\n BAR.ARV 0x5, 0x40\n EXIT\n"
    // Two warps, each of which waits for the other at another barrier.
    ".kernel alone\n.param out 8\n S2R R0, SR_TID.X\n ISETP.GE.U32.AND P0, PT, R0, 0x20, PT\n"
    " LDC.64 R2, c[0x0][out]\n LDCU.64 UR4, c[0x0][0x358]\n @P0 BRA `(L)\n"
    " BAR.SYNC.DEFER_BLOCKING 0x5, 0x40\n STG.E desc[UR4][R2.64], R2\n EXIT\n"
    "L: BAR.SYNC.DEFER_BLOCKING 0x6, 0x40\n STG.E desc[UR4][R2.64], R2\n EXIT\n";

class Fresh : public ::testing::Test {
  protected:
    void begin(const std::string& fill, uint32_t threads) {
        GpuOptions options;
        options.threads = threads;
        auto gpu = create_gpu(std::move(options), nullptr, *StateFill::parse(fill));
        ASSERT_TRUE(gpu);
        gpu_ = std::move(*gpu);
        std::vector<sass::Diagnostic> diagnostics;
        const auto read = sass::read_sass(text, {}, diagnostics);
        ASSERT_TRUE(read) << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        auto module = load_module(sass::write_cubin(*read), "fresh.cubin");
        ASSERT_TRUE(module);
        id_ = *gpu_->load(std::make_shared<const Module>(std::move(*module)));
        out_ = *gpu_->allocate(ctas * count * lanes * 4, "out");
    }
    LaunchResult launch(const char* kernel, uint32_t grid, uint32_t block) {
        LaunchRequest request;
        request.module = id_;
        request.kernel = kernel;
        request.grid = {grid, 1, 1};
        request.block = {block, 1, 1};
        request.limits.max_warp_instructions = 1'000'000;
        request.params.resize(8);
        std::memcpy(request.params.data(), &out_, 8);
        auto result = gpu_->launch(request);
        EXPECT_TRUE(result) << result.error().message();
        return std::move(*result);
    }
    // What the CTAs of one launch found.
    std::vector<uint32_t> found() {
        const LaunchResult r = launch("dirty", ctas, lanes);
        EXPECT_EQ(r.status, LaunchStatus::ok)
            << r.message << (r.fault ? r.fault->report() : std::string());
        std::vector<uint32_t> out(ctas * count * lanes);
        EXPECT_TRUE(gpu_->read(out_, std::as_writable_bytes(std::span(out))));
        return out;
    }

    std::unique_ptr<Gpu> gpu_;
    ModuleId id_ = 0;
    uint64_t out_ = 0;
};

uint32_t at(const std::vector<uint32_t>& out, uint32_t cta, What what, uint32_t thread) {
    return out[(cta * count + what) * lanes + thread];
}

TEST_F(Fresh, IsZerosInEveryCtaAndLaunch) {
    for (const uint32_t threads : {1u, 2u}) {
        begin("zeros", threads);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(found(), std::vector<uint32_t>(ctas * count * lanes));
        // A barrier at which a CTA has left somebody's arrival, too.
        EXPECT_EQ(launch("alone", 1, 64).status, LaunchStatus::deadlock);
        uint32_t word = 1;
        EXPECT_TRUE(gpu_->read(out_, std::as_writable_bytes(std::span(&word, 1))));
        EXPECT_EQ(word, 0u);
    }
}

TEST_F(Fresh, IsThePatternOfAFill) {
    begin("0xcd", 1);
    for (int i = 0; i < 2; ++i) {
        const auto out = found();
        for (uint32_t cta = 0; cta < ctas; ++cta)
            for (uint32_t t = 0; t < lanes; ++t) {
                const bool set = 0xcdcdcdcdu >> t % 32 & 1;
                std::array<uint32_t, count> want;
                want.fill(0xcdcdcdcd);
                want[predicates] = set ? 0x7f : 0;
                want[uniform_predicates] = 0x7f;  // of the whole warp: lowest bit of the pattern
                want[join] = want[barrier] = 0;
                want[vote] = 2;
                for (uint32_t what = 0; what < count; ++what)
                    ASSERT_EQ(at(out, cta, static_cast<What>(what), t), want[what])
                        << what << " of thread " << t << " of CTA " << cta;
            }
    }
}

TEST_F(Fresh, IsTheSameInEveryRunAndCta) {
    begin("random:5", 1);
    const auto first = found();
    for (const uint32_t threads : {1u, 2u}) {
        begin("random:5", threads);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(found(), first);
    }
    for (uint32_t cta = 1; cta < ctas; ++cta)
        EXPECT_TRUE(std::equal(first.begin(), first.begin() + count * lanes,
                               first.begin() + cta * count * lanes))
            << cta;
    begin("random:6", 1);
    const auto other = found();
    for (const What what : {predicates, uniform, reg, tensor, shared})
        EXPECT_NE(at(first, 0, what, 1), at(other, 0, what, 1)) << what;
    // A uniform predicate has one value in a warp.
    for (uint32_t t = 1; t < lanes; ++t)
        for (const What what : {uniform_predicates, vote})
            EXPECT_EQ(at(first, 0, what, t), at(first, 0, what, 0));
}

}  // namespace
}  // namespace sassemu
