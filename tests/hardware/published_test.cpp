// SPDX-License-Identifier: Apache-2.0
// Dot products that other people's GPUs computed (published/README.md), as row 0 and column 0 of a
// warp's matrix product: a test of the architectures' parameters that owes nothing to our own
// record.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <sstream>

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

}  // namespace
}  // namespace sassemu::test
