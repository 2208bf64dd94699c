// SPDX-License-Identifier: Apache-2.0
// Damaged litmus files: whatever the bytes, reading ends with a test or an error that names a
// place; what was read explores without a crash.
#include <random>

#include "explore.hpp"

namespace sassemu::explore {
namespace {

TEST(Damage, OfAnyByteIsAnErrorOrATest) {
    std::mt19937 random(1);
    size_t errors = 0;
    for (const char* file : {"scope.jsonl", "mbarrier.jsonl", "bulk.jsonl", "tensor.jsonl",
                             "tensormap.jsonl", "target.jsonl"})
        for (const auto& t : own_tests(file)) {
            const std::string line = t.dump();
            for (int i = 0; i < 40; ++i) {
                std::string damaged = line;
                for (int k = static_cast<int>(random() % 3); k >= 0; --k) {
                    const size_t at = random() % damaged.size();
                    switch (random() % 4) {
                        case 0:
                            damaged[at] = static_cast<char>(random());
                            break;
                        case 1:
                            damaged.erase(at, random() % 20);
                            break;
                        case 2:
                            damaged.insert(at, damaged.substr(random() % damaged.size(), 12));
                            break;
                        default:
                            damaged[at] = "[]{},:.0123456789@-"[random() % 19];
                            break;
                    }
                    if (damaged.empty()) damaged = "{";
                }
                auto test = read_test(damaged);
                if (!test) {
                    ++errors;
                    EXPECT_FALSE(test.error().message().empty());
                    continue;
                }
                auto judge = Judge::open("ptx", "");
                ASSERT_TRUE(judge);
                if (!test->liveness() && i % 8 == 0)
                    (void)explore(*test, **judge, {.seconds = 0.05, .executions = 50});
            }
        }
    EXPECT_GT(errors, 1000u);
}

TEST(Damage, ErrorsNameThePlace) {
    const auto message = [](const std::string& line) {
        auto test = read_test(line);
        EXPECT_FALSE(test) << line;
        return test ? std::string{} : test.error().message();
    };
    EXPECT_EQ(message("{"), "this is no JSON");
    EXPECT_EQ(message("{}"), "name: is missing");
    EXPECT_EQ(message(R"({"name":"t"})"), "threads: must be a list of threads");
    EXPECT_EQ(message(R"({"name":"t","threads":[{"id":"P0","cta":"a","ops":[]}]})"),
              "threads[0]: cta: must be a whole number");
    EXPECT_EQ(
        message(
            R"({"name":"t","threads":[{"id":"P0","ops":["ld.weak r0, [x]","ld.weird r0, [x]"]}],"condition":"x==0"})"),
        "P0 op 1: '.weird' is unknown in 'ld.weird'");
    EXPECT_EQ(message(R"({"name":"t","threads":[{"id":"P0","ops":["bra L"]}],"condition":"x==0"})"),
              "P0 op 0: there is no label 'L'");
    EXPECT_EQ(message(R"({"name":"t","threads":[{"id":"P0","ops":[]}],"condition":"x==="})"),
              "condition: the condition cannot be read from '=' on");
    EXPECT_EQ(
        message(
            R"({"name":"t","target":"sm_80","threads":[{"id":"P0","ops":["fence.acquire.gpu"]}],"condition":"x==0"})"),
        "P0 op 0: fence.acquire.gpu needs sm_90, the target is sm_80");
    EXPECT_EQ(message(R"({"name":"t","threads":[{"id":"P0","ops":[]}],"condition":")" +
                      std::string(500, '(') + "\"}"),
              "condition: the condition is nested too deeply");
}

}  // namespace
}  // namespace sassemu::explore
