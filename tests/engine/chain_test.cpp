// SPDX-License-Identifier: Apache-2.0
// Launches that overlap (emu/schedule/chain.hpp): who waits reads what the launch before has
// written, in every order; who does not may read too early.
#include <set>

#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

constexpr uint32_t blocks = 5, count = blocks * 64;

class Chains : public KernelTest {
  protected:
    void begin(AgentOrder order, uint64_t seed = 1) {
        GpuOptions options;
        options.agents = order;
        options.seed = seed;
        start("copies.cubin", std::move(options));
    }
    // What the last of `launches` writes, each of which reads what the one before it has written.
    uint32_t last(uint32_t launches, uint32_t waits) {
        std::vector<LaunchRequest> chain;
        uint64_t from = buffer(std::vector<uint32_t>(count)), to = 0;
        for (uint32_t i = 0; i < launches; ++i, from = to) {
            to = buffer(std::vector<uint32_t>(count));
            chain.push_back(request("dependent", {blocks, 1, 1}, 1, from, to, waits));
        }
        const auto results = gpu_->launch_chain(chain);
        EXPECT_EQ(results.size(), launches);
        for (const auto& r : results)
            EXPECT_TRUE(r && r->status == LaunchStatus::ok) << (r ? r->message : r.error().what);
        const auto out = words(to, count);
        EXPECT_EQ(std::set(out.begin(), out.end()).size(), 1u);
        return out[0];
    }
};

TEST_F(Chains, WhoWaitsReadsWhatWasWritten) {
    for (const AgentOrder order : {AgentOrder::eager, AgentOrder::lazy, AgentOrder::random})
        for (uint64_t seed = 1; seed <= 8; ++seed) {
            begin(order, seed);
            EXPECT_EQ(last(4, 1), 4u);
        }
}

TEST_F(Chains, WhoDoesNotWaitReadsTooEarly) {
    begin(AgentOrder::eager);
    EXPECT_EQ(last(4, 0), 4u);
    begin(AgentOrder::lazy);
    EXPECT_EQ(last(4, 0), 1u);
    std::set<uint32_t> seen;
    for (uint64_t seed = 1; seed <= 32; ++seed) {
        begin(AgentOrder::random, seed);
        seen.insert(last(2, 0));
    }
    EXPECT_EQ(seen, (std::set<uint32_t>{1, 2}));
}

// What overlapping launches print is passed on as it comes: nothing of a launch that has given way
// waits for its end.
TEST_F(Chains, TextComesInTheOrderOfTheLaunchesTurns) {
    std::string text;
    GpuOptions options;
    options.agents = AgentOrder::lazy;
    options.on_printf = [&](std::string_view piece) { text += piece; };
    start("copies.cubin", std::move(options));
    const std::vector<LaunchRequest> chain = {request("talks", {2, 1, 1}, 1, 0),
                                              request("talks", {2, 1, 1}, 1, 1)};
    for (const auto& r : gpu_->launch_chain(chain))
        EXPECT_TRUE(r && r->status == LaunchStatus::ok) << (r ? r->message : r.error().what);
    EXPECT_EQ(text,
              "0.0 begins\n0.1 begins\n1.0 begins\n1.1 begins\n"
              "0.0 ends\n0.1 ends\n1.0 ends\n1.1 ends\n");
}

// The one before it ends, the one after it is given up.
TEST_F(Chains, AFailureEndsTheChain) {
    for (const AgentOrder order : {AgentOrder::eager, AgentOrder::lazy}) {
        begin(order);
        const uint64_t in = buffer(count * 4), out = buffer(count * 4);
        const std::vector<LaunchRequest> chain = {
            request("dependent", {blocks, 1, 1}, 1, in, out, uint32_t{1}),
            request("dependent", {blocks, 1, 1}, 1, in, uint64_t{16}, uint32_t{0}),
            request("dependent", {blocks, 1, 1}, 1, in, buffer(count * 4), uint32_t{1})};
        const auto results = gpu_->launch_chain(chain);
        ASSERT_EQ(results.size(), 2u);
        EXPECT_EQ(results[0]->status, LaunchStatus::ok) << results[0]->message;
        expect_fault(results[1], FaultKind::out_of_bounds, {"ST", "copies.cu:"});
        EXPECT_EQ(words(out, count)[count - 1], 1u);
    }
}

}  // namespace
}  // namespace sassemu
