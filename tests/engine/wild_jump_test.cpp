// SPDX-License-Identifier: Apache-2.0
// A guest's wild function pointer: a kernel jumps to every offset around its code, also to where
// the driver's services lie. Whatever it meets there, the launch ends with a result; a service that
// the module does not call is no code.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"
#include "emu/schedule/driver_functions.hpp"

namespace sassemu {
namespace {

constexpr const char* source =
    ".kernel before\n EXIT\n"
    ".kernel k\n.registers 32\n.param out 8\n.param to 8\n"
    " LDC.64 R4, c[0x0][out]\n LDC.64 R10, c[0x0][to]\n MOV R20, RZ\n MOV R21, RZ\n"
    " RET.REL.NODEC R10 0x0\n EXIT\n"
    ".kernel after\n EXIT\n";

void jump_everywhere(const char* arch, bool reference) {
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(source, arch, diagnostics);
    ASSERT_TRUE(read) << diagnostics.at(0).what;
    GpuOptions options;
    options.reference = reference;
    options.threads = 1;
    auto gpu = *Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "wild.cubin");
    ASSERT_TRUE(module) << module.error().message();
    const auto words = static_cast<int64_t>(module->code_image_size() / 16);
    const auto id = gpu->load(std::make_shared<const Module>(std::move(*module)));
    ASSERT_TRUE(id);
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.block = {2, 1, 1};
    request.limits.max_warp_instructions = 200;
    request.params.resize(16);
    const uint64_t out = *gpu->allocate(64, "out");
    std::memcpy(request.params.data(), &out, 8);
    const auto services = static_cast<int64_t>(DriverFunctions::table().size());
    int outside = 0;
    for (int64_t to = -words - 4; to < 2 * words + services + 4; ++to) {
        SCOPED_TRACE(to * 16);
        const int64_t bytes = to * 16;
        std::memcpy(request.params.data() + 8, &bytes, 8);
        const auto result = gpu->launch(request);
        ASSERT_TRUE(result) << result.error().message();
        ASSERT_NE(result->status, LaunchStatus::internal);
        if (result->status != LaunchStatus::fault) continue;
        ASSERT_FALSE(result->fault->report().empty());
        outside += result->fault->kind == FaultKind::invalid_pc;
    }
    EXPECT_GE(outside, services);
}

TEST(WildJump, EndsInAResultWhereverItGoes) {
    for (const char* arch : {"sm_75", "sm_90", "sm_100", "sm_120"}) {
        SCOPED_TRACE(arch);
        jump_everywhere(arch, false);
        jump_everywhere(arch, true);
    }
}

}  // namespace
}  // namespace sassemu
