// SPDX-License-Identifier: Apache-2.0
// What is said of an access outside of shared, local and constant memory: the offset, and what
// there is; not how far some buffer is away. A stack that is used up is told from an index.
#include <gtest/gtest.h>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

GuestFault fault_of(const std::string& body, const char* arch = "sm_90") {
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(
        ".kernel k\n.registers 16\n.shared 64\n.param out 8\n MOV R1, 0x100\n" + body + "\n EXIT\n",
        arch, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return {};
    }
    auto gpu = *Gpu::create({});
    auto module = load_module(sass::write_cubin(*read), "bounds.cubin");
    const auto id = gpu->load(std::make_shared<const Module>(std::move(*module)));
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.block = {1, 1, 1};
    request.dynamic_shared = 32;
    request.params.resize(8);
    (void)*gpu->allocate(64, "arg0");
    const auto result = gpu->launch(request);
    EXPECT_TRUE(result) << result.error().message();
    if (!result || !result->fault) return {};
    return *result->fault;
}

void expect(const std::string& body, FaultKind kind, const std::string& part,
            const char* arch = "sm_90") {
    const GuestFault fault = fault_of(body, arch);
    EXPECT_EQ(fault.kind, kind) << body << ": " << fault.what;
    EXPECT_NE(fault.what.find(part), std::string::npos) << body << ": " << fault.what;
    EXPECT_EQ(fault.what.find("arg0"), std::string::npos) << fault.what;
}

TEST(Bounds, OfSharedMemoryAreItsBytes) {
    constexpr auto bounds = FaultKind::out_of_bounds;
    const std::string sm_90 = "; it has 64 bytes static + 32 dynamic, at offsets 0x400 to 0x45f";
    expect(" MOV R4, 0x460\n STS [R4], RZ", bounds, "offset 0x460" + sm_90);
    expect(" MOV R4, 0xfffff0\n LDS R5, [R4]", bounds, "offset 0xfffff0" + sm_90);
    // By a generic address; on a chip before sm_90 nothing of it is the system's.
    expect(" MOV R4, 0x800\n MOV R5, 0x7ffe\n ST.E [R4.64+URZ], RZ", bounds,
           "offset 0x800" + sm_90);
    expect(" MOV R4, 0x60\n LDS R5, [R4]", bounds,
           "offset 0x60; it has 64 bytes static + 32 dynamic, at offsets 0x0 to 0x5f", "sm_80");
}

TEST(Bounds, OfLocalMemoryTellAnIndexFromAStackThatIsUsedUp) {
    expect(" MOV R4, 0x7ffff0\n STL [R4], RZ", FaultKind::out_of_bounds,
           "outside the thread's local memory: byte 0x7ffff0; a thread has ");
    expect(" MOV R4, 0xffffff00\n LDL R5, [R4]", FaultKind::out_of_bounds, "byte 0xffffff00");
    expect(" MOV R1, 0xffffff00\n STL [R1], RZ", FaultKind::stack_overflow,
           "the stack is used up; raise the stack limit");
    // Below the window of shared memory lies that of local memory.
    expect(" MOV R4, 0xfffffff0\n MOV R5, 0x7ffd\n ST.E [R4.64+URZ], RZ", FaultKind::out_of_bounds,
           "or 16 bytes before shared memory");
}

}  // namespace
}  // namespace sassemu
