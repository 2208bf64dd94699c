// Single words that compilers seldom or never emit so, run by the whole engine: what they leave in two registers.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

// `k` has 8 bytes of parameters and no bank 2 or 4; `wide` of the same module has a page of parameters.
constexpr const char* head =
    ".constant table 8\n"
    ".kernel wide\n.param out 8\n.param more 4000\n EXIT\n"
    ".kernel k\n.shared 64\n.param out 8\n LDC.64 R2, c[0x0][out]\n";

// What `body` leaves in R0 and R1.
using Pair = std::array<uint32_t, 2>;
Pair run(const std::string& body, bool reference, const char* arch = "sm_90") {
    Pair out{1, 1};
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(head + body + "\n STG.E.64 [R2.64+URZ], R0\n EXIT\n", arch, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return out;
    }
    GpuOptions options;
    options.reference = reference;
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "words.cubin");
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

// As LDC does on an H200; never the host's memory. By offset and by register, of banks that the kernel has and that it lacks.
TEST(Words, ConstantBanksReadZerosPastTheirEnd) {
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
            EXPECT_EQ(run(body, reference), (Pair{0, 0})) << body << (reference ? ", reference" : "");
}

TEST(Words, SyncsCasReplacesWhatItIsToldToExpect) {
    const std::string object = " UMOV UR10, 0x400\n UMOV UR6, 0x1ffffe\n UMOV UR7, 0x7ffff800\n SYNCS.EXCH.64 URZ, [UR10], UR6\n"
                               " UMOV UR12, 0x1ffffe\n UMOV UR13, 0x7ffff800\n UMOV UR14, 0x5\n UMOV UR15, 0x6\n";
    const std::string result = " SYNCS.CAS.64 UR8, [UR10], UR12, UR14\n SYNCS.LD.64 UR6, [UR10]\n MOV R0, UR8\n MOV R1, UR6\n";
    EXPECT_EQ(run(object + result, false), (Pair{0x1ffffe, 5}));
    EXPECT_EQ(run(object + " UMOV UR13, 0x1\n" + result, false), (Pair{0x1ffffe, 0x1ffffe}));
}

// The value of the one lane that executes; and back from where MOV.SPILL put a uniform register.
TEST(Words, UniformRegistersAreBroadcastAndFilled) {
    EXPECT_EQ(run(" MOV R4, 0x7\n ISETP.NE.AND P0, PT, R4, RZ, PT\n @P0 R2UR.BROADCAST UR8, R4\n UMOV UR9, 0x9\n MOV.SPILL R5, UR9\n"
                  " R2UR.FILL UR10, R5\n MOV R0, UR8\n MOV R1, UR10\n", false, "sm_100"),
              (Pair{7, 9}));
}

}  // namespace
}  // namespace sassemu
