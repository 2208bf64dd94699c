// SPDX-License-Identifier: Apache-2.0
// What a capsule holds, and that its plan is the launch: the emulator stands for the GPU whose
// program is captured, and then runs the plan. What of CUDA itself is asked (sdk/capture/cupti.cpp)
// needs a GPU: tests/capture/on_gpu.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "emu/plan/run_plan.hpp"
#include "sdk/capture/graph.hpp"
#include "sdk/capture/image.hpp"
#include "sdk/capture/recorder.hpp"
#include "tests/capture/emulated_driver.hpp"

namespace {

namespace fs = std::filesystem;
using namespace sassemu;
using capture::Failure;

// The program that is captured.
class Program : public EmulatedDriver {
  public:
    Program()
        : EmulatedDriver(
              CAPTURE_DATA "/walk.cubin",
              {{"head", 0x7f2a40000b00}, {"total", 0x7f2a40000a00}, {"factor", 0x7f2a50000100}}) {
        for (uint64_t& node : nodes_) node = allocate(16);
        out_ = allocate(32 * 4);
        texels_ = allocate(32 * 4);
        where_ = allocate(24);
        far_ = allocate(4);
        // A list by a parameter, another by a variable, and a pointer to a pointer.
        for (int i = 0; i < 4; ++i)
            put(nodes_[i], {i == 1 || i == 3 ? 0 : nodes_[i + 1], 5u + static_cast<unsigned>(i)});
        put(variable({}, "head")->address, {nodes_[2]});
        put(where_, {variable({}, "total")->address, far_});
        for (unsigned i = 0; i < 32; ++i) {
            const uint32_t texel = 100 * i;
            require(gpu().write(texels_ + 4 * i, std::as_bytes(std::span(&texel, 1))));
        }
        TextureDesc desc;
        desc.address = texels_;
        desc.width = 32;
        desc.format = TextureFormat::u32;
        desc.linear_memory = true;
        require(gpu().create_texture(desc, handle));
    }

    capture::Launch launch() const {
        return EmulatedDriver::launch("walk", 32, {nodes_[0], out_, handle, where_ + 8});
    }
    // As the program does it, with a recorder around it.
    void run(capture::Recorder& recorder) {
        if (!recorder.wanted(launch())) return launch_again();
        recorder.begin(*this, {{launch()}, {}, false});
        launch_again();
        recorder.end(*this, true);
    }

    void launch_again() override {
        perform(launch());
        ++launches;
        if (chance) {
            const uint32_t value = launches;
            require(gpu().write(far_, std::as_bytes(std::span(&value, 1))));
        }
    }
    void read(const capture::Range& from, std::span<std::byte> out) override {
        if (from.address == freed) throw Failure("reading its memory: CUDA_ERROR_INVALID_VALUE");
        EmulatedDriver::read(from, out);
    }
    std::optional<capture::TextureObject> texture(uint64_t which) override {
        if (which != handle) return {};
        capture::TextureObject t;
        t.handle = handle;
        t.address = texels_;
        t.width = 32;
        t.format = "u32";
        t.linear = true;
        return t;
    }

    static constexpr uint64_t handle = 0x100003;
    uint64_t freed = 0;
    uint32_t launches = 0;
    bool chance = false;  // the launch leaves something else each time
    uint64_t far() const { return far_; }
    uint64_t out() const { return out_; }

  private:
    uint64_t nodes_[4] = {}, out_ = 0, texels_ = 0, where_ = 0, far_ = 0;
};

class Capture : public testing::Test {
  protected:
    Capture() : directory_(fs::temp_directory_path() / ("capsules-" + std::to_string(getpid()))) {
        fs::remove_all(directory_);
    }
    ~Capture() override { fs::remove_all(directory_); }

    capture::Recorder recorder(const std::string& more = {}) {
        return {capture::read_options("dir=" + directory_.string() + more), "a program",
                [this](const std::string& line) { said_.push_back(line); }};
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        if (fs::exists(directory_))
            for (const auto& entry : fs::directory_iterator(directory_))
                all.push_back(entry.path().filename());
        std::ranges::sort(all);
        return all;
    }
    plan::RunReport replay() const {
        const std::string plan = directory_ / names().at(0) / "plan.json";
        return require(plan::run_plan(require(plan::read_plan_file(plan)), {}));
    }

    const fs::path directory_;
    std::vector<std::string> said_;
};

TEST_F(Capture, TheCapsulesPlanIsTheLaunch) {
    Program program;
    auto recorder = this->recorder();
    program.run(recorder);
    EXPECT_TRUE(said_.empty()) << said_[0];
    ASSERT_EQ(names(), std::vector<std::string>{"000000-walk"});
    const plan::RunReport report = replay();
    EXPECT_EQ(report.exit_code(), 0);
    // Variables, four nodes, out, texels, where and what it points to.
    EXPECT_EQ(report.comparisons.size(), 3u + 4 + 1 + 1 + 1 + 1);
    EXPECT_EQ(program.launches, 1u);
}

TEST_F(Capture, ADifferentResultIsSeen) {
    Program program;
    auto recorder = this->recorder();
    program.run(recorder);
    // The image of `out` is the one of 128 bytes that changed.
    for (const auto& entry : fs::directory_iterator(directory_ / names().at(0)))
        if (entry.path().string().ends_with(".after.bin") && fs::file_size(entry) == 128) {
            std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(5);
            file.put('\x5a');
        }
    EXPECT_EQ(replay().exit_code(), 1);
}

TEST_F(Capture, WhatVariesBetweenRunsIsNotCompared) {
    Program program;
    program.chance = true;
    auto recorder = this->recorder(",repeat=3");
    program.run(recorder);
    EXPECT_EQ(program.launches, 3u);
    // The launch finds what was there before it each time: without that `n->value += 1` would add
    // up.
    const plan::RunReport report = replay();
    EXPECT_EQ(report.exit_code(), 0);
    EXPECT_EQ(report.comparisons.size(), 3u + 4 + 1 + 1 + 1);
    const auto bytes = file_bytes(directory_ / names().at(0) / "plan.json");
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_NE(text.find("\"varies\": ["), std::string::npos);
    // And the program goes on with what its own run left.
    uint32_t left = 0;
    program.read({program.far(), 4}, std::as_writable_bytes(std::span(&left, 1)));
    EXPECT_EQ(left, 1u);
}

TEST_F(Capture, SelectsByNameAndNumber) {
    Program program;
    auto recorder = this->recorder(",kernel=w?lk,first=1,step=2,count=2");
    for (int i = 0; i < 8; ++i) program.run(recorder);
    EXPECT_EQ(names(), (std::vector<std::string>{"000001-walk", "000003-walk"}));
    capture::Launch other = program.launch();
    other.kernel = "_Z4walkv";
    EXPECT_FALSE(recorder.wanted(other));
    EXPECT_TRUE(capture::matches(capture::read_options("kernel=walk(int)"), "_Z4walki"));
    EXPECT_TRUE(capture::matches(capture::read_options("kernel=wal"), "walk"));
    EXPECT_FALSE(capture::matches(capture::read_options("kernel=wal?"), "walking"));
}

TEST_F(Capture, NothingHalfDoneStays) {
    Program program;
    {
        auto recorder = this->recorder(",max-bytes=100");
        program.run(recorder);
    }
    // Freed under the launch.
    {
        auto recorder = this->recorder();
        recorder.wanted(program.launch());
        recorder.begin(program, {{program.launch()}, {}, false});
        program.launch_again();
        program.freed = program.out();
        recorder.end(program, true);
        program.freed = 0;
    }
    // The disk is full.
    {
        auto recorder = this->recorder();
        const auto before = signal(SIGXFSZ, SIG_IGN);
        rlimit limit{}, small{};
        getrlimit(RLIMIT_FSIZE, &limit);
        small = limit;
        small.rlim_cur = 1000;
        setrlimit(RLIMIT_FSIZE, &small);
        program.run(recorder);
        setrlimit(RLIMIT_FSIZE, &limit);
        signal(SIGXFSZ, before);
    }
    EXPECT_EQ(names(), std::vector<std::string>{});
    ASSERT_EQ(said_.size(), 3u);
    EXPECT_NE(said_[0].find("more than 100 bytes"), std::string::npos) << said_[0];
    EXPECT_NE(said_[1].find("CUDA_ERROR_INVALID_VALUE"), std::string::npos) << said_[1];
    EXPECT_NE(said_[2].find("File too large"), std::string::npos) << said_[2];
    EXPECT_EQ(program.launches, 3u);  // all ran nevertheless
}

// Ranks of a job capture into one directory.
TEST_F(Capture, ProcessesHaveCapsulesOfTheirOwn) {
    constexpr int processes = 4, launches = 8;
    for (int i = 0; i < processes; ++i)
        if (const pid_t child = fork(); child == 0) {
            Program program;
            auto recorder = this->recorder(",count=0");
            for (int k = 0; k < launches; ++k) program.run(recorder);
            _exit(said_.empty() ? 0 : 1);
        } else {
            ASSERT_GT(child, 0);
        }
    for (int i = 0; i < processes; ++i) {
        int status = 0;
        ASSERT_GT(wait(&status), 0);
        EXPECT_EQ(status, 0);
    }
    const auto all = names();
    EXPECT_EQ(all.size(), size_t{processes * launches});
    EXPECT_TRUE(std::ranges::count(all, "000007-walk-4"));
}

TEST_F(Capture, CapsulesThatAreDamagedOrNewerAreRefused) {
    Program program;
    auto recorder = this->recorder();
    program.run(recorder);
    const fs::path plan = directory_ / names().at(0) / "plan.json";
    const auto whole = file_bytes(plan);
    std::string text(reinterpret_cast<const char*>(whole.data()), whole.size());
    const auto refused = [&](const std::string& changed) {
        std::ofstream(plan) << changed;
        auto read = plan::read_plan_file(plan);
        return read ? std::string() : read.error().message();
    };
    EXPECT_NE(refused(text.substr(0, text.size() / 2)), "");
    const size_t at = text.find("\"version\": 2");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 12, "\"version\": 3");
    EXPECT_NE(refused(text).find("version 3"), std::string::npos) << refused(text);
    // A memory file that is cut short.
    text.replace(at, 12, "\"version\": 2");
    std::ofstream(plan) << text;
    fs::resize_file(directory_ / names().at(0) / "m3.bin", 3);
    EXPECT_FALSE(plan::run_plan(require(plan::read_plan_file(plan)), {}));
}

// A capsule without the device heap that its kernels use says so, and a difference names it.
TEST(Plans, ACapsuleWithoutItsHeapSaysSo) {
    const auto notes = [](const char* heap) {
        const std::string text =
            std::string(R"({"module": "drop.cubin", "capsule": {"version": 1)") + heap +
            R"(}, "buffers": {"block": {"bytes": 16, "fill": 5},
            "out": {"bytes": 4, "expect": {"type": "u32", "values": [1]}}},
            "launches": [{"kernel": "drop", "grid": [1], "block": [1], "args": [{"buffer": "block"}, {"buffer": "out"}]}]})";
        return require(plan::run_plan(require(plan::read_plan(text, CAPTURE_DATA "/p.json")), {}))
            .notes;
    };
    EXPECT_TRUE(notes("").empty());
    EXPECT_TRUE(notes(R"(, "heap": false)").empty());
    ASSERT_EQ(notes(R"(, "heap": true)").size(), 1u);
    EXPECT_NE(notes(R"(, "heap": true)")[0].find("lacks the device heap"), std::string::npos);
}

// What capturing cannot see, a plan can say: blocks of the device heap.
TEST(Plans, KernelsFreeBlocksOfTheHeap) {
    const auto run = [](const char* heap) {
        const std::string text =
            std::string(
                R"({"module": "drop.cubin", "buffers": {"block": {"bytes": 16, "fill": 5, )") +
            heap +
            R"("address": "0x7f2a60000200"}, "out": {"bytes": 4, "expect": {"type": "u32", "values": ["0x05050505"]}}},
            "launches": [{"kernel": "drop", "grid": [1], "block": [1], "args": [{"buffer": "block"}, {"buffer": "out"}]}]})";
        return require(plan::run_plan(require(plan::read_plan(text, CAPTURE_DATA "/p.json")), {}))
            .exit_code();
    };
    EXPECT_EQ(run("\"heap\": true, "), 0);
    EXPECT_EQ(run(""), 3);
}

TEST(CaptureGraphs, KernelsComeBehindWhatTheyDependOn) {
    using capture::GraphNode;
    std::vector<GraphNode> nodes(5);  // 3 and 1, then 4 (empty), then 0 and 2
    nodes[0].needs = {4, 3};
    nodes[2].needs = {4};
    nodes[4] = {GraphNode::Kind::empty, {1, 3}, {}};
    const std::vector<size_t> order = capture::order_of(nodes);
    ASSERT_EQ(order.size(), nodes.size());
    const auto at = [&](size_t node) { return std::ranges::find(order, node) - order.begin(); };
    for (size_t i = 0; i < nodes.size(); ++i)
        for (const size_t before : nodes[i].needs)
            EXPECT_LT(at(before), at(i)) << before << " " << i;
    EXPECT_EQ(capture::refusal_of(nodes), "");
    nodes[0].kind = GraphNode::Kind::move;
    nodes[1].kind = GraphNode::Kind::host;
    EXPECT_EQ(capture::refusal_of(nodes), "");
    nodes[2] = {GraphNode::Kind::other, {}, "a conditional node"};
    EXPECT_EQ(capture::refusal_of(nodes), "its graph has a conditional node");
}

TEST(CaptureOptions, AreChecked) {
    EXPECT_EQ(capture::read_options("max-bytes=2G").max_bytes, uint64_t{2} << 30);
    for (const char* wrong : {"kernels=x", "count=x", "count=1T", "all=yes", "repeat=0", "dir="})
        EXPECT_THROW(capture::read_options(wrong), Failure) << wrong;
}

TEST(CaptureImage, DamagedCubinsHaveFewerSymbols) {
    const auto cubin = file_bytes(fs::path(CAPTURE_DATA) / "walk.cubin");
    const auto all = capture::symbols_of(cubin);
    EXPECT_EQ(all.functions, (std::set<std::string, std::less<>>{"walk"}));
    EXPECT_FALSE(all.heap);
    EXPECT_TRUE(capture::symbols_of(file_bytes(fs::path(CAPTURE_DATA) / "drop.cubin")).heap);
    EXPECT_EQ(all.variables.size(), 3u);
    for (size_t n = 0; n < cubin.size(); n += 7) capture::symbols_of(std::span(cubin).first(n));
    for (size_t i = 0; i < cubin.size(); ++i) {
        auto damaged = cubin;
        damaged[i] ^= std::byte{0xff};
        capture::symbols_of(damaged);
    }
}

}  // namespace
