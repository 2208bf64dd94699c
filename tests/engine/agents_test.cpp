// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies under the three orders of the agents (emu/async/agents.hpp): what a program
// may rely on holds in all of them, and what it may not rely on shows.
#include <numeric>
#include <set>

#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class Agents : public KernelTest {
  protected:
    void begin(AgentOrder order, uint64_t seed = 1) {
        GpuOptions options;
        options.agents = order;
        options.seed = seed;
        start("copies.cubin", std::move(options));
        in_ = std::vector<uint32_t>(64);
        std::iota(in_.begin(), in_.end(), 100);
    }
    // What a kernel with (in, out) writes.
    std::vector<uint32_t> run(const char* kernel, size_t count = 128) {
        const uint64_t from = buffer(in_), to = buffer(std::vector<uint32_t>(count));
        const auto r = launch(kernel, {}, 1, from, to);
        EXPECT_TRUE(r && r->status == LaunchStatus::ok) << (r ? r->message : r.error().what);
        return words(to, count);
    }
    std::vector<uint32_t> in_;
};

constexpr AgentOrder orders[] = {AgentOrder::eager, AgentOrder::lazy, AgentOrder::random};

TEST_F(Agents, ACopyIsDoneOnceItsGroupIsWaitedFor) {
    for (const AgentOrder order : orders) {
        begin(order);
        const auto out = run("unwaited");
        EXPECT_EQ(std::vector(out.begin() + 64, out.end()), in_);
        EXPECT_EQ(out[0], order == AgentOrder::lazy ? 7u : 100u) << static_cast<int>(order);
    }
}

TEST_F(Agents, RandomShowsBothOutcomes) {
    std::set<uint32_t> seen;
    for (uint64_t seed = 1; seed <= 16; ++seed) {
        begin(AgentOrder::random, seed);
        const auto out = run("unwaited");
        EXPECT_EQ(std::vector(out.begin() + 64, out.end()), in_);
        seen.insert(out[0]);
        begin(AgentOrder::random, seed);
        EXPECT_EQ(run("unwaited"), out) << "the same seed, the same order";
    }
    EXPECT_EQ(seen, (std::set<uint32_t>{7, 100}));
}

TEST_F(Agents, AGroupMayBeLeftUnderWay) {
    for (const AgentOrder order : {AgentOrder::eager, AgentOrder::lazy}) {
        begin(order);
        const auto out = run("two_groups");
        EXPECT_EQ(std::vector(out.begin(), out.begin() + 64), in_);
        EXPECT_EQ(out[64], order == AgentOrder::lazy ? 7u : 100u);
    }
}

TEST_F(Agents, AnArrivalFollowsTheCopies) {
    for (const AgentOrder order : orders) {
        begin(order);
        const auto out = run("arrival", 64);
        for (uint32_t t = 0; t < 64; ++t) ASSERT_EQ(out[t], in_[(t + 1) % 64]);
    }
}

// Late is when nobody gets on without the copies, not when those who wait have polled for long.
TEST_F(Agents, AWaitThatLooksAtTheClockIsAWait) {
    for (const AgentOrder order : orders) {
        begin(order);
        const uint64_t from = buffer(in_), to = buffer(256);
        const auto r = launch("polled", {}, 1, from, to);
        ASSERT_TRUE(r && r->status == LaunchStatus::ok) << (r ? r->message : r.error().what);
        EXPECT_LT(r->stats.warp_instructions, 500'000u) << static_cast<int>(order);
        const auto out = words(to, 64);
        for (uint32_t t = 0; t < 64; ++t) ASSERT_EQ(out[t], in_[(t + 1) % 64]);
    }
}

TEST_F(Agents, TimeThatPassesIsNoWait) {
    for (const AgentOrder order : {AgentOrder::eager, AgentOrder::lazy}) {
        begin(order);
        EXPECT_EQ(run("delayed", 64)[5], order == AgentOrder::lazy ? 7u : in_[5]);
    }
}

TEST_F(Agents, ABulkStoreReadsLateUnlessItIsWaitedFor) {
    for (const AgentOrder order : {AgentOrder::eager, AgentOrder::lazy})
        for (const uint32_t waits : {0u, 1u}) {
            begin(order);
            const uint64_t out = buffer(256);
            ASSERT_EQ(launch("overwritten", {}, 1, out, waits)->status, LaunchStatus::ok);
            EXPECT_EQ(words(out, 64)[5], order == AgentOrder::lazy && !waits ? 1005u : 5u);
        }
}

TEST_F(Agents, ACopyUnderWayEndsWithItsCta) {
    for (const AgentOrder order : orders) {
        begin(order);
        const uint64_t out = buffer(256);
        ASSERT_EQ(launch("leaves", {}, 1, out)->status, LaunchStatus::ok);
        EXPECT_EQ(words(out, 64)[63], 63u);
    }
}

TEST_F(Agents, AStoreToTheClusterIsDoneOnceItsBarrierIsWaitedFor) {
    for (const AgentOrder order : orders) {
        begin(order);
        const uint64_t from = buffer(in_), to = buffer(1024);
        const auto r = launch("sends", {2, 1, 1}, 2, from, to);
        ASSERT_TRUE(r && r->status == LaunchStatus::ok) << (r ? r->message : r.error().what);
        const auto out = words(to, 192);
        for (uint32_t t = 0; t < 64; ++t) {
            if (order != AgentOrder::random) {
                ASSERT_EQ(out[t], order == AgentOrder::lazy ? 7u : in_[t])
                    << static_cast<int>(order);
            }
            ASSERT_EQ(out[64 + t], in_[t]);
            ASSERT_EQ(out[128 + t], 64u * 63 / 2);
        }
    }
}

TEST_F(Agents, AReductionIsDoneOnceItIsWaitedFor) {
    for (const AgentOrder order : orders) {
        begin(order);
        const uint64_t sums = buffer(in_), to = buffer(1024);
        const auto r = launch("reduces", {2, 1, 1}, 2, sums, to);
        ASSERT_TRUE(r && r->status == LaunchStatus::ok) << (r ? r->message : r.error().what);
        const auto out = words(to, 128), total = words(sums, 64);
        for (uint32_t t = 0; t < 64; ++t) {
            if (order != AgentOrder::random) {
                ASSERT_EQ(out[t], order == AgentOrder::lazy ? 1000 : 1001 + t);
            }
            ASSERT_EQ(out[64 + t], 1001 + t) << static_cast<int>(order);
            ASSERT_EQ(total[t], in_[t] + 2 * (t + 1)) << static_cast<int>(order);
        }
    }
}

TEST_F(Agents, ALateCopyThatFaultsNamesItsInstruction) {
    begin(AgentOrder::lazy);
    expect_fault(launch("unwaited", {}, 1, buffer(64), buffer(512)), FaultKind::out_of_bounds,
                 {"LDGSTS", "copies.cu:"});
}

// More registers than the kernel has at its entry.
TEST_F(Agents, RegistersAreGrantedWhenAskedFor) {
    begin(AgentOrder::eager);
    std::vector<uint32_t> in(200);
    std::iota(in.begin(), in.end(), 3);
    const uint64_t out = buffer(1024);
    LaunchRequest r = request("many_registers", {}, 1, buffer(in), out);
    r.block = {256, 1, 1};
    const auto result = gpu_->launch(r);
    ASSERT_TRUE(result);
    ASSERT_EQ(result->status, LaunchStatus::ok) << result->message;
    const auto sums = words(out, 256);
    for (uint32_t t = 128; t < 256; ++t) {
        std::vector<uint32_t> v = in;
        for (uint32_t& x : v) x += t;
        for (uint32_t round = 0; round < in[0]; ++round)
            for (size_t i = 0; i < 200; ++i) v[i] = v[i] * 5 + v[(i + 7) % 200];
        uint32_t sum = 0;
        for (const uint32_t x : v) sum = sum * 3 + x;
        ASSERT_EQ(sums[t], sum) << t;
    }
}

}  // namespace
}  // namespace sassemu
