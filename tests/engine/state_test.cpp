// SPDX-License-Identifier: Apache-2.0
// What a kernel finds where nobody has written (the same in every run, and nothing of the host),
// the device heap, the limit of instructions, short machines, and spins that nobody can end.
// Kernels: data/state.cu.
#include <sys/resource.h>

#include <set>

#include "emu/machine/state_fill.hpp"
#include "emu/schedule/create_gpu.hpp"
#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class State : public KernelTest {
  protected:
    void begin(const std::string& fill = "zeros", GpuOptions options = {}) {
        auto value = StateFill::parse(fill);
        ASSERT_TRUE(value) << value.error().message();
        auto gpu = create_gpu(std::move(options), nullptr, *value);
        ASSERT_TRUE(gpu);
        gpu_ = std::move(*gpu);
        auto module = load_module_file(SASSEMU_SOURCE_DIR "/tests/engine/data/state.cubin");
        ASSERT_TRUE(module);
        auto id = gpu_->load(std::make_shared<const Module>(std::move(*module)));
        ASSERT_TRUE(id) << id.error().message();
        id_ = *id;
    }
    static GpuOptions threads(uint32_t count) {
        GpuOptions o;
        o.threads = count;
        return o;
    }
    // Its words after a launch that ends well.
    template <class... T>
    std::vector<uint32_t> out(const char* kernel, uint32_t grid, uint32_t shared, T... arguments) {
        const uint64_t at = buffer(grid * 64 * 4);
        LaunchRequest r = request(kernel, {grid, 1, 1}, 1, at, arguments...);
        r.dynamic_shared = shared;
        const auto result = gpu_->launch(r);
        EXPECT_TRUE(result) << result.error().message();
        EXPECT_EQ(result->status, LaunchStatus::ok)
            << result->message << (result->fault ? result->fault->report() : "");
        return words(at, grid * 64);
    }
    template <class... T>
    LaunchResult one_warp(const char* kernel, Dim3 grid, T... arguments) {
        LaunchRequest r = request(kernel, grid, 1, arguments...);
        r.block = {32, 1, 1};
        r.limits.max_warp_instructions = 0;
        r.limits.seconds = 60;  // far away
        auto result = gpu_->launch(r);
        EXPECT_TRUE(result) << result.error().message();
        return std::move(*result);
    }
};

using Words = std::vector<uint32_t>;

TEST_F(State, LocalMemoryIsZerosInEveryCtaAndLaunch) {
    for (const uint32_t count : {1u, 2u}) {
        begin("zeros", threads(count));
        for (int launch = 0; launch < 3; ++launch) {
            EXPECT_EQ(out("read_local", 50, 0, 1 + launch), Words(50 * 64, 0));
            EXPECT_EQ(out("read_local_generic", 50, 0, launch), Words(50 * 64, 0));
        }
    }
    GpuOptions reference;
    reference.reference = true;
    begin("zeros", reference);
    EXPECT_EQ(out("read_local", 5, 0, 1), Words(5 * 64, 0));
    EXPECT_EQ(out("read_local_generic", 5, 0, 1), Words(5 * 64, 0));
    EXPECT_EQ(out("read_local", 5, 0, 1), Words(5 * 64, 0));
}

// A block of another size lays its memory out elsewhere.
TEST_F(State, LocalMemoryIsZerosAfterLaunchesOfAnotherShape) {
    begin("zeros", threads(1));
    for (const uint32_t block : {64u, 256u, 32u, 128u, 1024u, 96u}) {
        const uint64_t at = buffer(3 * 1024 * 4);
        LaunchRequest r = request("read_local", {3, 1, 1}, 1, at, 7);
        r.block = {block, 1, 1};
        ASSERT_EQ(gpu_->launch(r)->status, LaunchStatus::ok);
        EXPECT_EQ(words(at, 3 * block), Words(3 * block, 0)) << block;
    }
}

TEST_F(State, AFillIsSeenEverywhereAndIsTheSameInEveryRun) {
    begin("0xcd");
    EXPECT_EQ(out("read_local", 4, 0, 1), Words(4 * 64, 0xcdcdcdcd));
    EXPECT_EQ(out("read_local_generic", 4, 0, 1), Words(4 * 64, 0xcdcdcdcd));
    EXPECT_EQ(out("read_local", 4, 0, 1), Words(4 * 64, 0xcdcdcdcd));
    EXPECT_EQ(out("read_shared", 4, 256), Words(4 * 64, 0xcdcdcdcd));
    std::set<Words> seen;
    for (const uint32_t count : {1u, 2u, 2u}) {
        begin("random:5", threads(count));
        for (int launch = 0; launch < 2; ++launch) {
            const Words local = out("read_local", 20, 0, 1), shared = out("read_shared", 20, 256);
            EXPECT_GT(std::set<uint32_t>(shared.begin(), shared.begin() + 64).size(), 60u);
            Words both = local;
            both.insert(both.end(), shared.begin(), shared.end());
            seen.insert(both);
        }
    }
    EXPECT_EQ(seen.size(), 1u);
    begin("random:6");
    EXPECT_NE(out("read_shared", 1, 256), Words(seen.begin()->end() - 64, seen.begin()->end()));
    // Buffers are data.
    EXPECT_EQ(words(buffer(400), 100), Words(100, 0));
}

TEST_F(State, WhatAFillMayBe) {
    EXPECT_EQ(StateFill::parse("0xab")->word(3), 0xababababu);
    EXPECT_EQ(StateFill::parse("0x1234")->word(3), 0x12341234u);
    EXPECT_EQ(StateFill::parse("0x12345678")->word(3), 0x12345678u);
    EXPECT_TRUE(StateFill::parse("zeros")->zeros());
    EXPECT_NE(StateFill::parse("random:1")->word(0), StateFill::parse("random:2")->word(0));
    for (const char* bad : {"", "ab", "0x", "0x1", "0xabc", "0xgg", "random", "random:", "random:x",
                            "0x123456789", "random:99999999999999999999"})
        EXPECT_FALSE(StateFill::parse(bad)) << bad;
}

// ---- the device heap

TEST_F(State, TheHeapGivesCleanBlocksAndFindsUseAfterFree) {
    begin();
    EXPECT_EQ(out("use_heap", 1, 0, 0, 40), Words(64, 0x1234));
    const uint64_t at = buffer(256);
    expect_fault(launch("use_heap", {1, 1, 1}, 1, at, 1, 40), FaultKind::use_after_free,
                 {"byte 4 of the block of 40 bytes", "device heap", "free() has taken back", "LD"});
    expect_fault(launch("past_heap", {1, 1, 1}, 1, at, 13), FaultKind::out_of_bounds,
                 {"0 bytes past the end of the block of 13 bytes", "device heap"});
    begin("0xee");
    EXPECT_EQ(out("use_heap", 1, 0, 0, 40), Words(64, 0x1234u + 0xeeeeeeeeu));
}

TEST_F(State, TheHeapIsUsedAgainAndStaysClean) {
    GpuOptions o = threads(2);
    o.heap_bytes = 1 << 20;
    begin("zeros", o);
    // 128 threads, 8 times 8 KiB each: eight times the heap.
    const uint64_t bad = buffer(4);
    LaunchRequest r = request("heap_turns", {2, 1, 1}, 1, bad, 8, 4096);
    r.limits = {};
    const auto result = gpu_->launch(r);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, LaunchStatus::ok) << (result->fault ? result->fault->report() : "");
    EXPECT_EQ(words(bad, 1), Words(1, 0));
}

// ---- limits

TEST_F(State, TheLimitOfInstructionsIsExact) {
    for (const uint32_t count : {1u, 2u, 3u}) {
        begin("zeros", threads(count));
        const uint64_t at = buffer(256);
        for (const uint64_t most : {1u, 1000u, 77777u, 300001u, 1000000u}) {
            LaunchRequest r = request("count", {40, 1, 1}, 1, at, 1 << 30);
            r.limits.max_warp_instructions = most;
            const auto result = gpu_->launch(r);
            ASSERT_TRUE(result);
            EXPECT_EQ(result->status, LaunchStatus::limit);
            EXPECT_EQ(result->stats.warp_instructions, most) << count;
        }
        // A kernel that needs just as many ends well.
        LaunchRequest r = request("count", {40, 1, 1}, 1, at, 1000);
        r.limits.max_warp_instructions = 0;
        const uint64_t needs = gpu_->launch(r)->stats.warp_instructions;
        r.limits.max_warp_instructions = needs;
        EXPECT_EQ(gpu_->launch(r)->status, LaunchStatus::ok);
        r.limits.max_warp_instructions = needs - 1;
        EXPECT_EQ(gpu_->launch(r)->status, LaunchStatus::limit);
    }
}

TEST_F(State, AsManyThreadsRunAsWereAskedFor) {
    begin("zeros", threads(8));
    const uint64_t at = buffer(256);
    const auto result = launch("count", {40, 1, 1}, 1, at, 10);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->stats.threads, 8u);
    EXPECT_EQ(result->message, "");
}

TEST_F(State, ADeviceMayOfferAnyAmountOfSharedMemory) {
    GpuOptions o;
    o.device.shared_per_cta = o.device.shared_per_sm = ~0u;
    o.device.sms = ~0u;
    begin("zeros", o);
    LaunchRequest r = request("read_shared", {2, 1, 1}, 1, buffer(512));
    r.dynamic_shared = 1 << 20;
    EXPECT_EQ(gpu_->launch(r)->status, LaunchStatus::ok);
    for (const uint32_t bytes : {1u << 24, ~0u, ~0u - 1023}) {
        r.dynamic_shared = bytes;
        const auto result = gpu_->launch(r);
        ASSERT_FALSE(result);
        EXPECT_NE(result.error().message().find("24 bits"), std::string::npos);
    }
}

// The address space that the process may still take, for as long as this lives.
class LittleMemory {
  public:
    explicit LittleMemory(uint64_t more) {
        getrlimit(RLIMIT_AS, &before_);
        FILE* f = std::fopen("/proc/self/statm", "r");
        unsigned long long pages = 0;
        EXPECT_EQ(std::fscanf(f, "%llu", &pages), 1);
        std::fclose(f);
        struct rlimit now = before_;
        now.rlim_cur = pages * 4096 + more;
        setrlimit(RLIMIT_AS, &now);
    }
    ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }

  private:
    struct rlimit before_ {};
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(State, ALaunchWithoutMemoryIsALimit) {
    GpuOptions o = threads(1);
    o.stack_bytes = 512 << 10;
    begin("zeros", o);
    LaunchRequest r = request("read_local", {4, 1, 1}, 1, buffer(16384), 1);
    EXPECT_EQ(gpu_->launch(r)->status, LaunchStatus::ok);  // the code is there
    r.block = {1024, 1, 1};
    {
        const LittleMemory little(64 << 20);
        const auto result = gpu_->launch(r);
        ASSERT_TRUE(result) << result.error().message();
        EXPECT_EQ(result->status, LaunchStatus::limit);
        EXPECT_NE(result->message.find("state of a CTA"), std::string::npos) << result->message;
    }
    r.block = {32, 1, 1};
    EXPECT_EQ(gpu_->launch(r)->status, LaunchStatus::ok);
}

TEST_F(State, FewerThreadsRunWhereTheHostHasNoMore) {
    begin("zeros", threads(64));
    const uint64_t at = buffer(256);
    ASSERT_EQ(one_warp("count", {1, 1, 1}, at, 10).status, LaunchStatus::ok);  // the code is there
    const LittleMemory little(100 << 20);                                      // a dozen stacks
    const auto result = launch("count", {400, 1, 1}, 1, at, 10);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->status, LaunchStatus::ok) << result->message;
    EXPECT_LT(result->stats.threads, 64u);
    EXPECT_NE(result->message.find("threads ran, not 64"), std::string::npos) << result->message;
}
#endif

// ---- spins that nobody can end

TEST_F(State, SpinsThatNobodyCanEndAreDeadlocks) {
    struct Case {
        const char* kernel;
        uint64_t first;  // what its first word holds
        int buffers;
    };
    for (const uint32_t count : {1u, 2u})
        for (const Case& c : {Case{"lock_twice_diverged", 0, 1},
                              {"lock_twice_classic", 0, 2},
                              {"spin_sleep", 0, 1},
                              {"spin_backoff", 1, 1},
                              {"spin_exchange", 1, 1},
                              {"spin_store", 0, 2},
                              {"spin_store_shared", 0, 1},
                              {"spin_two_sleepers", 0, 1}}) {
            begin("zeros", threads(count));
            const uint64_t a = buffer(Words{static_cast<uint32_t>(c.first), 0}), b = buffer(8);
            const LaunchResult r = c.buffers == 1 ? one_warp(c.kernel, {2, 1, 1}, a)
                                                  : one_warp(c.kernel, {2, 1, 1}, a, b);
            EXPECT_EQ(r.status, LaunchStatus::deadlock) << c.kernel << ": " << r.message;
            EXPECT_NE(r.message.find("spins on memory"), std::string::npos) << r.message;
        }
}

TEST_F(State, SpinsThatSomebodyEndsAreNoDeadlocks) {
    for (const uint32_t count : {1u, 2u})
        for (int turn = 0; turn < 3; ++turn) {
            GpuOptions o = threads(count);
            o.deterministic = turn == 2;
            begin("zeros", o);
            const uint64_t a = buffer(8), b = buffer(8), c = buffer(8);
            LaunchResult r = one_warp("ends_sleep", {5, 1, 1}, a, c);
            EXPECT_EQ(r.status, LaunchStatus::ok) << r.message;
            EXPECT_EQ(words(c, 1), Words(1, 5 * 32));
            r = one_warp("ends_locks", {3, 1, 1}, b, c + 4);
            EXPECT_EQ(r.status, LaunchStatus::ok) << r.message;
            EXPECT_EQ(words(c + 4, 1), Words(1, 3 * 32));
            const uint64_t flag = buffer(4), here = buffer(4), out = buffer(8);
            r = one_warp("ends_store", {2, 1, 1}, flag, here, out);
            EXPECT_EQ(r.status, LaunchStatus::ok) << r.message;
            EXPECT_EQ(words(out, 1), Words(1, 3));
            r = one_warp("clock_spin", {2, 1, 1}, out);
            EXPECT_EQ(r.status, LaunchStatus::ok) << r.message;
        }
}

}  // namespace
}  // namespace sassemu
