// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels (dynamic parallelism). An H100 left the same bytes for parent,
// nested, shaper, fan and streams.
#include <numeric>

#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class Launches : public KernelTest {
  protected:
    Launches() { start("launches.cubin"); }
    template <class... T>
    LaunchResult run(const char* kernel, Dim3 grid, Dim3 block, T... arguments) {
        LaunchRequest r = request(kernel, grid, 1, arguments...);
        r.block = block;
        r.limits.max_warp_instructions = 100'000;
        Result<LaunchResult> done = gpu_->launch(r);
        EXPECT_TRUE(done) << done.error().message();
        return done ? std::move(*done) : LaunchResult{};
    }
};

// The names of a grid and of all that it launches: what goes into its tail comes last.
void names(std::vector<uint32_t>& log, int depth, uint32_t name) {
    log.push_back(name);
    for (const uint32_t child : {1u, 2u, 9u})
        if (depth) names(log, depth - 1, name * 10 + child);
}

TEST_F(Launches, WhatAKernelLaunchesSeesWhatItWroteAndEndsWithIt) {
    std::vector<uint32_t> numbers(64);
    std::iota(numbers.begin(), numbers.end(), 0u);
    const uint64_t at = buffer(numbers);
    for (const char* kernel : {"_Z5plainPi", "_Z6parentPi", "_Z5plainPi"}) {
        const LaunchResult done = run(kernel, {1, 1, 1}, {64, 1, 1}, at);
        EXPECT_EQ(done.status, LaunchStatus::ok) << done.message;
    }
    for (uint32_t i = 0; i < 64; ++i) numbers[i] = (i * 2 + (i < 32)) * 2;
    EXPECT_EQ(words(at, 64), numbers);
}

TEST_F(Launches, GridsOfOneStreamComeInTheirOrderEachWithItsOwn) {
    const uint64_t log = buffer(std::vector<uint32_t>(64));
    const LaunchResult done = run("_Z6nestedPiii", {1, 1, 1}, {1, 1, 1}, log, 3, 1);
    ASSERT_EQ(done.status, LaunchStatus::ok) << done.message;
    EXPECT_EQ(done.stats.ctas, 40u);
    std::vector<uint32_t> wanted{40};
    names(wanted, 3, 1);
    EXPECT_EQ(words(log, 41), wanted);
}

TEST_F(Launches, ShapesAndParametersArrive) {
    const uint64_t out = buffer(std::vector<uint32_t>(576));
    ASSERT_EQ(run("_Z6shaperPi", {1, 1, 1}, {1, 1, 1}, out).status, LaunchStatus::ok);
    std::vector<uint32_t> wanted(576);
    for (uint32_t i = 0; i < 576; ++i)
        wanted[i] = 23 - i % 24 + 100 * (i / 24) + 9 + 40000 + 3 + 5 - 7 - 2;
    EXPECT_EQ(words(out, 576), wanted);
}

TEST_F(Launches, EveryThreadMayLaunch) {
    const uint64_t out = buffer(std::vector<uint32_t>(64 * 32));
    ASSERT_EQ(run("_Z3fanPi", {4, 1, 1}, {16, 1, 1}, out).status, LaunchStatus::ok);
    std::vector<uint32_t> wanted(64 * 32);
    for (uint32_t i = 0; i < wanted.size(); ++i) wanted[i] = i / 32 * (i % 32);
    EXPECT_EQ(words(out, wanted.size()), wanted);
}

TEST_F(Launches, StreamsAndEventsOfKernels) {
    const uint64_t p = buffer(std::vector<uint32_t>(32)),
                   errors = buffer(std::vector<uint32_t>(8, 77));
    ASSERT_EQ(run("_Z7streamsPiS_", {1, 1, 1}, {1, 1, 1}, p, errors).status, LaunchStatus::ok);
    EXPECT_EQ(words(p, 32), std::vector<uint32_t>(32, 7));
    EXPECT_EQ(words(errors, 8), std::vector<uint32_t>(8));
}

TEST_F(Launches, KernelsMayBeChosenByAddress) {
    const uint64_t p = buffer(std::vector<uint32_t>(64));
    ASSERT_EQ(run("_Z6chosenPii", {1, 1, 1}, {1, 1, 1}, p, 0).status, LaunchStatus::ok);
    ASSERT_EQ(run("_Z6chosenPii", {1, 1, 1}, {1, 1, 1}, p, 1).status, LaunchStatus::ok);
    std::vector<uint32_t> wanted(64, 11);
    std::fill(wanted.begin() + 32, wanted.end(), 20);
    EXPECT_EQ(words(p, 64), wanted);
}

// Code that is linked with the device's runtime library.
TEST_F(Launches, ServicesHaveTwoNames) {
    const uint64_t p = buffer(std::vector<uint32_t>(33, 1));
    ASSERT_EQ(run("_Z6linkedPi", {1, 1, 1}, {1, 1, 1}, p).status, LaunchStatus::ok);
    std::vector<uint32_t> wanted(33, 11);
    wanted[32] = 0;
    EXPECT_EQ(words(p, 33), wanted);
}

TEST_F(Launches, WhatLacksIsNamed) {
    const auto refused = [&](const char* kernel) {
        const auto done = launch(kernel, {1, 1, 1}, 1, buffer(8));
        if (done) return std::string();
        EXPECT_EQ(done.error().code, ErrorCode::unsupported);
        return done.error().message();
    };
    // What the device's runtime library does needs the library.
    const std::string library = refused("_Z5erasePi");
    EXPECT_NE(library.find("it calls __cudaCDP2MemsetAsync, of the device's runtime library"),
              std::string::npos)
        << library;
    EXPECT_NE(library.find("link the module with nvlink and cudadevrt"), std::string::npos)
        << library;
    const std::string service = refused("_Z5whichPi");
    EXPECT_NE(service.find("it calls __cuda_syscall_cnpv2GetDevice, a service of the driver"),
              std::string::npos)
        << service;
}

TEST_F(Launches, LimitsAreOfAllTogetherAndFaultsAreWhoseTheyAre) {
    const uint64_t p = buffer(128);
    const LaunchResult endless = run("_Z5againPi", {1, 1, 1}, {1, 1, 1}, p);
    EXPECT_EQ(endless.status, LaunchStatus::limit) << endless.message;
    EXPECT_NE(endless.message.find("'_Z5againPi' launches"), std::string::npos) << endless.message;
    const LaunchResult wrong = run("_Z8far_awayPi", {1, 1, 1}, {1, 1, 1}, p);
    ASSERT_EQ(wrong.status, LaunchStatus::fault) << wrong.message;
    EXPECT_EQ(wrong.fault->kernel, "child(int*)");
    // What is behind it does not run, and the next launch does.
    EXPECT_EQ(run("_Z5plainPi", {1, 1, 1}, {32, 1, 1}, p).status, LaunchStatus::ok);
}

}  // namespace
}  // namespace sassemu
