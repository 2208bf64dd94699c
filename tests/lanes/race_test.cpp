// SPDX-License-Identifier: Apache-2.0
// Guest threads may race. Under ThreadSanitizer the primitives must stay silent; in any build an
// access of up to 8 bytes per lane must not tear.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>

namespace lane_tests {

uint32_t lane_race_v2(void* memory, int rounds);
uint32_t lane_race_v3(void* memory, int rounds);
uint32_t lane_race_v4(void* memory, int rounds);
uint64_t lane_tear_v2(void* memory, uint32_t seed, int rounds);
uint64_t lane_tear_v3(void* memory, uint32_t seed, int rounds);
uint64_t lane_tear_v4(void* memory, uint32_t seed, int rounds);

namespace {

using Race = uint32_t (*)(void*, int);
using Tear = uint64_t (*)(void*, uint32_t, int);
constexpr int kRounds = 20000;

void race(bool supported, Race run, Tear tear) {
    if (!supported) GTEST_SKIP() << "this CPU lacks the level";
    alignas(64) static uint8_t memory[1024];
    {
        std::thread other([&] { run(memory, kRounds / 20); });
        run(memory, kRounds / 20);
        other.join();
    }
    std::memset(memory, 0, sizeof memory);
    uint64_t torn_there = 0;
    std::thread other([&] { torn_there = tear(memory, 1, kRounds); });
    const uint64_t torn_here = tear(memory, 0, kRounds);
    other.join();
    EXPECT_EQ(torn_here, 0u);
    EXPECT_EQ(torn_there, 0u);
}

bool has_v3() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"); }
bool has_v4() {
    return has_v3() && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

TEST(LaneRace, Scalar) { race(true, lane_race_v2, lane_tear_v2); }
TEST(LaneRace, Avx2) { race(has_v3(), lane_race_v3, lane_tear_v3); }
TEST(LaneRace, Avx512) { race(has_v4(), lane_race_v4, lane_tear_v4); }

}  // namespace
}  // namespace lane_tests
