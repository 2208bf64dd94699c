// SPDX-License-Identifier: Apache-2.0
// Modules with dynamic parallelism: they load, and only what launches kernels is refused.
#include <numeric>

#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class Launches : public KernelTest {};

TEST_F(Launches, OnlyTheKernelThatLaunchesIsRefused) {
    start("launches.cubin");
    std::vector<uint32_t> numbers(64);
    std::iota(numbers.begin(), numbers.end(), 0u);
    const uint64_t at = buffer(numbers);
    const auto refused = launch("_Z6parentPi", {1, 1, 1}, 1, at);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_NE(refused.error().message().find("'_Z6parentPi': it launches kernels itself"),
              std::string::npos)
        << refused.error().message();
    for (const char* kernel : {"_Z5plainPi", "_Z5childPi"}) {
        const auto done = launch(kernel, {1, 1, 1}, 1, at);
        ASSERT_TRUE(done.ok()) << done.error().message();
        EXPECT_EQ(done->status, LaunchStatus::ok) << done->message;
    }
    for (uint32_t& n : numbers) n = n * 2 + 1;
    EXPECT_EQ(words(at, 64), numbers);
}

}  // namespace
}  // namespace sassemu
