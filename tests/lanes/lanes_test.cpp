// SPDX-License-Identifier: Apache-2.0
// Every lane primitive at the AVX2 and AVX-512 levels against the scalar level, on random and
// special operands. What the scalar level itself computes is proved in reference_test.cpp.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/lanes/operands.hpp"

namespace lane_tests {
namespace {

bool cpu_has_v3() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
}
bool cpu_has_v4() {
    return cpu_has_v3() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

std::string describe(const Arguments& in, const Arguments& want, const Arguments& got) {
    char text[512];
    for (int row = 0; row < 4; ++row) {
        for (int lane = 0; lane < 32; ++lane) {
            if (want.row[row][lane] == got.row[row][lane]) continue;
            const int pair = row == 0 ? 1 : row - 1;
            std::snprintf(text, sizeof text,
                          "row %d lane %d: want %08x (other word %08x), got %08x\n"
                          "a %08x:%08x b %08x:%08x c %08x:%08x masks %08x %08x",
                          row, lane, want.row[row][lane], want.row[pair][lane], got.row[row][lane],
                          in.a[lane + 32], in.a[lane], in.b[lane + 32], in.b[lane], in.c[lane + 32],
                          in.c[lane], in.in[0], in.in[1]);
            return text;
        }
    }
    for (size_t i = 0; i < kMemoryBytes; ++i) {
        if (want.memory[i] == got.memory[i]) continue;
        std::snprintf(text, sizeof text, "memory byte %zu: want %02x, got %02x, mask %08x", i,
                      want.memory[i], got.memory[i], in.in[0]);
        return text;
    }
    for (int lane = 0; lane < 32; ++lane) {
        if (((want.out[0] ^ got.out[0]) | (want.out[1] ^ got.out[1])) >> lane & 1) {
            std::snprintf(text, sizeof text,
                          "want %08x %08x, got %08x %08x; lane %d: a %08x:%08x b %08x:%08x c %08x",
                          want.out[0], want.out[1], got.out[0], got.out[1], lane, in.a[lane + 32],
                          in.a[lane], in.b[lane + 32], in.b[lane], in.c[lane]);
            return text;
        }
    }
    std::snprintf(text, sizeof text, "wide: want %016" PRIx64 ", got %016" PRIx64, want.wide,
                  got.wide);
    return text;
}

bool same(const Arguments& a, const Arguments& b) {
    return std::memcmp(a.row, b.row, sizeof a.row) == 0 &&
           std::memcmp(a.memory, b.memory, kMemoryBytes) == 0 &&
           std::memcmp(a.out, b.out, sizeof a.out) == 0 && a.wide == b.wide;
}

void compare_levels(LaneTable table, LaneTable reference, uint64_t seed, int rounds) {
    ASSERT_EQ(table.count, reference.count);
    auto in = std::make_unique<Arguments>();
    auto want = std::make_unique<Arguments>();
    auto got = std::make_unique<Arguments>();
    std::memset(in.get(), 0, sizeof(Arguments));
    for (size_t op = 0; op < table.count; ++op) {
        ASSERT_STREQ(table.ops[op].name, reference.ops[op].name);
        Random random(seed + op);
        for (int round = 0; round < rounds; ++round) {
            fill(*in, table.ops[op].operands, random);
            std::memcpy(want.get(), in.get(), sizeof(Arguments));
            std::memcpy(got.get(), in.get(), sizeof(Arguments));
            reference.ops[op].run(*want);
            table.ops[op].run(*got);
            if (!same(*want, *got)) {
                ADD_FAILURE() << table.ops[op].name << ", seed " << seed << ", round " << round
                              << "\n"
                              << describe(*in, *want, *got);
                break;
            }
        }
    }
}

// SASSEMU_LANES_SEED=n repeats a run; SASSEMU_LANES_ROUNDS=n makes it longer.
uint64_t environment(const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

void run_level(bool supported, LaneTable (*table)()) {
    if (!supported) GTEST_SKIP() << "this CPU lacks the level";
    const uint64_t seed = environment("SASSEMU_LANES_SEED", 20240611);
    const int rounds = (int)environment("SASSEMU_LANES_ROUNDS", 400);
    std::printf("seed %" PRIu64 ", %d rounds of 32 lanes per primitive\n", seed, rounds);
    compare_levels(table(), lane_table_v2(), seed, rounds);
}

TEST(LaneLevels, Avx2EqualsScalar) { run_level(cpu_has_v3(), lane_table_v3); }
TEST(LaneLevels, Avx512EqualsScalar) { run_level(cpu_has_v4(), lane_table_v4); }

// The last byte of memory is the last byte of a page, and the next page cannot be touched: a
// primitive that reads or writes for an inactive lane, or a vector too much, dies here.
void run_at_guard_page(bool supported, LaneTable (*get)()) {
    if (!supported) GTEST_SKIP() << "this CPU lacks the level";
    static_assert(sizeof(Arguments) % 64 == 0);
    static_assert(offsetof(Arguments, memory) + kMemoryBytes == sizeof(Arguments));
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = (sizeof(Arguments) + page - 1) / page * page;
    void* map =
        mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(map, MAP_FAILED);
    ASSERT_EQ(mprotect((char*)map + bytes, page, PROT_NONE), 0);
    auto& x = *(Arguments*)(void*)((char*)map + bytes - sizeof(Arguments));
    const LaneTable table = get();
    int edges = 0;
    for (size_t op = 0; op < table.count; ++op) {
        if (std::strncmp(table.ops[op].name, "edge_", 5) != 0) continue;
        ++edges;
        Random random(op);
        for (int round = 0; round < 20; ++round) {
            fill(x, table.ops[op].operands, random);
            table.ops[op].run(x);
        }
    }
    EXPECT_GE(edges, 15);
    munmap(map, bytes + page);
}

TEST(LaneGuardPage, Scalar) { run_at_guard_page(true, lane_table_v2); }
TEST(LaneGuardPage, Avx2) { run_at_guard_page(cpu_has_v3(), lane_table_v3); }
TEST(LaneGuardPage, Avx512) { run_at_guard_page(cpu_has_v4(), lane_table_v4); }

}  // namespace
}  // namespace lane_tests
