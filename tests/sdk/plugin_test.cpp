// SPDX-License-Identifier: Apache-2.0
// What plugins are told, and what they may change: kernels from .sass texts, events as the recorder
// prints them; and what a model that does nothing costs.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "machine.hpp"

namespace sassemu {
namespace {

constexpr const char* some_of_everything = R"(
.target sm_90
.kernel k
    .param data 8
    .shared 256
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        S2R R0, SR_TID.X
        SHF.L.U32 R1, R0, 0x2, RZ
        IADD3 R1, R1, 0x400, RZ
        LDG.E.STRONG.GPU R4, desc[UR4][R2.64]
        STS [R1], R4
        BAR.SYNC.DEFER_BLOCKING 0x0
        LDS R5, [R1]
        MOV R6, 0x5
        ATOMG.E.ADD.STRONG.GPU PT, R7, desc[UR4][R2.64+0x10], R6
        MEMBAR.SC.GPU
        CCTL.IVALL
        STG.E desc[UR4][R2.64+0x20], R5
        WARPSYNC.ALL
        EXIT
)";

TEST(Plugins, ObserversAreToldInOrder) {
    Machine m(some_of_everything, {own("recorder")});
    const uint64_t data = m.buffer();
    m.set(data, 0x1234);
    m.out.clear();
    ASSERT_EQ(m.run(1, 32, {data}).status, LaunchStatus::ok);
    m.hooks().finish();
    const std::string order = m.lines("");
    const auto before = [&](const char* a, const char* b) {
        EXPECT_NE(order.find(a), std::string::npos) << a << " in\n" << order;
        EXPECT_NE(order.find(b), std::string::npos) << b << " in\n" << order;
        EXPECT_LT(order.find(a), order.find(b)) << order;
    };
    before("launch k grid=1 block=32 id=1", "cta 0 begins");
    before("cta 0 begins", "before 0.0 ffffffff IADD3 R1, R1, 0x400, RZ");
    before("before 0.0 ffffffff IADD3", "after 0.0 ffffffff IADD3");
    before("after 0.0", "issue 0.0 op=0 space=0 proxy=0 order=1 scope=5 bytes=4 lanes=ffffffff");
    before("issue 0.0 op=0",
           "access 0.0 op=0 space=0 proxy=0 order=1 scope=5 bytes=4 lanes=ffffffff");
    before("access 0.0 op=0", "access 0.0 op=1 space=1");
    before("access 0.0 op=1 space=1", "sync 0.0 kind=0 ");  // arrives at the barrier
    before("sync 0.0 kind=0 ", "sync - kind=1 ");           // it completes
    before("sync - kind=1 ", "access 0.0 op=0 space=1");
    before("access 0.0 op=0 space=1", "access 0.0 op=2 space=0");
    before("access 0.0 op=2 space=0", "fence 0.0 order=5 scope=5");
    before("fence 0.0 order=5 scope=5", "cache 0.0 cache=0 action=1");
    before("cache 0.0 cache=0 action=1", "access 0.0 op=1 space=0");
    before("access 0.0 op=1 space=0", "sync 0.0 kind=5 lanes=ffffffff");  // the warp joins
    before("sync 0.0 kind=5 ", "sync 0.0 kind=15 lanes=ffffffff");        // it exits
    before("sync 0.0 kind=15 ", "cta 0 ends");
    before("cta 0 ends", "end ok");
    before("end ok", "finish");
    // Values: what was loaded, stored, and what an atomic found.
    EXPECT_NE(order.find("lanes=ffffffff at=0:0:"), std::string::npos);
    EXPECT_NE(m.lines("access 0.0 op=0 space=0").find("value=1234"), std::string::npos);
    EXPECT_NE(m.lines("access 0.0 op=1 space=0").find("value=1234"), std::string::npos);
    EXPECT_NE(m.lines("access 0.0 op=2").find("value=5 result=0"), std::string::npos);
    EXPECT_NE(m.lines("access 0.0 op=1 space=1").find("at=1:0:400"), std::string::npos);
    EXPECT_NE(m.lines("sync - kind=1 ").find("joined=ffffffff"), std::string::npos);
}

TEST(Plugins, WhatAnObserverSeesIsTheSameUnderTheReference) {
    std::string traces[2];
    for (const bool reference : {false, true}) {
        GpuOptions options;
        options.reference = reference;
        options.deterministic = true;
        Machine m(some_of_everything, {own("recorder")}, "flat", options);
        const uint64_t data = m.buffer();
        ASSERT_EQ(m.run(2, 64, {data}).status, LaunchStatus::ok);
        traces[reference] = m.out;
    }
    EXPECT_EQ(traces[0], traces[1]);
}

TEST(Plugins, AFaultIsTold) {
    Machine m(some_of_everything, {own("recorder")});
    EXPECT_EQ(m.run(1, 32, {0x1000}).status, LaunchStatus::fault);
    EXPECT_NE(m.out.find("fault out-of-bounds LDG"), std::string::npos) << m.out;
    EXPECT_NE(m.out.find("end fault"), std::string::npos);
}

constexpr const char* copy_past_registers = R"(
.target sm_90
.kernel k
    .param data 8
    .shared 256
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        MOV R1, 0x400
        LDGSTS.E [R1], desc[UR4][R2.64]
        LDGDEPBAR &wr=0
        STS [R1+0x10], R1
        DEPBAR.LE SB0, 0x0
        LDS R5, [R1]
        STG.E desc[UR4][R2.64+0x4], R5
        EXIT
)";

TEST(Plugins, ACopyIsToldWhenItIsIssuedAndWhenItIsPerformed) {
    for (const AgentOrder agents : {AgentOrder::eager, AgentOrder::lazy}) {
        GpuOptions options;
        options.agents = agents;
        Machine m(copy_past_registers, {own("recorder")}, "flat", options);
        const uint64_t data = m.buffer();
        m.set(data, 0x1234);
        m.out.clear();
        ASSERT_EQ(m.run(1, 1, {data}).status, LaunchStatus::ok);
        EXPECT_EQ(m.get(data + 4), 0x1234u);
        // In this order; the store between issue and performance comes before or after it.
        const std::string_view steps[] = {
            "async 0.0 step=0 kind=3 proxy=0 id=1 ",
            "issue 0.0 op=0 space=0 proxy=0 order=0 scope=0 bytes=4 lanes=00000001",
            "issue 0.0 op=1 space=1 proxy=0 order=0 scope=0 bytes=4 lanes=00000001",
            "access 0.0 op=0 space=0 proxy=0 order=0 scope=0 bytes=4 lanes=00000001 at=0:0:0 "
            "value=1234",
            "access 0.0 op=1 space=1 proxy=0 order=0 scope=0 bytes=4 lanes=00000001 at=1:0:400 "
            "value=1234",
            "async 0.0 step=3 kind=3 proxy=0 id=1 ",
            "sync 0.0 kind=14 ",  // the wait for its group is over
        };
        size_t at = 0;
        for (const std::string_view step : steps) {
            const size_t next = m.out.find(step, at);
            ASSERT_NE(next, std::string::npos) << step << "\nin this order in\n" << m.out;
            at = next + 1;
        }
        const size_t store = m.out.find("at=1:0:410"), done = m.out.find("async 0.0 step=3");
        EXPECT_EQ(store > done, agents == AgentOrder::eager) << m.out;
    }
}

constexpr const char* tensor_unit = R"(
.target sm_100a
.kernel k
    .shared 1024
        S2R R0, SR_TID.X
        UMOV UR10, 0x500
        UMOV UR6, 0x1ffffe
        UMOV UR7, 0x7ffff800
        SYNCS.EXCH.64 URZ, [UR10], UR6
        UMOV UR8, 0xffff
        UTCATOMSWS.OR URZ, UR8
        STTM.x2 tmem[URZ+0x21], R0
        LDTM.16dp64bit R4, tmem[URZ+0x100022]
        UMOV UR12, 0x40
        UMOV UR13, 0x4008
        UTCCP.T.S.4x32dp128bit tmem[URZ+0x40], gdesc[UR12]
        UTCBAR [UR10], URZ
        UMOV UR9, 0x1
        EXIT
)";

// Loads and stores of tensor memory are operations of their own, over at once; what the tensor core
// does is told when it is issued and when it is performed, and the object of a commit before that
// is complete.
TEST(Plugins, TheTensorUnitIsToldOf) {
    for (const AgentOrder agents : {AgentOrder::eager, AgentOrder::lazy}) {
        GpuOptions options;
        options.agents = agents;
        Machine m(tensor_unit, {own("recorder")}, "flat", options);
        m.out.clear();
        ASSERT_EQ(m.run(1, 32, {}).status, LaunchStatus::ok);
        EXPECT_EQ(m.lines("async 0.0 step=0 "),
                  "async 0.0 step=0 kind=2 proxy=4 id=1 at=0:0:0 bytes=0 lanes=ffffffff group=-1 "
                  "object=0:0\n"
                  "async 0.0 step=0 kind=2 proxy=4 id=2 at=0:0:0 bytes=0 lanes=ffffffff group=-1 "
                  "object=0:0\n"
                  "async 0.0 step=0 kind=2 proxy=4 id=3 at=0:0:0 bytes=0 lanes=ffffffff group=-1 "
                  "object=0:0\n"
                  "async 0.0 step=0 kind=2 proxy=4 id=4 at=0:0:0 bytes=0 lanes=ffffffff group=-1 "
                  "object=1:500\n");
        // Each range twice: as it will be, and as it was. Rows are 2048 bytes apart, columns 4.
        for (const auto& [will, did, id, first, bytes, rows] :
             {std::tuple{5, 2, 1, 0x84u, 8u, 32u}, std::tuple{4, 1, 2, 16 * 0x800 + 0x88u, 8u, 16u},
              std::tuple{5, 2, 3, 0x100u, 16u, 128u}})
            for (uint32_t row = 0; row < rows; ++row)
                for (const int step : {will, did}) {
                    char text[160];
                    std::snprintf(text, sizeof text,
                                  "async 0.0 step=%d kind=2 proxy=4 id=%d at=7:0:%x bytes=%u "
                                  "lanes=ffffffff group=-1 object=0:0",
                                  step, id, first + row * 0x800, bytes);
                    EXPECT_EQ(m.lines(text), std::string(text) + "\n");
                }
        EXPECT_NE(m.lines("async 0.0 step=4 kind=2 proxy=4 id=3 at=1:0:400 "), "")
            << "the source of the copy";
        const auto at = [&](const char* text) {
            const size_t found = m.out.find(text);
            EXPECT_NE(found, std::string::npos) << text;
            return found;
        };
        const size_t stored = at("step=3 kind=2 proxy=4 id=1 "),
                     loaded = at("step=0 kind=2 proxy=4 id=2 ");
        EXPECT_LT(stored, loaded);
        const size_t committed = at("step=0 kind=2 proxy=4 id=4 "),
                     copied = at("step=3 kind=2 proxy=4 id=3 ");
        EXPECT_EQ(committed < copied, agents == AgentOrder::lazy);
        const size_t arrival = at("sync 0.0 kind=7 "), done = at("step=3 kind=2 proxy=4 id=4 ");
        EXPECT_LT(copied, arrival);
        EXPECT_LT(arrival, done);
    }
}

constexpr const char* reciprocal = R"(
.target sm_90
.kernel k
    .param data 8
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        LDG.E R4, desc[UR4][R2.64]
        MUFU.RCP R5, -R4
        STG.E desc[UR4][R2.64+0x4], R5
        EXIT
)";

TEST(Plugins, AnInstructionMayHaveOwnSemantics) {
    Machine m(reciprocal, {own("handler_override")});
    const uint64_t data = m.buffer();
    m.set(data, std::bit_cast<uint32_t>(3.0f));
    ASSERT_EQ(m.run(1, 1, {data}).status, LaunchStatus::ok);
    EXPECT_EQ(m.get(data + 4), std::bit_cast<uint32_t>(-1.0f / 3.0f));
    m.hooks().finish();
    EXPECT_NE(m.out.find("stood in for 1 instruction"), std::string::npos);
}

// A loop of loads and stores, to compare a model that does nothing with the flat one, which is
// inlined.
constexpr const char* copies = R"(
.target sm_90
.kernel k
    .param data 8
    .param count 8
        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][data]
        MOV R3, c[0x0][data+4]
        MOV R6, c[0x0][count]
        S2R R0, SR_TID.X
        IMAD.WIDE R2, R0, 0x4, R2
again:
        LDG.E R4, desc[UR4][R2.64]
        STG.E desc[UR4][R2.64+0x80], R4
        LDG.E R5, desc[UR4][R2.64+0x80]
        STG.E desc[UR4][R2.64+0x100], R5
        LDG.E R4, desc[UR4][R2.64+0x100]
        STG.E desc[UR4][R2.64], R4
        IADD3 R6, R6, -0x1, RZ
        ISETP.GT.AND P0, PT, R6, RZ, PT
  @P0   BRA again
        EXIT
)";

double seconds_of(Machine& m, uint64_t data, uint64_t count) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(m.run(1, 32, {data, count}).status, LaunchStatus::ok);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Plugins, AModelThatDoesNothingCostsLittle) {
    Machine flat(copies, {}), nothing(copies, {}, own("nothing"));
    const uint64_t a = flat.buffer(), b = nothing.buffer();
    constexpr uint64_t rounds = 20000, accesses = 6 * rounds;
    double best_flat = 1e9, best_nothing = 1e9;
    for (int i = 0; i < 100;
         ++i) {  // in turns, so that both meet the same machine; until it is quiet
        if (i >= 20 && (best_nothing - best_flat) * 1e9 / accesses < 8) break;
        best_flat = std::min(best_flat, seconds_of(flat, a, rounds));
        best_nothing = std::min(best_nothing, seconds_of(nothing, b, rounds));
    }
    const double flat_ns = best_flat * 1e9 / accesses, nothing_ns = best_nothing * 1e9 / accesses;
    std::printf(
        "per warp access: flat %.2f ns, a model that does nothing %.2f ns, difference %.2f ns\n",
        flat_ns, nothing_ns, nothing_ns - flat_ns);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    // The aim is 10 ns on a quiet machine (SASSEMU_QUIET_MACHINE=1 holds it to that); elsewhere
    // only what is wrong by far.
    EXPECT_LE(nothing_ns - flat_ns, std::getenv("SASSEMU_QUIET_MACHINE") ? 10.0 : 150.0);
#endif
}

TEST(Plugins, SpecsAreRead) {
    auto s = parse_plugin_spec("./a:b.so:x=1,y=2:3");
    ASSERT_TRUE(s.ok());
    EXPECT_EQ(s->name, "./a:b.so");
    EXPECT_TRUE(s->is_file);
    ASSERT_EQ(s->options.size(), 2u);
    EXPECT_EQ(s->options[1].second, "2:3");
    s = parse_plugin_spec("check-sync:json=out/x.software.json,sarif=a,b.so");
    ASSERT_TRUE(s.ok());
    EXPECT_EQ(s->name, "check-sync");
    ASSERT_EQ(s->options.size(), 2u);
    EXPECT_EQ(s->options[0].second, "out/x.software.json");
    EXPECT_EQ(s->options[1].second, "a,b.so");
    s = parse_plugin_spec("dir:1/model.so");
    EXPECT_TRUE(s.ok() && s->is_file && s->name == "dir:1/model.so");
    EXPECT_TRUE(parse_plugin_spec("caches").ok());
    EXPECT_TRUE(parse_plugin_spec("caches:").ok());
    for (const char* bad : {"", ":x=1", "caches:x", "caches:=1", "caches:a=1,"})
        EXPECT_EQ(parse_plugin_spec(bad).ok(), std::string_view(bad) == "caches:a=1,") << bad;
}

}  // namespace
}  // namespace sassemu
