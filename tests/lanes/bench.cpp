// SPDX-License-Identifier: Apache-2.0
// Nanoseconds per primitive over a whole warp, operands and results in registers' rows (first-level
// cache), for each host level. Argument: a substring of the names to run.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tests/lanes/operands.hpp"

namespace lane_tests {
namespace {

double nanoseconds(const LaneOp& op, Arguments& x) {
    using Clock = std::chrono::steady_clock;
    constexpr int kCalls = 2000;
    double best = 1e30;
    for (int repeat = 0; repeat < 7; ++repeat) {
        const auto start = Clock::now();
        for (int i = 0; i < kCalls; ++i) op.run(x);
        const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
        if (spent.count() < best) best = spent.count();
    }
    return best / kCalls;
}

}  // namespace
}  // namespace lane_tests

int main(int argc, char** argv) {
    using namespace lane_tests;
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    const LaneTable tables[] = {lane_table_v2(), lane_table_v3(), lane_table_v4()};
    const bool have[] = {true, v3, v4};
    auto x = std::make_unique<Arguments>();
    std::printf("%-28s %8s %8s %8s   ns per warp (all lanes active)\n", "primitive", "v2", "v3",
                "v4");
    for (size_t op = 0; op < tables[0].count; ++op) {
        const char* name = tables[0].ops[op].name;
        if (argc > 1 && !std::strstr(name, argv[1])) continue;
        std::printf("%-28s", name);
        for (int level = 0; level < 3; ++level) {
            if (!have[level]) {
                std::printf(" %8s", "-");
                continue;
            }
            Random random(1);
            do fill(*x, tables[level].ops[op].operands, random);
            while (x->in[0] != ~0u);
            std::printf(" %8.2f", nanoseconds(tables[level].ops[op], *x));
        }
        std::printf("\n");
    }
}
