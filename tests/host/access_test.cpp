// SPDX-License-Identifier: Apache-2.0
// What a host process may do while a kernel runs: every access, mapped and registered memory.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/host/emulator.hpp"

namespace test {
namespace {

const std::string serve_buffers =
    R"("bell": {"bytes": 4, "kind": "host"}, "value": {"bytes": 4, "kind": "managed"},
       "answer": {"bytes": 4, "expect": {"type": "u32", "values": [63]}},
       "done": {"bytes": 4, "kind": "host"}, "block": {"bytes": 3000000}, "other": {"bytes": 3000000, "kind": "host"})";
const std::string serve_args =
    R"({"buffer": "bell"}, {"buffer": "value"}, {"buffer": "answer"}, {"buffer": "done"}, {"i32": 2})";
const std::string await_buffers = R"("flag": {"bytes": 64, "kind": "host"}, "seen": {"bytes": 4})";

std::string serve_plan(const Folder& folder) {
    return plan_of(folder, "flight", "serve", serve_buffers, serve_args);
}

// Asks the kernel twice, by doorbells.
void ask_twice(Attachment& host) {
    const Buffer value = host["value"], answer = host["answer"];
    const auto bell = host["bell"].atomic<uint32_t>(), done = host["done"].atomic<uint32_t>();
    for (const uint32_t n : {1u, 2u}) {
        value.store(n == 1 ? 5u : 21u);
        bell.store(n);
        ASSERT_TRUE(done.wait(SASSEMU_HOST_EQUAL, n, long_enough));
        EXPECT_EQ(answer.load<uint32_t>(), n == 1 ? 15u : 63u);
    }
}

TEST(HostAccess, DoorbellsAndAnswers) {
    const Folder folder;
    for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                                 {"--seed", "5"},
                                                 {"--model", "caches", "--seed", "3"},
                                                 {"--threads", "1"},
                                                 {"--reference"}}) {
        Emulator emulator(folder, serve_plan(folder), more);
        {
            Attachment host = emulator.attach();
            ask_twice(host);
            EXPECT_EQ(host.finish(long_enough), "ok");
            EXPECT_EQ(host["answer"].load<uint32_t>(), 63u);  // memory is there until all detach
        }
        EXPECT_EQ(emulator.end(), 0) << emulator.output();
        EXPECT_NE(emulator.output().find("answer: 1 u32 elements equal"), std::string::npos)
            << emulator.output();
    }
}

TEST(HostAccess, BuffersAreListed) {
    const Folder folder;
    Emulator emulator(folder, serve_plan(folder));
    Attachment host = emulator.attach(true);
    const auto all = host.buffers();
    ASSERT_EQ(all.size(), 6u);
    EXPECT_STREQ(all[0].name, "bell");
    EXPECT_EQ(all[0].kind, static_cast<uint32_t>(SASSEMU_HOST_PINNED));
    EXPECT_EQ(all[1].kind, static_cast<uint32_t>(SASSEMU_HOST_MANAGED));
    EXPECT_EQ(all[2].kind, static_cast<uint32_t>(SASSEMU_HOST_DEVICE));
    EXPECT_EQ(all[4].bytes, 3000000u);
    EXPECT_NE(all[4].address, 0u);
    EXPECT_THROW((void)host["none"], Error);
}

// Values of every size at every offset beside neighbours that stay as they are, and blocks.
TEST(HostAccess, LoadsStoresAndBlocks) {
    const Folder folder;
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--model", "caches", "--seed", "1"}}) {
        Emulator emulator(folder, serve_plan(folder), more);
        Attachment host = emulator.attach(true);
        const Buffer block = host["block"], other = host["other"];
        std::mt19937_64 random(7);
        std::vector<uint8_t> expected(64), got(64);
        for (uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
            for (uint32_t at = 0; at + bytes <= 64; at += bytes) {
                uint64_t value[2] = {random(), random()}, back[2];
                std::memcpy(&expected[at], value, bytes);
                ASSERT_EQ(sassemu_host_store(host.get(), block.id(), at, value, bytes), 0);
                ASSERT_EQ(sassemu_host_load(host.get(), block.id(), at, back, bytes), 0);
                ASSERT_EQ(std::memcmp(value, back, bytes), 0);
            }
            block.read(std::span(got));
            ASSERT_EQ(got, expected);
        }
        const uint64_t many = more.empty() ? 2999983 : 1100003;  // several pieces, odd at both ends
        std::vector<uint8_t> bytes(many), read(many);
        for (uint8_t& one : bytes) one = static_cast<uint8_t>(random());
        block.write(std::span<const uint8_t>(bytes), 3);
        other.copy_from(block, many - 2, 7, 4);
        other.read(std::span(read).first(many - 2), 7);
        EXPECT_TRUE(std::equal(bytes.begin() + 1, bytes.end() - 1, read.begin()));
        EXPECT_EQ(sassemu_host_read(host.get(), block.id(), 3000000, read.data(), 0), 0);
    }
}

TEST(HostAccess, AtomicsOfEveryType) {
    const Folder folder;
    Emulator emulator(folder, serve_plan(folder));
    Attachment host = emulator.attach(true);
    const Buffer block = host["block"];
    const auto change = [&](sassemu_host_operator op, sassemu_host_type type, auto start,
                            auto operand) {
        auto old = start;
        block.store(start);
        EXPECT_EQ(sassemu_host_atomic(host.get(), block.id(), 0, op, type, sizeof start, &operand,
                                      nullptr, &old),
                  0)
            << sassemu_host_error();
        EXPECT_EQ(std::memcmp(&old, &start, sizeof start), 0);
        return block.load<decltype(start)>();
    };
    const uint32_t a = 0xf0000005u, b = 0x70000003u;
    EXPECT_EQ(change(SASSEMU_HOST_ADD, SASSEMU_HOST_U32, a, b), a + b);
    EXPECT_EQ(change(SASSEMU_HOST_MIN, SASSEMU_HOST_U32, a, b), b);
    EXPECT_EQ(change(SASSEMU_HOST_MIN, SASSEMU_HOST_S32, a, b), a);
    EXPECT_EQ(change(SASSEMU_HOST_MAX, SASSEMU_HOST_U32, a, b), a);
    EXPECT_EQ(change(SASSEMU_HOST_INC, SASSEMU_HOST_U32, a, b), 0u);
    EXPECT_EQ(change(SASSEMU_HOST_INC, SASSEMU_HOST_U32, b, a), b + 1);
    EXPECT_EQ(change(SASSEMU_HOST_DEC, SASSEMU_HOST_U32, a, b), b);
    EXPECT_EQ(change(SASSEMU_HOST_AND, SASSEMU_HOST_U32, a, b), a & b);
    EXPECT_EQ(change(SASSEMU_HOST_OR, SASSEMU_HOST_U32, a, b), a | b);
    EXPECT_EQ(change(SASSEMU_HOST_XOR, SASSEMU_HOST_U32, a, b), a ^ b);
    EXPECT_EQ(change(SASSEMU_HOST_EXCHANGE, SASSEMU_HOST_U32, a, b), b);
    const uint64_t c = 0x8000000000000001u, d = 0x123456789abcdefu;
    EXPECT_EQ(change(SASSEMU_HOST_ADD, SASSEMU_HOST_U64, c, d), c + d);
    EXPECT_EQ(change(SASSEMU_HOST_MAX, SASSEMU_HOST_S64, c, d), d);
    EXPECT_EQ(change(SASSEMU_HOST_ADD, SASSEMU_HOST_F32, 1.5f, 2.25f), 3.75f);
    EXPECT_EQ(change(SASSEMU_HOST_ADD, SASSEMU_HOST_F64, 1.5, -4.0), -2.5);
    EXPECT_EQ(change(SASSEMU_HOST_ADD, SASSEMU_HOST_F16X2, 0x3c004000u, 0x3c003c00u), 0x40004200u);
    EXPECT_EQ(change(SASSEMU_HOST_ADD, SASSEMU_HOST_F16X2_RN, 0x3c004000u, 0x3c003c00u),
              0x40004200u);
    EXPECT_EQ(change(SASSEMU_HOST_MAX, SASSEMU_HOST_BF16X2, 0x3f804000u, 0x40003f80u), 0x40004000u);
    struct Wide {
        uint64_t low, high;
        bool operator==(const Wide&) const = default;
    };
    EXPECT_EQ(change(SASSEMU_HOST_EXCHANGE, SASSEMU_HOST_B128, Wide{1, 2}, Wide{3, 4}),
              (Wide{3, 4}));
    Wide expected{3, 4}, desired{5, 6}, old{};
    EXPECT_EQ(sassemu_host_atomic(host.get(), block.id(), 0, SASSEMU_HOST_COMPARE,
                                  SASSEMU_HOST_B128, 16, &expected, &desired, &old),
              0);
    EXPECT_EQ(block.load<Wide>(), desired);
    const uint16_t half = 6, zero = 0;
    EXPECT_EQ(sassemu_host_atomic(host.get(), block.id(), 8, SASSEMU_HOST_COMPARE, SASSEMU_HOST_U32,
                                  2, &half, &zero, nullptr),
              0);
    EXPECT_EQ(block.load<Wide>(), (Wide{5, 0}));
    // There is no such thing.
    EXPECT_EQ(sassemu_host_atomic(host.get(), block.id(), 0, SASSEMU_HOST_MIN, SASSEMU_HOST_F32, 4,
                                  &a, nullptr, nullptr),
              SASSEMU_HOST_USAGE);
    EXPECT_EQ(
        sassemu_host_atomic(host.get(), block.id(), 0, static_cast<sassemu_host_operator>(257),
                            SASSEMU_HOST_U32, 4, &a, nullptr, nullptr),
        SASSEMU_HOST_USAGE);
    EXPECT_EQ(sassemu_host_atomic(host.get(), block.id(), 2, SASSEMU_HOST_ADD, SASSEMU_HOST_U32, 4,
                                  &a, nullptr, nullptr),
              SASSEMU_HOST_USAGE);
    // As std::atomic has them.
    const auto value = block.atomic<int32_t>(64);
    value.store(10);
    EXPECT_EQ(value.fetch_sub(3), 10);
    EXPECT_EQ(value.fetch_min(-2), 7);
    int32_t seen = 0;
    EXPECT_FALSE(value.compare_exchange_strong(seen, 1));
    EXPECT_EQ(seen, -2);
    EXPECT_TRUE(value.compare_exchange_strong(seen, 8));
    EXPECT_EQ(value.load(), 8);
}

TEST(HostAccess, WaitsHaveEveryTestAndAnEnd) {
    const Folder folder;
    Emulator emulator(folder, serve_plan(folder));
    Attachment host = emulator.attach(true);
    const auto value = host["block"].atomic<uint32_t>(4);
    value.store(0xfffffffeu);
    EXPECT_TRUE(value.wait(SASSEMU_HOST_AT_LEAST, 0xfffffff0u, 0s));
    EXPECT_FALSE(value.wait(SASSEMU_HOST_AT_LEAST, 1u, 0s));  // it is -2
    EXPECT_TRUE(value.wait(SASSEMU_HOST_EQUAL, 0xfffffffeu, 0s));
    EXPECT_TRUE(value.wait(SASSEMU_HOST_NOT_EQUAL, 1u, 0s));
    EXPECT_TRUE(value.wait(SASSEMU_HOST_ANY_BIT, 2u, 0s));
    EXPECT_FALSE(value.wait(SASSEMU_HOST_ANY_BIT, 1u, 20ms));
    EXPECT_TRUE(value.wait(SASSEMU_HOST_CLEAR_BIT, 0u, 0s));
    EXPECT_FALSE(value.wait(SASSEMU_HOST_CLEAR_BIT, 1u, 0s));
    EXPECT_NE(std::string(sassemu_host_error()).find("buffer 'block' at 4"), std::string::npos)
        << sassemu_host_error();
}

// Plain loads and stores through the plan's own memory, device and host.
TEST(HostAccess, MappedMemory) {
    const Folder folder;
    Emulator emulator(folder, serve_plan(folder));
    Attachment host = emulator.attach();
    std::atomic_ref bell(host["bell"].map<uint32_t>()[0]), done(host["done"].map<uint32_t>()[0]);
    uint32_t* const value = host["value"].map<uint32_t>().data();
    uint32_t* const answer = host["answer"].map<uint32_t>().data();
    for (const uint32_t n : {1u, 2u}) {
        *value = n == 1 ? 5 : 21;
        bell.store(n, std::memory_order_release);
        const auto late = std::chrono::steady_clock::now() + long_enough;
        while (done.load(std::memory_order_acquire) != n)
            ASSERT_LT(std::chrono::steady_clock::now(), late);
        EXPECT_EQ(*answer, n == 1 ? 15u : 63u);
    }
    EXPECT_EQ(host.finish(long_enough), "ok");
}

// A kernel waits for memory that this process brings, at an address that the plan knows.
TEST(HostAccess, RegisteredMemory) {
    const Folder folder;
    const uint64_t at = uint64_t{1} << 44;
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--model", "caches", "--seed", "2"}}) {
        const std::string plan = plan_of(
            folder, "flight", "await", await_buffers,
            "{\"u64\": " + std::to_string(at + 8) + "}, {\"i32\": 7}, {\"buffer\": \"seen\"}");
        Emulator emulator(folder, plan, more);
        {
            Attachment host = emulator.attach(true);
            const Buffer mine = host.add_memory("mine", 5000, at);
            EXPECT_EQ(mine.address(), at);
            EXPECT_EQ(host["mine"].id(), mine.id());
            EXPECT_EQ(mine.shared(), more.empty());
            host.begin();
            if (more.empty())
                std::atomic_ref(mine.map<uint32_t>()[2]).store(7, std::memory_order_release);
            else
                mine.atomic<uint32_t>(8).store(7);
            EXPECT_EQ(host.finish(long_enough), "ok");
            EXPECT_EQ(host["seen"].load<uint32_t>(), 7u);
            host.remove_memory(mine);
            EXPECT_THROW(mine.store(1u), Error);
        }
        EXPECT_EQ(emulator.end(), 0) << emulator.output();
    }
}

TEST(HostAccess, SeveralProcessesAndThreads) {
    const Folder folder;
    Emulator emulator(folder, serve_plan(folder), {"--clients", "2"});
    Attachment one = emulator.attach(true), other = emulator.attach();
    const auto sum = one["block"].atomic<uint64_t>();
    std::vector<std::thread> threads;
    for (const Attachment* host : {&one, &one, &other})
        threads.emplace_back([host] {
            const auto mine = (*host)["block"].atomic<uint64_t>();
            for (int i = 0; i < 200; ++i) mine.fetch_add(1);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sum.load(), 600u);
    one.begin();
    ask_twice(other);
}

}  // namespace
}  // namespace test
