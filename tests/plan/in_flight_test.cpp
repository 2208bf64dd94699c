// SPDX-License-Identifier: Apache-2.0
// Plans with several things in flight (emu/plan/in_flight.hpp), on the engine; and what their
// reader refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "emu/plan/report.hpp"
#include "emu/plan/run_plan.hpp"

namespace sassemu::plan {
namespace {

const std::string folder = SASSEMU_SOURCE_DIR "/cubins/flight/";

std::vector<GpuOptions> kinds() {
    std::vector<GpuOptions> all(5);
    all[0].threads = 1;
    all[1].threads = 3;
    all[2].deterministic = true;
    all[3].seed = 5;
    all[4].seed = uint64_t{2} << 56 | 3;
    return all;
}

Result<RunReport> run_text(const std::string& text, const GpuOptions& gpu) {
    auto plan = read_plan(text, folder + "test.json");
    if (!plan) return plan.error();
    RunOptions options;
    options.gpu = gpu;
    return run_plan(*plan, options);
}

std::string text_of(const std::string& name) {
    std::ifstream in(folder + name);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(InFlight, ThePlansOfTheFolderEndAsTheySay) {
    for (const char* name : {"two_gpus.json", "doorbell.json", "streams.json"})
        for (const GpuOptions& gpu : kinds()) {
            const auto report = run_text(text_of(name), gpu);
            ASSERT_TRUE(report) << name << ": " << report.error().message();
            EXPECT_EQ(report->exit_code(), 0) << name << "\n" << report_text(*report);
        }
}

// What two GPUs with NVLink gave, or what follows from the program: tests/hardware/two_gpus.py.
TEST(InFlight, PlansOfTwoGpusEndAsOnTwoGpus) {
    for (const char* name :
         {"two_gpus/all_reduce", "two_gpus/bulk", "two_gpus/count", "two_gpus/count_host",
          "two_gpus/halo", "two_gpus/queue", "two_gpus/streams", "two_gpus/message_sys",
          "two_gpus/stores_fenced", "multimem/all_reduce"})
        for (const GpuOptions& gpu : kinds()) {
            const auto plan =
                read_plan_file(std::string(SASSEMU_SOURCE_DIR "/cubins/") + name + ".json");
            ASSERT_TRUE(plan) << plan.error().message();
            RunOptions options;
            options.gpu = gpu;
            const auto report = run_plan(*plan, options);
            ASSERT_TRUE(report) << name << ": " << report.error().message();
            EXPECT_EQ(report->exit_code(), 0) << name << "\n" << report_text(*report);
        }
}

TEST(InFlight, StepsOfTheHostAreReported) {
    const auto report = run_text(text_of("doorbell.json"), kinds()[2]);
    ASSERT_TRUE(report) << report.error().message();
    const auto has = [&](const std::string& note) {
        return std::ranges::count(report->notes, note) == 1;
    };
    EXPECT_TRUE(has("host[9]: read of 'answer' at 0: 63")) << report_text(*report);
    EXPECT_TRUE(has("host[1]: atomic of 'bell' at 0: 0")) << report_text(*report);
}

// A check that is not met is a difference; so is the end of what it belongs to.
TEST(InFlight, ACheckThatFailsIsADifference) {
    std::string text = text_of("doorbell.json");
    const auto at = text.find("\"check\"");
    text.replace(text.find("[15]", at), 4, "[16]");
    const auto report = run_text(text, kinds()[2]);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->exit_code(), 1) << report_text(*report);
    EXPECT_NE(report_text(*report).find("host[3]: check of 'answer'"), std::string::npos)
        << report_text(*report);
}

// Each GPU that launches has globals of its own; the second launch leaves other ones.
TEST(InFlight, GlobalsAreComparedOnEveryGpuThatLaunches) {
    const auto plan = [](const std::string& second, const std::string& n) {
        const auto launch = [](const std::string& gpu, const std::string& count) {
            return R"({"kernel": "constant_table", "grid": [8], "block": [128], "gpu": )" + gpu +
                   R"(, "args": [{"buffer": "x"}, {"buffer": "out"}, {"buffer": "weighted"},
                   {"i32": )" +
                   count + "}]}";
        };
        return R"({"arch": "sm_90", "module": "../constant_table/{arch}.cubin", "gpus": 3,
            "buffers": {"x": {"bytes": 4000, "kind": "host", "random": {"type": "i32", "seed": 62}},
              "out": {"bytes": 4000, "kind": "host"}, "weighted": {"bytes": 8000, "kind": "host"}},
            "globals": {"given": {"random": {"type": "i32", "seed": 63}},
              "state": {"expect": {"file": "../constant_table/state.expected.bin"}}},
            "launches": [)" +
               launch("0", "1000") + "," + launch(second, n) + "]}";
    };
    const auto same = run_text(plan("2", "1000"), kinds()[2]);
    ASSERT_TRUE(same) << same.error().message();
    EXPECT_EQ(same->exit_code(), 0) << report_text(*same);
    ASSERT_EQ(same->comparisons.size(), 2u) << report_text(*same);  // GPU 1 has launched nothing
    EXPECT_EQ(same->comparisons[1].name, "state of GPU 2");
    const auto other = run_text(plan("2", "3"), kinds()[2]);
    ASSERT_TRUE(other) << other.error().message();
    EXPECT_EQ(other->exit_code(), 1) << report_text(*other);
    EXPECT_TRUE(other->comparisons[0].equal());
    EXPECT_FALSE(other->comparisons[1].equal());
}

TEST(InFlight, ADeadlockNamesGridsGpusStreamsAndTheHost) {
    const std::string text = R"({"arch": "sm_90", "module": "{arch}.cubin", "gpus": 2,
        "streams": {"left": {}, "right": {"gpu": 1}},
        "buffers": {"flag": {"bytes": 4, "kind": "host"}, "seen": {"bytes": 4, "kind": "host"}},
        "launches": [
          {"kernel": "await", "stream": "left", "grid": [1], "block": [1],
           "args": [{"buffer": "flag"}, {"i32": 1}, {"buffer": "seen"}]},
          {"kernel": "await", "stream": "right", "grid": [1], "block": [1],
           "args": [{"buffer": "flag"}, {"i32": 2}, {"buffer": "seen"}]},
          {"kernel": "store", "stream": "right", "grid": [1], "block": [1],
           "args": [{"buffer": "flag"}, {"i32": 2}]}],
        "host": [{"waitUntil": {"buffer": "seen", "test": "!=", "value": 0}}],
        "expect": {"status": "deadlock"}})";
    for (const GpuOptions& gpu : kinds()) {
        const auto report = run_text(text, gpu);
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(report->exit_code(), 0) << report_text(*report);
        const std::string said = report_text(*report);
        for (const char* part : {"on GPU 0, stream 'left'", "on GPU 1, stream 'right'",
                                 "the host waits until", "not run", "host[0]: waitUntil"})
            EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
        EXPECT_EQ(report->launches[2].status, LaunchStatus::not_run);
    }
}

TEST(InFlight, LimitsHoldForAllThatIsInFlight) {
    const std::string text = R"({"arch": "sm_90", "module": "{arch}.cubin", "gpus": 2,
        "maxWarpInstructions": 5000,
        "buffers": {"n": {"bytes": 4, "kind": "host"}, "book": {"bytes": 40000, "kind": "host"},
                    "sink": {"bytes": 128, "kind": "host"}},
        "launches": [
          {"kernel": "sign_often", "gpu": 0, "grid": [1], "block": [32], "args": [{"buffer": "n"},
           {"buffer": "book"}, {"i32": 1}, {"i32": 500}, {"i32": 50}, {"buffer": "sink"}]},
          {"kernel": "sign_often", "gpu": 1, "grid": [1], "block": [32], "args": [{"buffer": "n"},
           {"buffer": "book"}, {"i32": 1}, {"i32": 500}, {"i32": 50}, {"buffer": "sink"}]}]})";
    for (const GpuOptions& gpu : kinds()) {
        const auto report = run_text(text, gpu);
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(report->exit_code(), 4) << report_text(*report);
        EXPECT_EQ(report->total.warp_instructions, 5000u) << report_text(*report);
    }
}

TEST(InFlight, ModelsThatPlugInAreRefusedByName) {
    GpuOptions gpu;
    gpu.model = "nvshmem";
    const auto report = run_text(text_of("doorbell.json"), gpu);
    ASSERT_FALSE(report);  // without the plugin: that it is not there
    EXPECT_NE(report.error().message().find("nvshmem"), std::string::npos);
}

TEST(InFlight, WhatIsWrongIsNamedInALine) {
    const auto refused = [](const std::string& fields, const std::string& launch,
                            const char* part) {
        const std::string text = R"({"module": "sm_90.cubin", "buffers": {"b": {"bytes": 8}})" +
                                 fields + R"(, "launches": [{)" + launch + "}]}";
        const auto plan = read_plan(text, "p.json");
        ASSERT_FALSE(plan) << text;
        const std::string said = plan.error().message();
        EXPECT_NE(said.find(part), std::string::npos) << said;
        EXPECT_EQ(said.find('\n'), std::string::npos) << said;
        EXPECT_EQ(said.rfind("p.json:", 0), 0u) << said;
    };
    const std::string kernel = R"("kernel": "store", "grid": [1], "block": [1])";
    refused(R"(, "gpus": 0)", kernel, "gpus");
    refused(R"(, "gpus": 1025)", kernel, "1024");
    refused(R"(, "gpus": [])", kernel, "the list of GPUs is empty");
    refused(R"(, "gpus": 2, "peers": [[0, 2]])", kernel, "there is no GPU 2");
    refused("", kernel + R"(, "gpu": 1)", "there is no GPU 1: the plan has 1");
    refused("", kernel + R"(, "stream": "s")", "there is no stream 's'");
    refused(R"(, "streams": {"s": {"gpu": 3}})", kernel, "there is no GPU 3");
    refused(R"(, "streams": {"perThread": {}})", kernel, "perThread");
    refused(R"(, "gpus": 3, "streams": {"s": {"gpu": 1}})", kernel + R"(, "stream": "s", "gpu": 2)",
            "is of GPU 1, not of GPU 2");
    refused("", kernel + R"(, "after": ["e"])", "event 'e', which nothing before it records");
    refused("", R"("copy": {"to": {"buffer": "b"}, "from": {"buffer": "x"}, "bytes": 4})",
            "there is no buffer 'x'");
    refused("",
            R"("copy": {"to": {"buffer": "b", "offset": 5}, "from": {"buffer": "b"}, "bytes": 4})",
            "beyond buffer 'b' of 8 bytes");
    refused("", R"("writeValue": {"buffer": "b", "value": 1}, "grid": [1])", "grid");
    refused("", R"("waitValue": {"buffer": "b", "test": "!=", "value": 1})", "test");
    refused("", R"("waitValue": {"buffer": "b", "offset": 2, "value": 1})", "no multiple of 4");
    refused(R"(, "host": [{}])", kernel, "exactly one thing");
    refused(R"(, "host": [{"write": {"buffer": "b", "type": "u32", "values": []}}])", kernel,
            "values");
    refused(R"(, "host": [{"atomic": {"buffer": "b", "op": "add", "value": 1, "compare": 2}}])",
            kernel, "compare");
    refused(R"(, "host": [{"synchronize": {"event": "e"}}])", kernel, "event 'e'");
    refused(R"(, "host": [{"jump": 1}])", kernel, "jump");
    const auto host = read_plan(
        R"({"module": "m", "gpus": 2, "buffers": {"b": {"bytes": 8, "kind": "host", "gpu": 1}},
            "launches": [{"kernel": "k", "grid": [1], "block": [1]}]})",
        "p.json");
    ASSERT_FALSE(host);
    EXPECT_NE(host.error().message().find("of no GPU"), std::string::npos);
}

}  // namespace
}  // namespace sassemu::plan
