// SPDX-License-Identifier: Apache-2.0
// The plan runner on a fake GPU and a real cubin: memory set-up, parameter blocks, limits,
// verdicts, exit codes and dumps.
#include "emu/plan/run_plan.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "emu/base/exit_code.hpp"
#include "emu/base/text.hpp"
#include "emu/plan/atomic_file.hpp"
#include "emu/plan/report.hpp"
#include "tests/plan/fake_gpu.hpp"

namespace sassemu::plan {
namespace {

namespace fs = std::filesystem;
using test::FakeWorld;

// A directory of the test's own, gone afterwards.
class Scratch {
  public:
    Scratch() {
        std::string pattern = (fs::temp_directory_path() / "sassemu-test-").string();
        pattern.append(6, 'X');  // what mkdtemp replaces
        path_ = ::mkdtemp(pattern.data());
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { fs::remove_all(path_); }
    std::string file(const std::string& name) const { return (path_ / name).string(); }
    size_t count() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(path_), {}));
    }

  private:
    fs::path path_;
};

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// vecadd(const float*, const float*, float*, int): three addresses and an i32.
const std::string module_path = SASSEMU_SOURCE_DIR "/cubins/vecadd/sm_90.cubin";
const std::string three_args = R"({"buffer": "a"}, {"buffer": "b", "offset": 4}, {"buffer": "c"})";

std::string plan_text(const std::string& args, const std::string& more = "",
                      const std::string& launch_more = "", const std::string& expect_c = "") {
    return R"({"module": ")" + module_path + R"(", "buffers": {"a": {"bytes": 8, "fill": 1},
        "b": {"bytes": 8, "random": {"type": "u32", "seed": 1}, "pointers": [{"offset": 0, "buffer": "a", "add": 3}]},
        "c": {"bytes": 8)" +
           expect_c + R"(}},
        "launches": [{"kernel": "vecadd", "grid": [1], "block": [2], "args": [)" +
           args + "]" + launch_more +
           R"(}, {"kernel": "vecadd", "grid": [2], "block": [2], "args": [)" + three_args +
           R"(, {"i32": 2}]}])" + more + "}";
}
const std::string good_args = three_args + R"(, {"i32": 7})";

Result<RunReport> run(const std::string& text, FakeWorld& world, RunOptions options = {}) {
    SASSEMU_ASSIGN(const Plan plan, read_plan(text, "p.json"));
    options.create_gpu = test::fake_factory(world);
    return run_plan(plan, options);
}

uint64_t word(const std::vector<std::byte>& bytes, size_t offset, size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + offset, size);
    return value;
}

TEST(RunPlan, PlacesMemoryAndBuildsTheParameterBlock) {
    FakeWorld world;
    const auto report = run(plan_text(good_args), world);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->exit_code(), 0);
    ASSERT_EQ(world.requests.size(), 2u);
    const std::vector<std::byte>& params = world.requests[0].params;
    ASSERT_EQ(params.size(), 28u);
    const uint64_t a = word(params, 0, 8), b = word(params, 8, 8) - 4, c = word(params, 16, 8);
    EXPECT_EQ(word(params, 24, 4), 7u);
    EXPECT_EQ(word(world.memory.at(a), 0, 8), 0x0101010101010101u);
    EXPECT_EQ(word(world.memory.at(b), 0, 8), a + 3);  // the pointer overlays the random bytes
    EXPECT_EQ(word(world.memory.at(c), 0, 8), 0u);     // no contents: zero
    EXPECT_EQ(world.requests[1].grid.x, 2u);
}

TEST(RunPlan, PutsAddressesIntoBytes) {
    FakeWorld world;
    const auto report = run(plan_text(R"({"buffer": "a"}, {"bytes": "1111111111111111",
                      "pointers": [{"offset": 0, "buffer": "a", "add": 5}]}, {"buffer": "c"}, {"i32": 7})"),
                            world);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_FALSE(world.requests.empty());
    const std::vector<std::byte>& params = world.requests[0].params;
    EXPECT_EQ(word(params, 8, 8), word(params, 0, 8) + 5);
}

// The same bytes as a map that is an argument of its own.
TEST(RunPlan, PutsTensorMapsIntoBytes) {
    const std::string map = R"("tensorMap": {"buffer": "a", "type": "u32", "dims": [100, 60],
                               "strides": [400], "box": [32, 32]})";
    const auto params = [&](const std::string& second) {
        FakeWorld world;
        const auto report =
            run(R"({"module": ")" SASSEMU_SOURCE_DIR
                R"(/cubins/tma_gemm/sm_90.cubin", "buffers": {"a": {"bytes": 24000}},
                                "launches": [{"kernel": "transpose", "grid": [1], "block": [128],
                                "args": [{)" +
                    map + "}, {" + second + "}]}]}",
                world);
        EXPECT_TRUE(report) << report.error().message();
        return world.requests.empty() ? std::vector<std::byte>() : world.requests[0].params;
    };
    const auto alone = params(map);
    EXPECT_EQ(params(R"("bytes": ")" + std::string(256, '1') +
                     R"(", "tensorMaps": [{"offset": 0, )" + map + "}]"),
              alone);
    EXPECT_FALSE(alone.empty());
}

TEST(RunPlan, WrongArgumentsNameLaunchKernelAndArgument) {
    const struct {
        const char* args;
        const char* message;
    } cases[] = {
        {R"({"buffer": "a"})", "launches[0]: kernel 'vecadd' takes 4 arguments, the plan has 1"},
        {R"({"buffer": "a"}, {"buffer": "b"}, {"buffer": "c"}, {"i64": 7})",
         "launches[0].args[3]: argument 3 of kernel 'vecadd' has 4 bytes, the plan gives 8"},
        {R"({"buffer": "a"}, {"buffer": "b"}, {"buffer": "c"}, {"bits": "0x100000000"})",
         "launches[0].args[3]: argument 3 of kernel 'vecadd' has 4 bytes, and the bits do not fit"},
        {R"({"buffer": "a"}, {"buffer": "b"}, {"symbol": "nope"}, {"i32": 1})",
         "launches[0].args[2]: no module has a variable 'nope'"},
    };
    for (const auto& bad : cases) {
        FakeWorld world;
        const auto report = run(plan_text(bad.args), world);
        ASSERT_FALSE(report) << bad.args;
        EXPECT_EQ(exit_code(report.error().code), 2);
        EXPECT_NE(report.error().message().find(bad.message), std::string::npos)
            << report.error().message();
        EXPECT_TRUE(world.requests.empty());  // nothing ran
    }
}

TEST(RunPlan, BadModulesKernelsFilesAndDevicesAreInputErrors) {
    const std::string launches = R"("launches": [{"kernel": "nope", "grid": [1], "block": [1]}]})";
    const std::string module = R"({"module": ")" + module_path + "\", ";
    const struct {
        std::string text;
        const char* message;
    } cases[] = {
        {R"({"module": "gone.cubin", )" + launches, "p.json:1:12: module: "},
        {module + launches, "launches[0]: "},
        {module + R"("device": "gtx9000", )" + launches, "device: "},
        {module + R"("arch": "sm_80", )" + launches, "does not run on sm_80"},
        {module + R"("arch": "sm_12x", )" + launches, "arch: "},
        {module + R"("buffers": {"a": {"bytes": 4, "file": "gone.bin"}}, )" + launches,
         "buffers.a: "},
    };
    for (const auto& bad : cases) {
        FakeWorld world;
        const auto report = run(bad.text, world);
        ASSERT_FALSE(report) << bad.text;
        EXPECT_EQ(exit_code(report.error().code), 2) << report.error().message();
        EXPECT_NE(report.error().message().find(bad.message), std::string::npos)
            << report.error().message();
    }
}

TEST(RunPlan, WrongTensorMapsAndSecondGpusAreRefusedByName) {
    FakeWorld world;
    const auto report = run(
        plan_text(
            R"({"tensorMap": {"buffer": "a", "type": "u8", "dims": [4], "strides": [], "box": [4]}}, {"buffer": "b"}, {"buffer": "c"}, {"i32": 1})"),
        world);
    ASSERT_FALSE(report);
    EXPECT_EQ(exit_code(report.error().code), 2);
    EXPECT_NE(report.error().message().find("boxDim[0] is not a multiple of 16 bytes"),
              std::string::npos)
        << report.error().message();
    // Who makes the GPU runs launches one by one.
    const auto second = run(plan_text(good_args, R"(, "streams": {"s": {}})"), world);
    ASSERT_FALSE(second);
    EXPECT_EQ(exit_code(second.error().code), 5);
    EXPECT_NE(second.error().message().find("streams"), std::string::npos);
}

TEST(RunPlan, LimitsHoldForAllLaunchesTogether) {
    FakeWorld world;
    const auto report =
        run(plan_text(good_args, R"(, "timeLimit": 1.25, "maxWarpInstructions": 35)",
                      R"(, "repeat": 2)"),
            world);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(world.requests.size(), 3u);
    EXPECT_EQ(world.requests[0].limits.max_warp_instructions, 35u);
    EXPECT_EQ(world.requests[1].limits.max_warp_instructions, 25u);
    EXPECT_EQ(world.requests[2].limits.max_warp_instructions, 15u);
    // What has passed on the clock, whatever launches say of themselves.
    EXPECT_LE(world.requests[0].limits.seconds, 1.25);
    EXPECT_LT(world.requests[2].limits.seconds, world.requests[0].limits.seconds);
    EXPECT_GT(world.requests[2].limits.seconds, 0);
    EXPECT_EQ(report->total.warp_instructions, 30u);

    RunOptions tight;
    tight.max_warp_instructions = 10;  // the option replaces the plan's figure
    FakeWorld again;
    const auto cut = run(plan_text(good_args, R"(, "maxWarpInstructions": 35)"), again, tight);
    ASSERT_TRUE(cut);
    EXPECT_EQ(again.requests.size(), 1u);
    EXPECT_EQ(cut->exit_code(), 4);
    EXPECT_TRUE(cut->partial);

    tight.max_warp_instructions = 9;  // less than the first launch: the engine may notice late
    FakeWorld late;
    const auto over = run(plan_text(good_args), late, tight);
    ASSERT_TRUE(over);
    EXPECT_EQ(late.requests.size(), 1u);
    EXPECT_EQ(over->exit_code(), 4);
}

LaunchResult ended(LaunchStatus status, FaultKind kind = FaultKind::none) {
    LaunchResult result;
    result.status = status;
    if (status == LaunchStatus::fault) {
        result.fault.emplace();
        result.fault->kind = kind;
    }
    return result;
}

TEST(RunPlan, ExitCodesFollowTheContract) {
    const std::string fault_oob = "fault:" + std::string(fault_name(FaultKind::out_of_bounds));
    const struct {
        LaunchStatus status;
        FaultKind kind;
        std::string expected;
        int code;
    } cases[] = {
        {LaunchStatus::ok, FaultKind::none, "ok", 0},
        {LaunchStatus::ok, FaultKind::none, "trap", 1},
        {LaunchStatus::fault, FaultKind::out_of_bounds, "ok", 3},
        {LaunchStatus::fault, FaultKind::out_of_bounds, fault_oob, 0},
        {LaunchStatus::fault, FaultKind::misaligned_address, fault_oob, 3},
        {LaunchStatus::assert_failed, FaultKind::none, "assert", 0},
        {LaunchStatus::assert_failed, FaultKind::none, "ok", 3},
        {LaunchStatus::trap, FaultKind::none, "trap", 0},
        {LaunchStatus::trap, FaultKind::none, "assert", 3},
        {LaunchStatus::deadlock, FaultKind::none, "deadlock", 0},
        {LaunchStatus::deadlock, FaultKind::none, "ok", 4},
        {LaunchStatus::limit, FaultKind::none, "ok", 4},
        {LaunchStatus::unsupported, FaultKind::none, "ok", 5},
        {LaunchStatus::interrupted, FaultKind::none, "ok", 130},
        {LaunchStatus::internal, FaultKind::none, "ok", 7},
    };
    for (const auto& wanted : cases) {
        FakeWorld world;
        world.on_launch = [&](FakeWorld&, const LaunchRequest&) {
            return ended(wanted.status, wanted.kind);
        };
        const auto report = run(
            plan_text(good_args, R"(, "expect": {"status": ")" + wanted.expected + "\"}"), world);
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(report->exit_code(), wanted.code)
            << status_text(wanted.status, wanted.kind) << " expected " << wanted.expected;
        if (wanted.status != LaunchStatus::ok) {
            EXPECT_EQ(world.requests.size(), 1u);  // what follows a failed launch does not run
            EXPECT_EQ(report->launches[1].status, LaunchStatus::not_run);
            EXPECT_TRUE(report->partial);
            EXPECT_NE(
                report_text(*report).find("launch 2/2 vecadd grid 2x1x1 block 2x1x1: not run"),
                std::string::npos);
        }
    }
}

TEST(RunPlan, ReportsDifferencesWithTypeAndHex) {
    FakeWorld world;
    world.on_launch = [](FakeWorld& fake, const LaunchRequest& request) {
        const uint32_t one = 0x3f800000;
        std::memcpy(fake.memory.at(word(request.params, 16, 8)).data() + 4, &one, 4);
        return LaunchResult{};
    };
    const auto report = run(
        plan_text(good_args, "", "", R"(, "expect": {"values": [0, 1.5], "type": "f32"})"), world);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->exit_code(), 1);
    const std::string text = report_text(*report);
    EXPECT_NE(text.find("c: 1 of 2 f32 elements differ; last written by kernel 'vecadd', launch 2\n"
                        "    [1] got 1 (0x3f800000), expected 1.5 (0x3fc00000)\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("`sassemu check-sync` tells\n"), std::string::npos) << text;
    const auto close =
        run(plan_text(good_args, "", "",
                      R"(, "expect": {"values": [0, 1.5], "type": "f32", "rtol": 0.34})"),
            world);
    ASSERT_TRUE(close);
    EXPECT_EQ(close->exit_code(), 0);
    EXPECT_EQ(report_text(*close).find("check-sync"), std::string::npos);
    const auto tight =
        run(plan_text(good_args, "", "",
                      R"(, "expect": {"values": [0, 1.5], "type": "f32", "rtol": 0.33})"),
            world);
    ASSERT_TRUE(tight);
    EXPECT_EQ(tight->exit_code(), 1);
}

TEST(Compare, AtMostTenDifferencesAndNanRules) {
    Expectation expect;
    expect.type = ElementType::f32;
    expect.has_values = true;
    std::vector<uint32_t> want(20, 0x7fc00000), got(20, 0x7fc00001);
    const auto wanted = std::as_bytes(std::span(want));
    expect.values.assign(wanted.begin(), wanted.end());
    SpanSource bytes(std::as_bytes(std::span(got)));
    auto exact = compare("x", bytes, expect);
    ASSERT_TRUE(exact);
    EXPECT_EQ(exact->different, 20u);
    EXPECT_EQ(exact->first.size(), 10u);
    expect.has_tolerance = true;  // then any NaN equals any NaN, and nothing else does
    got[3] = 0x3f800000;
    auto tolerant = compare("x", bytes, expect);
    ASSERT_TRUE(tolerant);
    EXPECT_EQ(tolerant->different, 1u);
    EXPECT_EQ(tolerant->first[0].index, 3u);
    expect.values.resize(76);
    EXPECT_FALSE(compare("x", bytes, expect));
}

TEST(RunPlan, StdoutAndInstructionCountAreCompared) {
    FakeWorld world;
    world.on_launch = [](FakeWorld& fake, const LaunchRequest&) {
        fake.options.on_printf("hi\n");
        LaunchResult result;
        result.stats.warp_instructions = 5;
        return result;
    };
    const auto code = [&](const std::string& expect) {
        const auto report = run(plan_text(good_args, R"(, "expect": )" + expect), world);
        return report ? report->exit_code() : -1;
    };
    EXPECT_EQ(code(R"({"stdout": "hi\nhi\n", "warpInstructions": 10})"), 0);
    EXPECT_EQ(code(R"({"stdout": "hi\n"})"), 1);
    EXPECT_EQ(code(R"({"warpInstructions": 9})"), 1);
}

TEST(RunPlan, DumpsAppearAfterAFaultToo) {
    const Scratch scratch;
    FakeWorld world;
    world.on_launch = [](FakeWorld&, const LaunchRequest&) {
        return ended(LaunchStatus::fault, FaultKind::out_of_bounds);
    };
    RunOptions options;
    options.dumps = {{"a", scratch.file("a.bin")}};
    const auto report = run(plan_text(good_args), world, options);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->exit_code(), 3);
    EXPECT_EQ(contents(scratch.file("a.bin")), std::string(8, '\1'));
    EXPECT_EQ(scratch.count(), 1u);
    EXPECT_NE(stats_json(*report).find("\"partial\": true"), std::string::npos);
}

TEST(RunPlan, AnUnknownDumpFailsBeforeAnythingRuns) {
    const Scratch scratch;
    FakeWorld world;
    RunOptions options;
    options.dumps = {{"a", scratch.file("a.bin")}, {"zz", scratch.file("z.bin")}};
    const auto report = run(plan_text(good_args), world, options);
    ASSERT_FALSE(report);
    EXPECT_EQ(exit_code(report.error().code), 2);
    EXPECT_NE(report.error().message().find("buffers: a, b, c"), std::string::npos);
    EXPECT_TRUE(world.requests.empty());
    EXPECT_EQ(scratch.count(), 0u);
}

TEST(AtomicFile, LeavesTheOldFileAndNoRubbishOnFailure) {
    const Scratch scratch;
    const std::string path = scratch.file("x");
    const std::vector<std::byte> bytes(10, std::byte{'n'});
    ASSERT_TRUE(write_file_atomically(path, bytes));
    EXPECT_EQ(contents(path), "nnnnnnnnnn");
    ASSERT_TRUE(write_file_atomically(path, std::span(bytes).first(3)));  // replaced, not patched
    EXPECT_EQ(contents(path), "nnn");
    fs::create_symlink(path, scratch.file("link"));
    ASSERT_TRUE(write_file_atomically(scratch.file("link"), bytes));  // the link stays one
    EXPECT_TRUE(fs::is_symlink(scratch.file("link")));
    EXPECT_EQ(contents(path), "nnnnnnnnnn");
    EXPECT_FALSE(write_file_atomically(scratch.file("no/such/dir"), bytes));
    EXPECT_TRUE(write_file_atomically("/dev/null", bytes));  // in place
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_FALSE(write_file_atomically("/dev/full", bytes));
    fs::create_directory(scratch.file("d"));
    EXPECT_FALSE(write_file_atomically(scratch.file("d"), bytes));
    EXPECT_EQ(scratch.count(), 3u);
}

TEST(AtomicFile, WhatIsReplacedKeepsItsModeAndItsLinks) {
    const Scratch scratch;
    const std::vector<std::byte> bytes(10, std::byte{'n'});
    const auto mode = [](const std::string& path) { return fs::status(path).permissions(); };
    const std::string path = scratch.file("x");
    ASSERT_TRUE(write_file_atomically(path, "old"));
    for (const auto wanted : {fs::perms(0640), fs::perms(0755), fs::perms(0400)}) {
        fs::permissions(path, wanted);
        ASSERT_TRUE(write_file_atomically(path, bytes));
        EXPECT_EQ(mode(path), wanted);
    }
    // A chain of links to a file that is not there yet.
    fs::create_directory(scratch.file("d"));
    fs::create_symlink("second", scratch.file("first"));
    fs::create_symlink("d/made", scratch.file("second"));
    ASSERT_TRUE(write_file_atomically(scratch.file("first"), bytes));
    EXPECT_TRUE(fs::is_symlink(scratch.file("first")));
    EXPECT_TRUE(fs::is_symlink(scratch.file("second")));
    EXPECT_EQ(contents(scratch.file("d/made")), "nnnnnnnnnn");
    fs::create_symlink("round", scratch.file("round"));
    EXPECT_FALSE(write_file_atomically(scratch.file("round"), bytes));
    EXPECT_TRUE(fs::is_symlink(scratch.file("round")));
}

// Of earlier versions, whose names held the process's number, and of this one.
TEST(AtomicFile, AStaleTemporaryFileIsInNobodysWay) {
    const Scratch scratch;
    const std::string path = scratch.file("x");
    std::ofstream(path + ".sassemu-tmp." + std::to_string(::getpid())) << "stale";
    std::ofstream(scratch.file(".sassemu-tmp.0000000000000000")) << "stale";
    ASSERT_TRUE(write_file_atomically(path, "new"));
    EXPECT_EQ(contents(path), "new");
    EXPECT_EQ(scratch.count(), 3u);
}

TEST(AtomicFile, AFifoIsWrittenToWhenSomebodyReads) {
    const Scratch scratch;
    const std::string path = scratch.file("fifo");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_FALSE(write_file_atomically(path, "text"));  // and does not wait
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    ASSERT_TRUE(write_file_atomically(path, "text"));
    char text[8] = "";
    EXPECT_EQ(::read(reader, text, sizeof text), 4);
    EXPECT_STREQ(text, "text");
    ::close(reader);
}

// Ended by a signal in the middle of a write: a child writes for ever, its handler is the one of
// the command line.
TEST(AtomicFile, ASignalLeavesNoTemporaryFile) {
    const Scratch scratch;
    const std::string path = scratch.file("x");
    for (int round = 0; round < 5; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::signal(SIGTERM, [](int) {
                remove_temporary_files();
                ::_exit(130);
            });
            const std::vector<std::byte> bytes(1 << 20, std::byte{'n'});
            for (;;)
                if (!write_file_atomically(path, bytes)) ::_exit(1);
        }
        while (!fs::exists(path)) std::this_thread::yield();
        ::kill(child, SIGTERM);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(WEXITSTATUS(status), 130);
        EXPECT_EQ(scratch.count(), 1u);
        EXPECT_EQ(contents(path).size(), size_t{1} << 20);  // whole, whenever it was
        fs::remove(path);
    }
}

// A full disk: the write fails half-way, and nothing of it may be left.
TEST(AtomicFile, AWriteThatFailsHalfWayLeavesNothing) {
    const Scratch scratch;
    const std::string path = scratch.file("x");
    const pid_t child = ::fork();
    if (child == 0) {
        struct rlimit limit {
            4096, 4096
        };
        ::signal(SIGXFSZ, SIG_IGN);
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const std::vector<std::byte> bytes(100000, std::byte{'n'});
        ::_exit(write_file_atomically(path, bytes) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(scratch.count(), 0u);
}

// Each pair of the table, by the one order of precedence.
TEST(ExitCodes, OneTableOneOrder) {
    const std::vector<int> order = {130, 7, 3, 4, 5, 6, 2, 1, 0};
    ASSERT_EQ(exit_codes.size(), order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        EXPECT_EQ(exit_codes[i].code, order[i]);
        for (size_t j = i; j < order.size(); ++j) {
            EXPECT_EQ(worse(order[i], order[j]), order[i]);
            EXPECT_EQ(worse(order[j], order[i]), order[i]);
        }
    }
    for (const ErrorCode code :
         {ErrorCode::usage, ErrorCode::input, ErrorCode::unsupported, ErrorCode::not_found,
          ErrorCode::limit, ErrorCode::system, ErrorCode::internal})
        EXPECT_EQ(worse(exit_code(code), 0), exit_code(code));
}

TEST(ExitCodes, OfARunWithSeveralReasons) {
    RunReport report;
    report.comparisons.emplace_back().different = 1;
    EXPECT_EQ(report.exit_code(), 1);
    report.write_errors.push_back(make_error(ErrorCode::system, "f", "cannot write"));
    EXPECT_EQ(report.exit_code(), 2);
    report.findings = 1;
    EXPECT_EQ(report.exit_code(), 6);
    report.status = LaunchStatus::fault;
    EXPECT_EQ(report.exit_code(), 3);
    report.status = LaunchStatus::internal;
    EXPECT_EQ(report.exit_code(), 7);
    report.status = LaunchStatus::interrupted;
    EXPECT_EQ(report.exit_code(), 130);
}

TEST(Text, ControlCharactersAreShownEscaped) {
    EXPECT_EQ(shown("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
              "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
    EXPECT_EQ(shown("a\x1b[1m\n\t\r\x7f"), "a\\x1b[1m\\n\\t\\r\\x7f");
    EXPECT_EQ(shown("a\nb\tc", "\n"), "a\nb\\tc");
    EXPECT_EQ(shown("\xc2\x9b"), "\\xc2\\x9b");           // a control character in UTF-8
    EXPECT_EQ(shown("\x9b\xff\xc3"), "\\x9b\\xff\\xc3");  // no UTF-8
    EXPECT_EQ(shown("\xc0\x8a\xed\xa0\x80"), "\\xc0\\x8a\\xed\\xa0\\x80");  // overlong; a surrogate
    EXPECT_EQ(shown(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(RunPlan, ADumpThatCannotBeWrittenIsExitCode2) {
    FakeWorld world;
    RunOptions options;
    options.dumps = {{"a", "/nonexistent-directory/a.bin"}};
    const auto report = run(plan_text(good_args), world, options);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->exit_code(), 2);
    EXPECT_NE(report_text(*report).find("/nonexistent-directory/a.bin"), std::string::npos);
}

}  // namespace
}  // namespace sassemu::plan
