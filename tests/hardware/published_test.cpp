// SPDX-License-Identifier: Apache-2.0
// Dot products that other people's GPUs computed (published/README.md), as row 0 and column 0 of a
// warp's matrix product: a test of the architectures' parameters that owes nothing to our own
// record.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

constexpr unsigned d_register = 64, a_register = 32, b_register = 48, c_register = 56;

TEST(PublishedVectors, EveryChipsResults) {
    for (const LevelTable* level : levels()) {
        Machine m(level);
        std::ifstream in(SASSEMU_SOURCE_DIR "/tests/hardware/published/vectors.txt");
        std::map<std::string, unsigned> sets;
        for (std::string line; std::getline(in, line);) {
            std::istringstream fields(line);
            std::string arch, set, word;
            unsigned each = 0, n = 0;
            fields >> arch >> set >> word >> each >> n;
            std::vector<uint32_t> v(2 * n + 2);
            for (uint32_t& x : v) fields >> std::hex >> x;
            ASSERT_TRUE(fields) << line;
            for (unsigned i = 0; i < 8; ++i)
                for (unsigned lane = 0; lane < 32; ++lane)
                    m.r(a_register + i, lane) = m.r(b_register + i, lane) =
                        m.r(c_register + i, lane) = 0;
            for (unsigned k = 0; k < n; ++k) {
                const unsigned r = k / (4 * each), lane = k % (4 * each) / each,
                               shift = 32 / each * (k % each) % 32;
                m.r(a_register + 2 * r, lane) |= v[k] << shift;
                m.r(b_register + r, lane) |= v[n + k] << shift;
            }
            m.r(c_register, 0) = v[2 * n];
            ASSERT_EQ(m.step(arch.c_str(), Word(word.c_str())), Outcome::ok)
                << m.sass << m.rejection;
            const bool half = set.ends_with("fp16");
            EXPECT_EQ(m.r(d_register, 0) & (half ? 0xffffu : ~0u), v[2 * n + 1])
                << level->name << ": " << line;
            ++sets[set];
        }
        EXPECT_EQ(sets.size(), 34u);
    }
}

// fp8 on a B200, of which ptxas makes halves, products of those and a sum: published_fp8.cu.
TEST(PublishedVectors, Fp8OfB200) {
    constexpr size_t words = 17;
    struct Set {
        std::vector<uint32_t> in, want;
    };
    std::map<std::string, Set> sets;
    std::ifstream file(SASSEMU_SOURCE_DIR "/tests/hardware/published/fp8.txt");
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string name;
        uint32_t v[words + 1];
        fields >> name;
        for (uint32_t& x : v) fields >> std::hex >> x;
        ASSERT_TRUE(fields) << line;
        sets[name].in.insert(sets[name].in.end(), v, v + words);
        sets[name].want.push_back(v[words]);
    }
    EXPECT_EQ(sets.size(), 4u);
    auto gpu = Gpu::create({});
    auto module = load_module_file(SASSEMU_SOURCE_DIR "/tests/hardware/published_fp8.sm_100.cubin");
    ASSERT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    ASSERT_TRUE(id.ok());
    for (const auto& [name, set] : sets) {
        const auto count = static_cast<uint32_t>(set.want.size());
        auto from = (*gpu)->allocate(set.in.size() * 4, "in"),
             to = (*gpu)->allocate(count * 4, "out");
        ASSERT_TRUE(from.ok() && to.ok());
        ASSERT_TRUE((*gpu)->write(*from, std::as_bytes(std::span(set.in))).ok());
        LaunchRequest request;
        request.module = *id;
        request.kernel = name;
        request.grid = {count, 1, 1};
        request.block = {32, 1, 1};
        request.params.resize(16);
        std::memcpy(request.params.data(), &*from, 8);
        std::memcpy(request.params.data() + 8, &*to, 8);
        auto result = (*gpu)->launch(request);
        ASSERT_TRUE(result.ok() && result->status == LaunchStatus::ok)
            << (result.ok() ? result->message : result.error().what);
        std::vector<uint32_t> out(count);
        ASSERT_TRUE((*gpu)->read(*to, std::as_writable_bytes(std::span(out))));
        EXPECT_EQ(out, set.want) << name;
    }
}

}  // namespace
}  // namespace sassemu::test
