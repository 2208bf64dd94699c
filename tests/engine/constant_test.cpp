// Constant operands beyond what the launch has of their bank read zeros (as LDC does on an H200), never
// the host's memory: by offset and by register, of banks that the kernel has and of those that it lacks.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

// `k` has 8 bytes of parameters and no bank 2 or 4; `wide` of the same module has a page of parameters.
constexpr const char* head =
    ".target sm_90\n.constant table 8\n"
    ".kernel wide\n.param out 8\n.param more 4000\n EXIT\n"
    ".kernel k\n.param out 8\n LDC.64 R2, c[0x0][out]\n ULDC.64 UR4, c[0x0][0x208]\n MOV R9, 0x10000\n";

// What `body` leaves in R0 and R1.
std::array<uint32_t, 2> run(const std::string& body, bool reference) {
    std::array<uint32_t, 2> out{1, 1};
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(head + body + "\n STG.E.64 desc[UR4][R2.64], R0\n EXIT\n", {}, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return out;
    }
    GpuOptions options;
    options.reference = reference;
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "constant.cubin");
    EXPECT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    const uint64_t buffer = *(*gpu)->allocate(8, "out");
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.params.resize(8);
    std::memcpy(request.params.data(), &buffer, 8);
    const auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok() && result->status == LaunchStatus::ok);
    EXPECT_TRUE((*gpu)->read(buffer, std::as_writable_bytes(std::span(out))));
    return out;
}

TEST(ConstantBanks, ReadZerosPastTheirEnd) {
    const char* bodies[] = {
        " MOV R0, c[0x0][0x4000]\n MOV R1, c[0x0][0x7ffc]",
        " MOV R0, c[0x2][0x0]\n MOV R1, c[0x2][0x4000]",
        " MOV R0, c[0x3][0x10]\n MOV R1, c[0x3][0x7ffc]",
        " MOV R0, c[0x4][0x0]\n MOV R1, c[0x4][0x8]",
        " MOV R0, RZ\n DADD R0, RZ, c[0x3][0x10]",
        " ULDC.64 UR6, c[0x0][0xfff8]\n MOV R0, UR6\n MOV R1, UR7",
        " ULDC.64 UR6, c[0x0][0x1ff0]\n MOV R0, UR6\n MOV R1, UR7",
        " MOV R8, 0x4000\n R2UR UR8, R8\n ULDC.64 UR6, c[0x0][UR8]\n MOV R0, UR6\n MOV R1, UR7",
        " MOV R8, 0x8\n R2UR UR8, R8\n ULDC.64 UR6, c[0x3][UR8]\n MOV R0, UR6\n MOV R1, UR7",
        " MOV R8, 0xfffffffc\n R2UR UR8, R8\n ULDC.64 UR6, c[0x0][UR8]\n MOV R0, UR6\n MOV R1, UR7",
        " MOV R8, 0x4000\n LDC.64 R0, c[0x0][R8]",
        " LDC.64 R0, c[0x2][0x0]",
    };
    for (const char* body : bodies)
        for (const bool reference : {false, true})
            EXPECT_EQ(run(body, reference), (std::array<uint32_t, 2>{0, 0})) << body << (reference ? ", reference" : "");
}

}  // namespace
}  // namespace sassemu
