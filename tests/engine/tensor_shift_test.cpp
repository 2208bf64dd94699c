// SPDX-License-Identifier: Apache-2.0
// tcgen05.shift as a compiled kernel issues it (data/tensor_shift.cu): which bytes of tensor memory
// it moves, when (the agents' three orders), and where it may not begin.
#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class TensorShift : public KernelTest {
  protected:
    static constexpr uint32_t lanes = 128, columns = 16;

    // Sixteen columns of all lanes after a shift of eight of them; empty after a fault.
    std::vector<uint32_t> shifted(AgentOrder agents, uint64_t seed, uint32_t lane,
                                  uint32_t column) {
        GpuOptions options;
        options.agents = agents;
        options.seed = seed;
        start("tensor_shift.cubin", std::move(options));
        const uint64_t in = buffer(before()), out = buffer(4 * lanes * columns);
        LaunchRequest r = request("shift", {1, 1, 1}, 1, in, out, lane, column);
        r.block = {lanes, 1, 1};
        launched_ = gpu_->launch(r);
        return launched_ && launched_->status == LaunchStatus::ok ? words(out, lanes * columns)
                                                                  : std::vector<uint32_t>{};
    }
    static std::vector<uint32_t> before() {
        std::vector<uint32_t> words(lanes * columns);
        for (uint32_t i = 0; i < words.size(); ++i) words[i] = (i + 1) * 0x9e3779b1;
        return words;
    }
    Result<LaunchResult> launched_{LaunchResult{}};
};

// Lane i of the quarter gets what lane i + 1 had, in 32 bytes; the last keeps its own.
TEST_F(TensorShift, MovesThirtyOneRowsOfThirtyTwoBytes) {
    for (const AgentOrder agents : {AgentOrder::eager, AgentOrder::lazy, AgentOrder::random})
        for (const uint32_t lane : {0u, 32u, 96u})
            for (const uint32_t column : {0u, 4u, 8u}) {
                std::vector<uint32_t> want = before();
                for (uint32_t i = lane; i < lane + 31; ++i)
                    for (uint32_t k = column; k < column + 8; ++k)
                        want[i * columns + k] = before()[(i + 1) * columns + k];
                EXPECT_EQ(shifted(agents, 7, lane, column), want)
                    << "agents " << int(agents) << " lane " << lane << " column " << column
                    << launched_->message;
            }
}

TEST_F(TensorShift, BeginsAtAQuarterOfTheLanes) {
    EXPECT_TRUE(shifted(AgentOrder::eager, 1, 16, 0).empty());
    expect_fault(launched_, FaultKind::other,
                 {"tcgen05.shift begins in a lane that 32 does not divide", "UTCSHIFT"});
}

}  // namespace
}  // namespace sassemu
