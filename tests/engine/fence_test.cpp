// SPDX-License-Identifier: Apache-2.0
// What a memory model is told of barriers: MEMBAR.lvl.IVALL* of a .sass file is one fence that
// invalidates and orders, the same words without the mark are two. The model is the one that this
// program's make_model() hands to the engine.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/gpu.hpp"
#include "emu/memory/models.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

std::vector<std::string> events;  // of the launch that runs

std::string name(const Fence& fence) {
    constexpr const char* orderings[] = {"weak",    "relaxed", "acquire",  "release",
                                         "acq_rel", "sc",      "volatile", "mmio"};
    constexpr const char* scopes[] = {"none", "cta", "sm", "cluster", "vc", "gpu", "sys"};
    std::string text =
        std::string(orderings[size_t(fence.ordering)]) + "." + scopes[size_t(fence.scope)];
    if (fence.invalidate_data) text += "+data";
    if (fence.invalidate_texture) text += "+texture";
    return text;
}

class Recorder : public MemoryModel {
  public:
    std::string_view name() const override { return "recorder"; }
    PortAnswer issue(const Access& access, uint64_t) override {
        events.emplace_back(access.op == AccessOp::store ? "store" : "access");
        return PortAnswer::done;
    }
    PortAnswer fence(const Fence& fence) override {
        events.push_back(sassemu::name(fence));
        return PortAnswer::done;
    }
    uint64_t step(PortHost&, const void*) override { return 0; }
};

using Events = std::vector<std::string>;

// Runs `body` in one thread; R2 is the address of 512 bytes.
Events run(const std::string& body, bool reference = false) {
    events.clear();
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(
        ".target sm_90\n.kernel k\n.param data 8\n MOV R2, c[0x0][data]\n MOV R3, c[0x0][data+4]\n"
        " ISETP.NE.AND P0, PT, RZ, RZ, PT\n" +
            body + "\n EXIT\n",
        {}, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return {};
    }
    GpuOptions options;
    options.model = "delay";  // a built-in name, for which make_model() answers
    options.reference = reference;
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "fence.cubin");
    EXPECT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    auto buffer = (*gpu)->allocate(512, "data");
    EXPECT_TRUE(id.ok() && buffer.ok());
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.grid = request.block = {1, 1, 1};
    request.params.resize(8);
    std::memcpy(request.params.data(), &*buffer, 8);
    const auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result->status, LaunchStatus::ok);
    return events;
}

TEST(Fence, FusedIsOneEvent) {
    for (const bool reference : {false, true}) {
        EXPECT_EQ(run("MEMBAR.GL.IVALLD", reference), (Events{"sc.gpu+data"}));
        EXPECT_EQ(run("MEMBAR.SYS.IVALLT", reference), (Events{"sc.sys+texture"}));
        EXPECT_EQ(run("MEMBAR.CTA.IVALLTD", reference), (Events{"sc.cta+data+texture"}));
        EXPECT_EQ(run(".fused\nCCTL.IVALL\nMEMBAR.SC.VC", reference), (Events{"sc.vc+data"}));
    }
}

TEST(Fence, UnfusedAreTwo) {
    EXPECT_EQ(run("CCTL.IVALL\nMEMBAR.GPU"), (Events{"weak.none+data", "sc.gpu"}));
    EXPECT_EQ(run("CCTLT.IVALL\nCCTL.IVALL\nMEMBAR.SC.SYS"),
              (Events{"weak.none+texture", "weak.none+data", "sc.sys"}));
}

// An invalidation goes to its own barrier, not to a later one; where the guard is false nothing
// happens.
TEST(Fence, OnlyItsOwnBarrier) {
    EXPECT_EQ(run("MEMBAR.GL.IVALLD\nMEMBAR.SYS"), (Events{"sc.gpu+data", "sc.sys"}));
    EXPECT_EQ(run("@P0 MEMBAR.GL.IVALLTD\n@!P0 MEMBAR.SYS.IVALLD"), (Events{"sc.sys+data"}));
}

TEST(Fence, BetweenTheStoresOfThePage) {
    EXPECT_EQ(run("ST.E [R2] R6;\nMEMBAR.GL.IVALLD; ST.E [R2+0x100] R7;"),
              (Events{"store", "sc.gpu+data", "store"}));
}

}  // namespace

// Takes the place of the library's.
Result<std::unique_ptr<MemoryModel>> make_model(std::string_view, uint64_t) {
    return std::unique_ptr<MemoryModel>(std::make_unique<Recorder>());
}

}  // namespace sassemu
