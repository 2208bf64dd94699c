// SPDX-License-Identifier: Apache-2.0
// Kernels on the `caches` model: message passing between two CTAs on two SMs, within one, and with
// other clients. Each kernel is assembled from a text in which the barriers and the loads are
// filled in.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <span>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

// CTA 0 has the line, waits for the flag and reads the data; CTA 1 produces. {T} is the load of the
// data.
constexpr const char* message = R"(
.target sm_90
.kernel mp
    .param data 8
    .param flag 8
    .param out 8
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        MOV R4, c[0x0][flag]
        MOV R5, c[0x0][flag+4]
        MOV R6, c[0x0][out]
        MOV R7, c[0x0][out+4]
        MOV R11, 0x7
        MOV R12, 0x1
        S2R R0, SR_CTAID.X
        ISETP.NE.AND P0, PT, R0, RZ, PT
  @P0   BRA produce
        {BEFORE}
again:
        LDG.E.STRONG.SYS R9, desc[UR4][R4.64]
        ISETP.EQ.AND P1, PT, R9, RZ, PT
  @P1   BRA again
        {AGAINST}
        {READ}
        STG.E desc[UR4][R6.64], R10
        EXIT
produce:
        STG.E desc[UR4][R2.64], R11
        {MEMBAR}
        STG.E desc[UR4][R4.64], R12
        EXIT
)";

std::string fill(std::string text, const std::map<std::string, std::string>& parts) {
    for (const auto& [name, value] : parts) {
        const std::string mark = "{" + name + "}";
        for (size_t at; (at = text.find(mark)) != std::string::npos;)
            text.replace(at, mark.size(), value);
    }
    return text;
}

class Machine {
  public:
    Machine(const std::string& model, const std::string& text, uint64_t seed = 1) {
        GpuOptions options;
        options.model = model;
        options.seed = seed;
        auto gpu = Gpu::create(options);
        EXPECT_TRUE(gpu.ok()) << (gpu.ok() ? "" : gpu.error().message());
        if (!gpu.ok()) return;
        gpu_ = std::move(*gpu);
        std::vector<sass::Diagnostic> diagnostics;
        const auto assembled = sass::read_sass(text, "sm_90", diagnostics);
        for (const auto& d : diagnostics)
            ADD_FAILURE() << "line " << d.line << ": " << d.what << "; " << d.hint;
        if (!assembled) return;
        auto module = load_module(sass::write_cubin(*assembled), "test.sass");
        EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().message());
        auto id = gpu_->load(std::make_shared<const Module>(std::move(*module)));
        EXPECT_TRUE(id.ok());
        id_ = *id;
    }
    uint64_t buffer(uint64_t address = 0) {
        auto at = gpu_->allocate(4096, "buffer", address);
        EXPECT_TRUE(at.ok());
        return *at;
    }
    uint64_t symbol(const std::string& name) {
        const auto found = gpu_->symbol(id_, name);
        EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message());
        return found.ok() ? found->address : 0;
    }
    void set(uint64_t at, uint32_t v) {
        ASSERT_TRUE(gpu_->write(at, std::as_bytes(std::span(&v, 1))).ok());
    }
    uint32_t get(uint64_t at) {
        uint32_t v = 0;
        EXPECT_TRUE(gpu_->read(at, std::as_writable_bytes(std::span(&v, 1))).ok());
        return v;
    }
    LaunchResult run(const std::string& kernel, uint32_t grid, uint32_t block,
                     const std::vector<uint64_t>& arguments) {
        LaunchRequest r;
        r.module = id_;
        r.kernel = kernel;
        r.grid = {grid, 1, 1};
        r.block = {block, 1, 1};
        r.limits.seconds = 20;
        const auto bytes = std::as_bytes(std::span(arguments));
        r.params.assign(bytes.begin(), bytes.end());
        auto result = gpu_->launch(r);
        EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
        return result.ok() ? *result : LaunchResult{};
    }

  private:
    std::unique_ptr<Gpu> gpu_;
    ModuleId id_ = 0;
};

struct Message {
    std::string membar, against = "NOP", read = "LDG.E R10, desc[UR4][R2.64]",
                        before = "LDG.E R8, desc[UR4][R2.64]";
    std::string text() const {
        return fill(message,
                    {{"MEMBAR", membar}, {"AGAINST", against}, {"READ", read}, {"BEFORE", before}});
    }
};

// How many of `runs` runs read old data after the flag; the others read 7.
uint32_t stale_reads(Machine& machine, uint64_t data, uint64_t flag, uint64_t out, uint32_t runs) {
    uint32_t stale = 0;
    for (uint32_t i = 0; i < runs; ++i) {
        for (const uint64_t at : {data, flag, out}) machine.set(at, 0);
        const LaunchResult r = machine.run("mp", 2, 1, {data, flag, out});
        EXPECT_EQ(r.status, LaunchStatus::ok) << r.message;
        if (r.status != LaunchStatus::ok) return ~0u;
        const uint32_t got = machine.get(out);
        EXPECT_TRUE(got == 0 || got == 7) << got;
        EXPECT_EQ(machine.get(data), 7u);
        stale += got == 0;
    }
    return stale;
}

uint32_t stale_runs(const std::string& policy, const Message& m, uint32_t runs, uint64_t seed = 1) {
    Machine machine("caches:policy=" + policy, m.text(), seed);
    const uint64_t data = machine.buffer(), flag = machine.buffer(), out = machine.buffer();
    const uint32_t stale = stale_reads(machine, data, flag, out, runs);
    if (stale == ~0u) return stale;
    std::printf("%-12s %-16s | %-24s | %-34s %6u of %u stale\n", policy.c_str(), m.membar.c_str(),
                m.against.c_str(), m.read.c_str(), stale, runs);
    return stale;
}

constexpr const char* plain = "LDG.E R10, desc[UR4][R2.64]";
constexpr const char* past_l1 = "LDG.E.STRONG.SYS R10, desc[UR4][R2.64]";
constexpr const char* texture = "LDG.E.CONSTANT R10, desc[UR4][R2.64]";

TEST(Caches, AStaleLineShowsWithinAThousandAdversarialRuns) {
    EXPECT_GT(stale_runs("adversarial", {"MEMBAR.SC.GPU", "NOP", plain}, 1000), 0u);
    EXPECT_GT(stale_runs("random", {"MEMBAR.SC.GPU", "NOP", plain}, 1000), 0u);
}

// hierarchy_test exhausts the states of these; here the kernels themselves run.
TEST(Caches, FourWaysToReadFreshData) {
    constexpr uint32_t runs = 25000;
    EXPECT_EQ(stale_runs("random", {"MEMBAR.SC.GPU", "CCTL.E.IV [R2]", plain}, runs, 3), 0u);
    EXPECT_EQ(stale_runs("random", {"MEMBAR.SC.GPU", "CCTL.IVALL", plain}, runs, 4), 0u);
    EXPECT_EQ(stale_runs("random", {"MEMBAR.SC.GPU", "NOP", past_l1}, runs, 5), 0u);
    EXPECT_EQ(stale_runs("random", {"MEMBAR.SC.GPU", "MEMBAR.SC.CTA.IVALLD", plain}, runs, 6), 0u);
    for (const char* policy : {"lazy", "eager", "adversarial"}) {
        EXPECT_EQ(stale_runs(policy, {"MEMBAR.SC.GPU", "CCTL.E.IV [R2]", plain}, 100), 0u);
        EXPECT_EQ(stale_runs(policy, {"MEMBAR.SC.VC", "CCTL.IVALL", plain}, 100), 0u);
        EXPECT_EQ(stale_runs(policy, {"MEMBAR.SC.GPU", "NOP", past_l1}, 100), 0u);
        EXPECT_EQ(stale_runs(policy, {"MEMBAR.ALL.GPU", "MEMBAR.SC.CTA.IVALLD", plain}, 100), 0u);
    }
}

TEST(Caches, StrongLoadsOfNarrowScopeMayHitL1) {
    EXPECT_GT(stale_runs("adversarial",
                         {"MEMBAR.SC.GPU", "NOP", "LDG.E.STRONG.SM R10, desc[UR4][R2.64]"}, 200),
              0u);
    EXPECT_EQ(stale_runs("adversarial",
                         {"MEMBAR.SC.GPU", "NOP", "LDG.E.STRONG.GPU R10, desc[UR4][R2.64]"}, 200),
              0u);
}

TEST(Caches, TextureReadsNeedTheirOwnInvalidation) {
    const std::string before = "LDG.E.CONSTANT R8, desc[UR4][R2.64]";
    EXPECT_GT(stale_runs("adversarial", {"MEMBAR.SC.GPU", "NOP", texture, before}, 1000), 0u);
    EXPECT_GT(stale_runs("adversarial", {"MEMBAR.SC.GPU", "CCTL.IVALL", texture, before}, 200), 0u);
    EXPECT_GT(
        stale_runs("adversarial", {"MEMBAR.SC.GPU", "MEMBAR.SC.CTA.IVALLD", texture, before}, 200),
        0u);
    for (const char* policy : {"random", "adversarial"}) {
        EXPECT_EQ(
            stale_runs(policy, {"MEMBAR.SC.GPU", "MEMBAR.SC.CTA.IVALLT", texture, before}, 2000),
            0u);
        EXPECT_EQ(
            stale_runs(policy, {"MEMBAR.SC.GPU", "MEMBAR.SC.CTA.IVALLTD", texture, before}, 2000),
            0u);
    }
}

// ---- constants
// -----------------------------------------------------------------------------------------------------------------

// The data is a __constant__ variable: CTA 1 writes it through its global address, CTA 0 reads it
// as c[0x3][..].
constexpr const char* constants = R"(
.target sm_90
.constant other 16
.constant table 16
)";
uint32_t stale_constants(const std::string& policy, const std::string& before,
                         const std::string& against, const std::string& read, uint32_t runs) {
    const Message m{"MEMBAR.SC.GPU", against, read, before};
    std::string text = m.text();
    text.replace(text.find(".target sm_90\n"), 14, constants);
    Machine machine("caches:policy=" + policy, text, 9);
    const uint64_t data = machine.symbol("table"), flag = machine.buffer(), out = machine.buffer();
    EXPECT_EQ(data, machine.symbol("other") + 16);
    const uint32_t stale = stale_reads(machine, data, flag, out, runs);
    if (stale == ~0u) return stale;
    std::printf("%-12s %-24s | %-34s %6u of %u stale\n", policy.c_str(), against.c_str(),
                read.c_str(), stale, runs);
    return stale;
}

TEST(Caches, ConstantsNeedTheirOwnInvalidation) {
    const std::string read[] = {"LDC R10, c[0x3][0x10]", "ULDC UR6, c[0x3][0x10]\n MOV R10, UR6"};
    for (const std::string& load : read) {
        EXPECT_GT(stale_constants("adversarial", load, "NOP", load, 1000), 0u);
        EXPECT_GT(stale_constants("random", load, "NOP", load, 1000), 0u);
        EXPECT_GT(stale_constants("adversarial", load, "CCTL.IVALL", load, 200), 0u);
        EXPECT_GT(stale_constants("adversarial", load, "MEMBAR.SC.CTA.IVALLTD", load, 200), 0u);
        // CCTL.C.IV of one address is an illegal instruction on a chip (tests/hardware/generic).
        for (const char* policy : {"lazy", "eager", "random", "adversarial"})
            EXPECT_EQ(stale_constants(policy, load, "CCTL.C.IVALL", load, 1000), 0u);
    }
    // Both look into one cache; without a look before there is no copy.
    EXPECT_EQ(stale_constants("adversarial", "NOP", "NOP", read[0], 200), 0u);
    EXPECT_GT(stale_constants("adversarial", read[0], "NOP", read[1], 200), 0u);
}

TEST(Caches, WithoutABarrierTheFlagShowsBeforeTheData) {
    EXPECT_GT(stale_runs("adversarial", {"NOP", "NOP", past_l1}, 1000), 0u);
    EXPECT_GT(stale_runs("adversarial", {"MEMBAR.SC.SM", "NOP", past_l1}, 1000), 0u);
    EXPECT_GT(stale_runs("random", {"NOP", "NOP", past_l1}, 1000), 0u);
}

TEST(Caches, TheSameSeedGivesTheSameRun) {
    const Message m{"NOP", "NOP", past_l1};
    const uint32_t once = stale_runs("random", m, 500, 11),
                   again = stale_runs("random", m, 500, 11);
    EXPECT_EQ(once, again);
    EXPECT_NE(once, stale_runs("random", m, 500, 12));
}

// ---- other clients: a copy engine and the host take the data once they see the flag
// ------------------------------------

constexpr const char* producer = R"(
.target sm_90
.kernel produce
    .param data 8
    .param flag 8
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        MOV R4, c[0x0][flag]
        MOV R5, c[0x0][flag+4]
        MOV R11, 0x7
        MOV R12, 0x1
        STG.E desc[UR4][R2.64], R11
        {MEMBAR}
        STG.E desc[UR4][R4.64], R12
        EXIT
)";

uint32_t stale_copies(const std::string& policy, const std::string& client,
                      const std::string& membar, uint32_t runs) {
    constexpr uint64_t data = 0x7f0000000000, flag = 0x7f0000100000, out = 0x7f0000200000;
    const auto hex = [](uint64_t v) {
        char text[32];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
        return std::string(text);
    };
    Machine machine("caches:policy=" + policy + "," + client + "=" + hex(flag) + ":1:" + hex(data) +
                        ":" + hex(out) + ":4",
                    fill(producer, {{"MEMBAR", membar}}));
    for (const uint64_t at : {data, flag, out}) machine.buffer(at);
    uint32_t stale = 0;
    for (uint32_t i = 0; i < runs; ++i) {
        machine.set(data, 0);
        machine.set(flag, 0);
        machine.set(out, 99);
        EXPECT_EQ(machine.run("produce", 1, 1, {data, flag}).status, LaunchStatus::ok);
        const uint32_t got = machine.get(out);
        EXPECT_TRUE(got == 0 || got == 7) << got;
        stale += got == 0;
    }
    std::printf("%-12s %-6s %-16s %6u of %u stale\n", policy.c_str(), client.c_str(),
                membar.c_str(), stale, runs);
    return stale;
}

TEST(Caches, ACopyEngineNeedsMembarGl) {
    for (const char* client : {"ce", "fe"}) {
        EXPECT_GT(stale_copies("adversarial", client, "MEMBAR.SC.VC", 200), 0u);
        EXPECT_GT(stale_copies("random", client, "MEMBAR.SC.VC", 2000), 0u);
        EXPECT_EQ(stale_copies("adversarial", client, "MEMBAR.SC.GPU", 200), 0u);
        EXPECT_EQ(stale_copies("random", client, "MEMBAR.SC.GPU", 2000), 0u);
    }
}
TEST(Caches, TheHostNeedsMembarSys) {
    EXPECT_GT(stale_copies("adversarial", "host", "MEMBAR.SC.GPU", 200), 0u);
    EXPECT_GT(stale_copies("random", "host", "MEMBAR.SC.GPU", 2000), 0u);
    EXPECT_EQ(stale_copies("adversarial", "host", "MEMBAR.SC.SYS", 200), 0u);
    EXPECT_EQ(stale_copies("random", "host", "MEMBAR.SC.SYS", 2000), 0u);
}

// ---- within a CTA
// ---------------------------------------------------------------------------------------------------------

// Two warps: data in global memory, the flag in shared memory; with a CTA-level barrier, or a CTA
// barrier, the data is there.
constexpr const char* handover = R"(
.target sm_90
.kernel handover
    .param data 8
    .param out 8
    .shared 64
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        MOV R6, c[0x0][out]
        MOV R7, c[0x0][out+4]
        MOV R11, 0x7
        MOV R12, 0x1
        MOV R1, 0x400
        S2R R0, SR_TID.X
        ISETP.GE.AND P0, PT, R0, 0x20, PT
  @P0   BRA produce
        LDG.E R8, desc[UR4][R2.64]
        {WAIT}
        LDG.E R10, desc[UR4][R2.64]
        {LATER}
        STG.E desc[UR4][R6.64], R10
        EXIT
produce:
        STG.E desc[UR4][R2.64], R11
        {SIGNAL}
        EXIT
)";
constexpr const char* wait_shared =
    "again:\n LDS R9, [R1]\n ISETP.EQ.AND P1, PT, R9, RZ, PT\n @P1 BRA again";

uint32_t stale_handovers(const std::string& signal, const std::string& wait, uint32_t runs,
                         const std::string& later = "NOP") {
    Machine machine("caches:policy=random",
                    fill(handover, {{"SIGNAL", signal}, {"WAIT", wait}, {"LATER", later}}));
    const uint64_t data = machine.buffer(), out = machine.buffer();
    uint32_t stale = 0;
    for (uint32_t i = 0; i < runs; ++i) {
        machine.set(data, 0);
        const LaunchResult r = machine.run("handover", 1, 33, {data, out});
        EXPECT_EQ(r.status, LaunchStatus::ok) << r.message;
        if (r.status != LaunchStatus::ok) return ~0u;
        stale += machine.get(out) == 0;
    }
    std::printf("within a CTA: %-40s %6u of %u stale\n", signal.c_str(), stale, runs);
    return stale;
}

TEST(Caches, WithinACtaItsBarriersAreEnough) {
    EXPECT_GT(stale_handovers("STS [R1], R12", wait_shared, 1000), 0u);
    EXPECT_EQ(stale_handovers("MEMBAR.SC.CTA\n STS [R1], R12", wait_shared, 1000), 0u);
    EXPECT_EQ(stale_handovers("BAR.SYNC.DEFER_BLOCKING 0x0", "BAR.SYNC.DEFER_BLOCKING 0x0", 1000),
              0u);
}

// A copy that comes for its warp makes the warp's loads be performed: by the machine, too.
TEST(Caches, LoadsThatAreOutWhenACopyComesSeeWhatTheirCtaHasStored) {
    EXPECT_EQ(stale_handovers("BAR.SYNC.DEFER_BLOCKING 0x0",
                              "UMOV UR6, 0x1ffffe\n UMOV UR7, 0x7ffff800\n UMOV UR10, 0x400\n"
                              " SYNCS.EXCH.64 URZ, [UR10], UR6\n BAR.SYNC.DEFER_BLOCKING 0x0",
                              300,
                              "MOV R9, 0x10\n ISETP.EQ.AND P2, PT, R0, RZ, PT\n"
                              "@P2 SYNCS.ARRIVE.TRANS64 RZ, [UR10], R9\n"
                              " ULDC.64 UR6, c[0x0][out]\n UMOV UR8, 0x410\n UMOV UR9, 0x400\n"
                              " UMOV UR11, 0x1\n UBLKCP.S.G [UR8], [UR6], UR11\nagain:\n"
                              " SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR10], RZ\n @!P1 BRA again"),
              0u);
}

// A flag that nobody sets is a deadlock, not a hang, under every policy.
TEST(Caches, AFlagThatNobodySetsIsADeadlock) {
    const Message m{"MEMBAR.SC.GPU", "NOP", plain};
    for (const char* policy : {"lazy", "eager", "random", "adversarial"}) {
        Machine machine(std::string("caches:policy=") + policy, m.text());
        const uint64_t data = machine.buffer(), flag = machine.buffer(), out = machine.buffer();
        const LaunchResult r = machine.run("mp", 1, 1, {data, flag, out});
        EXPECT_EQ(r.status, LaunchStatus::deadlock) << policy << ": " << r.message;
    }
}

}  // namespace
}  // namespace sassemu
