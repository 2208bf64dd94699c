// SPDX-License-Identifier: Apache-2.0
// Code of a million instructions without a branch. Nothing gives way in it by itself, so limits and
// interrupts are asked about on the way (CodeImage::ask_with); what it computes stays what it is.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

constexpr uint32_t length = 1'000'000;

// Counts to `length` in R0, one addition a word, and stores that.
std::shared_ptr<const Module> counts(const char* arch) {
    std::vector<sass::Diagnostic> diagnostics;
    auto read = sass::read_sass(
        ".kernel k\n.param out 8\n LDC.64 R4, c[0x0][out]\n ULDC.64 UR4, c[0x0][0x208]\n"
        " MOV R0, RZ\n IADD3 R0, R0, 0x1, RZ\n STG.E desc[UR4][R4.64], R0\n EXIT\n",
        arch, diagnostics);
    if (!read || !diagnostics.empty()) return nullptr;
    auto& words = read->kernels[0].words;
    const auto addition = words[3];
    words.insert(words.begin() + 3, length - 1, addition);
    read->kernels[0].exits = {static_cast<uint32_t>((words.size() - 1) * 16)};
    auto module = load_module(sass::write_cubin(*read), "straight.cubin");
    return module ? std::make_shared<const Module>(std::move(*module)) : nullptr;
}

struct Way {
    const char* name;
    bool reference, checked;
    uint64_t most;
};

TEST(StraightCode, EndsAtALimitInTheMiddleAndElseComputesWhatItSays) {
    const auto module = counts("sm_90");
    ASSERT_TRUE(module);
    for (const Way& way : {Way{"plain", false, false, 0},
                           {"reference", true, false, 0},
                           {"checked", false, true, 0},
                           {"limited", false, false, length / 2 * 3}})
        for (const uint32_t threads : {32u, 20u}) {
            SCOPED_TRACE(std::string(way.name) + ", " + std::to_string(threads) + " threads");
            GpuOptions options;
            options.threads = 1;
            options.reference = way.reference;
            options.checked = way.checked;
            auto gpu = *Gpu::create(std::move(options));
            const auto id = gpu->load(module);
            ASSERT_TRUE(id);
            const uint64_t out = *gpu->allocate(4, "out");
            LaunchRequest request;
            request.module = *id;
            request.kernel = "k";
            request.block = {threads, 1, 1};
            request.limits.max_warp_instructions = way.most;
            request.params.resize(8);
            std::memcpy(request.params.data(), &out, 8);
            const auto whole = gpu->launch(request);
            ASSERT_TRUE(whole) << whole.error().message();
            EXPECT_EQ(whole->status, LaunchStatus::ok) << whole->message;
            EXPECT_EQ(whole->stats.warp_instructions, length + 5);
            uint32_t value = 0;
            ASSERT_TRUE(gpu->read(out, std::as_writable_bytes(std::span(&value, 1))).ok());
            EXPECT_EQ(value, length);
            // It has not come to its end by then: nothing is stored.
            value = 0;
            ASSERT_TRUE(gpu->write(out, std::as_bytes(std::span(&value, 1))).ok());
            request.limits.seconds = whole->stats.seconds / 4;
            const auto cut = gpu->launch(request);
            ASSERT_TRUE(cut) << cut.error().message();
            EXPECT_EQ(cut->status, LaunchStatus::limit) << cut->message;
            ASSERT_TRUE(gpu->read(out, std::as_writable_bytes(std::span(&value, 1))).ok());
            EXPECT_EQ(value, 0u);
        }
}

}  // namespace
}  // namespace sassemu
