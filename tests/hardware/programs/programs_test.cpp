// SPDX-License-Identifier: Apache-2.0
// Samples of the random programs as a chip ran them: the outputs' hashes (programs.py, pack). A
// wrong result of any instruction, of divergence or of an exchange between threads changes them.
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <iterator>

#include "tests/hardware/programs/run.hpp"

namespace sassemu {
namespace {

uint64_t fnv(std::span<const std::byte> bytes) {
    uint64_t h = 0xcbf29ce484222325;
    for (const std::byte b : bytes) h = (h ^ static_cast<uint64_t>(b)) * 0x100000001b3;
    return h;
}

void as_recorded(const std::string& name, uint32_t least) {
    std::ifstream file(SASSEMU_PROGRAMS "/" + name, std::ios::binary);
    const std::vector<char> packed{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(packed.empty()) << name;
    std::vector<std::byte> data(ZSTD_getFrameContentSize(packed.data(), packed.size()));
    ASSERT_EQ(ZSTD_decompress(data.data(), data.size(), packed.data(), packed.size()), data.size());
    size_t at = 8;
    const auto take = [&](auto value) {
        std::memcpy(&value, data.data() + at, sizeof value);
        at += sizeof value;
        return value;
    };
    const uint32_t count = take(uint32_t{});
    ASSERT_GE(count, least);
    for (uint32_t i = 0; i < count; ++i) {
        programs::Program p;
        p.seed = take(uint32_t{});
        p.grid = take(uint32_t{});
        p.block = take(uint32_t{});
        p.bytes = take(uint32_t{});
        const uint32_t bytes = take(uint32_t{});
        const uint64_t hash = take(uint64_t{});
        p.name = "program " + std::to_string(p.seed);
        const std::span<const std::byte> cubin(data.data() + at, bytes);
        at += bytes;
        GpuOptions options;
        options.threads = 2;
        const programs::Outcome outcome = programs::run(p, cubin, options);
        EXPECT_TRUE(outcome.wrong.empty()) << p.name << ": " << outcome.wrong;
        EXPECT_EQ(fnv(outcome.output), hash) << p.name;
    }
}

TEST(Programs, AsRecorded) { as_recorded("sample.bin.zst", 40); }

// Warps that have to be whole again (divided.py). Where lanes of a switch had their turn too early,
// or too late, each of these stored other values or did not end.
TEST(Programs, DividedWarpsAsRecorded) { as_recorded("divided.bin.zst", 20); }

}  // namespace
}  // namespace sassemu
