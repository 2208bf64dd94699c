// SPDX-License-Identifier: Apache-2.0
// `nvshmem` in a plan: what the reader makes of it, and what it refuses. That such plans run:
// cubins/nvshmem, as tests of the program.
#include <gtest/gtest.h>

#include "emu/plan/plan.hpp"

namespace sassemu::plan {
namespace {

Result<Plan> read(const std::string& nvshmem, const std::string& buffer, uint32_t gpus = 0,
                  const std::string& more = "") {
    return read_plan(R"({"module": "m.cubin", )" + nvshmem + R"("buffers": {"a": )" + buffer +
                         R"(}, "launches": [{"kernel": "k", "grid": [1], "block": [1]}])" + more +
                         "}",
                     "plan.json", "", gpus);
}
const std::string copies = R"({"bytes": 8, "kind": "symmetric"})";

TEST(NvshmemPlan, ALaunchRunsOnEveryPe) {
    const auto plan = read(R"("nvshmem": {"pes": 3}, )", copies);
    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_EQ(plan->launches.size(), 3u);
    EXPECT_EQ(plan->launches[2].gpu, 2u);
    EXPECT_EQ(plan->gpus.size(), 3u);
    EXPECT_EQ(plan->nvshmem->heap, 256u);
    const auto wider = read(R"("nvshmem": {"pes": 3}, )", copies, 5);
    ASSERT_TRUE(wider) << wider.error().message();
    EXPECT_EQ(wider->launches.size(), 5u);
    EXPECT_EQ(wider->nvshmem->pes, 5u);
}

TEST(NvshmemPlan, ValuesOfOneCopyAreForEach) {
    const auto plan = read(R"("nvshmem": {"pes": 2}, )",
                           R"({"bytes": 4, "kind": "symmetric",
                               "expect": {"type": "u32", "values": [7]}})");
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->buffers[0].expect->values.size(), 8u);
    EXPECT_EQ(plan->buffers[0].expect->values[4], std::byte{7});
}

TEST(NvshmemPlan, Refuses) {
    struct Case {
        std::string nvshmem, buffer, more, says;
    };
    const std::string two = R"("nvshmem": {"pes": 2}, )";
    for (const Case& c :
         {Case{"", copies, "", "symmetric memory is of NVSHMEM"},
          Case{R"("gpus": 2, "nvshmem": {"pes": 3}, )", copies, "", "3 PEs need a GPU each"},
          Case{R"("nvshmem": {"pes": 3, "node": 2}, )", copies, "", "no whole number of nodes"},
          Case{R"("nvshmem": {"pes": 4, "node": 2, "transport": "nvlink"}, )", copies, "",
               "joined by InfiniBand"},
          Case{R"("nvshmem": {"pes": 2, "delivery": "pigeon"}, )", copies, "", "pigeon"},
          Case{R"("nvshmem": {"pes": 0}, )", copies, "", "pes"},
          Case{two, R"({"bytes": 8, "kind": "symmetric", "gpu": 1})", "", "do not go with"},
          Case{two,
               R"({"bytes": 8, "kind": "symmetric", "expect": {"type": "u32", "values": [1]}})", "",
               "a copy has 8 and all copies have 16"},
          Case{two, copies,
               R"(, "host": [{"write": {"buffer": "a", "pe": 2, "type": "u32", "values": [1]}}])",
               "has no copy on PE 2"}}) {
        const auto plan = read(c.nvshmem, c.buffer, 0, c.more);
        ASSERT_FALSE(plan) << c.says;
        EXPECT_NE(plan.error().message().find(c.says), std::string::npos) << plan.error().message();
    }
    const auto listed = read(R"("gpus": ["h200"], )", R"({"bytes": 8})", 2);
    ASSERT_FALSE(listed);
    EXPECT_NE(listed.error().message().find("--gpus asks for 2"), std::string::npos);
}

}  // namespace
}  // namespace sassemu::plan
