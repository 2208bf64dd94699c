// SPDX-License-Identifier: Apache-2.0
// Clusters that take over the work of others (clusterlaunchcontrol, data/work_queue.cu): each
// cluster of a grid is begun or handed over, once; which may be, under the agents' three orders.
// And st.bulk.
#include <algorithm>
#include <numeric>

#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class WorkQueue : public KernelTest {
  protected:
    struct Outcome {
        LaunchResult result;
        std::vector<uint32_t> done, by;
        // CTAs whose work others did.
        uint32_t taken() const {
            uint32_t n = 0;
            for (uint32_t i = 0; i < by.size(); ++i) n += by[i] != i;
            return n;
        }
    };
    Outcome run(const char* kernel, Dim3 grid, uint32_t cluster, GpuOptions options) {
        start("work_queue.cubin", std::move(options));
        const auto count = static_cast<uint32_t>(grid.count());
        const uint64_t done = buffer(4 * count), by = buffer(4 * count);
        auto r = launch(kernel, grid, cluster, done, by);
        EXPECT_TRUE(r) << r.error().what;
        EXPECT_EQ(r->status, LaunchStatus::ok) << r->message;
        return {std::move(*r), words(done, count), words(by, count)};
    }
    static GpuOptions options_of(AgentOrder agents, uint64_t seed, uint32_t threads) {
        GpuOptions o;
        o.agents = agents;
        o.seed = seed;
        o.threads = threads;
        return o;
    }
};

TEST_F(WorkQueue, EachClusterIsBegunOrHandedOver) {
    uint64_t seed = 0;
    for (const AgentOrder agents : {AgentOrder::eager, AgentOrder::lazy, AgentOrder::random})
        for (const uint32_t threads : {1u, 3u})
            for (const Dim3 grid : {Dim3{60, 1, 1}, Dim3{5, 3, 4}, Dim3{6000, 1, 1}}) {
                const Outcome one = run("steal", grid, 1, options_of(agents, ++seed, threads));
                EXPECT_EQ(std::count(one.done.begin(), one.done.end(), 1), grid.count());
                EXPECT_EQ(one.result.stats.ctas, grid.count() - one.taken());
                const Outcome pairs =
                    run("steal_together", {static_cast<uint32_t>(grid.count()), 1, 1}, 2,
                        options_of(agents, ++seed, threads));
                EXPECT_EQ(std::count(pairs.done.begin(), pairs.done.end(), 1), grid.count());
                for (uint32_t i = 0; i < pairs.by.size(); ++i) EXPECT_EQ(pairs.by[i] % 2, i % 2);
                // CTAs that the device has room for at once have begun, unless nothing begins
                // before it must.
                if (agents == AgentOrder::eager) EXPECT_EQ(one.taken() > 0, grid.x == 6000);
                if (agents == AgentOrder::lazy && threads == 1)
                    EXPECT_GT(one.taken(), grid.count() * 3 / 4);
            }
}

TEST_F(WorkQueue, ASeedRepeatsIt) {
    std::vector<std::vector<uint32_t>> seen;
    for (const uint64_t seed : {1, 2, 1, 3}) {
        GpuOptions o = options_of(AgentOrder::random, seed, 4);
        o.deterministic = true;
        seen.push_back(run("steal", {40, 1, 1}, 1, std::move(o)).by);
    }
    EXPECT_EQ(seen[0], seen[2]);
    EXPECT_TRUE(seen[0] != seen[1] || seen[0] != seen[3]);
}

TEST_F(WorkQueue, BulkStoresClear) {
    const auto clear = [&](uint64_t bytes, uint32_t first) {
        start("work_queue.cubin");
        const uint64_t out = buffer(4 * 256);
        return std::pair(launch("clear", {1, 1, 1}, 1, out, bytes, first), out);
    };
    for (const auto& [bytes, first] : {std::pair{8u, 0u}, {1024u, 0u}, {496u, 264u}, {0u, 8u}}) {
        const auto [r, out] = clear(bytes, first);
        ASSERT_TRUE(r && r->status == LaunchStatus::ok) << r->message;
        const std::vector<uint32_t> after = words(out, 256);
        for (uint32_t i = 0; i < 256; ++i)
            EXPECT_EQ(after[i], i * 4 >= first && i * 4 < first + bytes ? 0 : i + 1) << i;
    }
    expect_fault(clear(1 << 20, 0).first, FaultKind::out_of_bounds,
                 {"st.bulk leaves the shared memory of the CTA: 1048576 bytes", "UMEMSETS"});
    expect_fault(clear(8, 4).first, FaultKind::misaligned_address, {"UMEMSETS"});
}

}  // namespace
}  // namespace sassemu
