// SPDX-License-Identifier: Apache-2.0
// Graphs that copy and set memory between their kernels, with memory of their own and functions of
// the host; functions whose addresses stand in memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "emu/plan/run_plan.hpp"
#include "sdk/capture/recorder.hpp"
#include "tests/capture/emulated_driver.hpp"

namespace {

namespace fs = std::filesystem;
using namespace sassemu;
using capture::Launch;
using capture::Move;
using capture::Work;

// Two kernels: one makes objects with virtual functions and stores the address of a function, the
// other calls them. This GPU has functions elsewhere than the one that replays.
class Calls : public EmulatedDriver {
  public:
    Calls()
        : EmulatedDriver(CAPTURE_DATA "/call.cubin", {{"table", 0x7f2a40000b00},
                                                      {"_ZTV4Base", 0x7f2a40000c00},
                                                      {"_ZTV7Derived", 0x7f2a40000d00},
                                                      {"_Z5twicej", 0x7f1234567800},
                                                      {"_Z6squarej", 0x7f1234567900},
                                                      {"_ZNK4Base1fEj", 0x7f1234567a80},
                                                      {"_ZNK7Derived1fEj", 0x7f1234567b00}}) {
        objects = allocate(32);
        stored = allocate(8);
        out = allocate(128);
    }
    Launch make() const { return launch("make", 1, {objects, stored}); }
    Launch call(uint64_t of, uint64_t to) const { return launch("call", 32, {of, stored, to}); }
    void launch_again() override {
        ++runs;
        for (const Launch& launch : work.launches) perform(launch);
    }

    Work work;
    uint64_t objects = 0, stored = 0, out = 0;
    unsigned runs = 0;
};

Launch moved(Move move) {
    Launch launch;
    launch.move = std::move(move);
    return launch;
}

class CaptureWork : public testing::Test {
  protected:
    CaptureWork() : directory_(fs::temp_directory_path() / ("work-" + std::to_string(getpid()))) {
        fs::remove_all(directory_);
    }
    ~CaptureWork() override { fs::remove_all(directory_); }

    void capture(EmulatedDriver& driver, const Work& work, const std::string& more = {}) {
        capture::Recorder recorder(capture::read_options("dir=" + directory_.string() + more),
                                   "a program", [this](const std::string& line) { said_ = line; });
        recorder.wanted(*std::ranges::find_if(work.launches, [](auto& l) { return !l.move; }));
        recorder.begin(driver, work);
        driver.launch_again();
        recorder.end(driver, true);
    }
    nlohmann::json plan() const {
        for (const auto& entry : fs::directory_iterator(directory_))
            return nlohmann::json::parse(std::ifstream(entry.path() / "plan.json"));
        throw std::runtime_error("no capsule: " + said_);
    }
    plan::RunReport replay(const nlohmann::json& plan) const {
        const fs::path path = fs::directory_iterator(directory_)->path() / "plan.json";
        std::ofstream(path) << plan;
        return require(plan::run_plan(require(plan::read_plan_file(path)), {}));
    }

    const fs::path directory_;
    std::string said_;
};

TEST_F(CaptureWork, FunctionsAreWhereMemoryHasThem) {
    Calls driver;
    driver.perform(driver.make());
    driver.work.launches = {driver.call(driver.objects, driver.out)};
    capture(driver, driver.work);
    auto plan = this->plan();
    ASSERT_EQ(plan["functions"].size(), 4u) << plan["functions"];
    EXPECT_EQ(replay(plan).exit_code(), 0);
    auto other = plan;
    other["functions"][0]["function"] = "_Z6tripled";
    const fs::path path = fs::directory_iterator(directory_)->path() / "plan.json";
    std::ofstream(path) << other;
    const auto refused = plan::run_plan(require(plan::read_plan_file(path)), {});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("has no function '_Z6tripled'"), std::string::npos)
        << refused.error().message();
    // Without them the replay says what it lacks.
    plan.erase("functions");
    const plan::RunReport report = replay(plan);
    EXPECT_EQ(report.exit_code(), 3);
    ASSERT_TRUE(report.launches[0].fault);
    EXPECT_EQ(report.launches[0].fault->kind, FaultKind::invalid_pc);
    EXPECT_NE(report.launches[0].fault->what.find("is not captured"), std::string::npos)
        << report.launches[0].fault->what;
}

// What a kernel stores as the address of a function is the GPU's.
TEST_F(CaptureWork, KernelsStoreTheGpusAddresses) {
    Calls driver;
    driver.work.launches = {driver.make()};
    capture(driver, driver.work);
    EXPECT_EQ(replay(plan()).exit_code(), 0);
}

TEST_F(CaptureWork, WhatLiesOutsideOfACapsuleIsSaid) {
    Calls driver;
    driver.perform(driver.make());
    driver.work.launches = {driver.call(driver.objects, driver.out)};
    capture(driver, driver.work);
    auto plan = this->plan();
    for (auto& [name, buffer] : plan["buffers"].items())
        if (buffer["bytes"] == 128) buffer["address"] = "0x7f2a70000000";
    const plan::RunReport report = replay(plan);
    ASSERT_TRUE(report.launches[0].fault);
    EXPECT_NE(
        report.launches[0].fault->what.find("outside all captured memory: capture with all=1"),
        std::string::npos)
        << report.launches[0].fault->what;
}

TEST_F(CaptureWork, GraphsCopyAndFillBetweenTheirKernels) {
    Calls driver;
    const uint64_t copy = driver.allocate(32), own = 0x7f2a90000000, rows = driver.allocate(100);
    require(driver.gpu().allocate(32, "a graph's", own));
    std::vector<std::byte> host(48);
    for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::byte>(i * 7 + 1);
    driver.work.launches = {
        driver.make(),
        moved({.to = own, .from = driver.objects, .bytes = {}, .width = 32}),
        moved({.to = copy, .from = own, .bytes = {}, .width = 32}),
        driver.call(copy, driver.out),
        // Three rows of 20 bytes, all the same; and 2 x 3 of 8 from the host.
        moved({.to = driver.out + 8,
               .bytes = std::vector(20, std::byte{0x5a}),
               .width = 20,
               .height = 3,
               .to_row = 32}),
        moved({.to = rows + 4,
               .bytes = host,
               .width = 8,
               .height = 3,
               .depth = 2,
               .to_row = 12,
               .to_slice = 50,
               .from_row = 8,
               .from_slice = 24}),
    };
    driver.work.scratch = {{own, 32}};
    capture(driver, driver.work, ",repeat=3");
    EXPECT_EQ(driver.runs, 3u) << said_;
    auto plan = this->plan();
    EXPECT_EQ(plan["launches"].size(), 2u + 2 + 3 + 6);
    EXPECT_EQ(replay(plan).exit_code(), 0);
    plan["launches"][4]["copy"]["bytes"] = 12;
    EXPECT_EQ(replay(plan).exit_code(), 1);
}

TEST_F(CaptureWork, FunctionsOfTheHostAreNotRepeated) {
    Calls driver;
    driver.work.launches = {driver.make()};
    driver.work.host_functions = true;
    capture(driver, driver.work, ",repeat=3");
    EXPECT_EQ(driver.runs, 1u);
    auto plan = this->plan();
    EXPECT_TRUE(plan["capsule"]["hostFunctions"]);
    EXPECT_TRUE(replay(plan).notes.empty());
    plan["launches"][0]["paramBytes"] = std::string(32, '0');
    const plan::RunReport report = replay(plan);
    EXPECT_EQ(report.exit_code(), 3);
    ASSERT_FALSE(report.notes.empty());
    EXPECT_NE(report.notes.back().find("functions of the host"), std::string::npos);
}

// A launch that reaches memory of another GPU.
class TwoGpus : public Calls {
  public:
    std::optional<capture::Range> range_of(uint64_t address) override {
        auto range = Calls::range_of(address);
        if (range && range->address == objects) range->device = 3;
        return range;
    }
    bool shared(const capture::Range& range) override { return range.device != 0; }
};

TEST_F(CaptureWork, MemoryOfOtherGpusIsTheirs) {
    TwoGpus driver;
    driver.perform(driver.make());
    driver.work.launches = {driver.call(driver.objects, driver.out)};
    capture(driver, driver.work, ",repeat=3");
    EXPECT_EQ(driver.runs, 1u);  // another GPU may wait for it, or it for another
    const auto plan = this->plan();
    EXPECT_EQ(plan["gpus"], 2);
    EXPECT_EQ(replay(plan).exit_code(), 0);
}

}  // namespace
