// SPDX-License-Identifier: Apache-2.0
// Which sectors of global memory a copy's line of an Accel-Sim trace names: at both ends of the
// address space, and of lengths that no copy has.
#include <gtest/gtest.h>

#include "sdk/trace/accel_sim.hpp"

namespace sassemu::trace::accel_sim {
namespace {

std::string sectors(std::set<std::pair<uint64_t, uint64_t>> ranges) {
    Instruction copy;
    copy.set_opcode("UTMALDG.2D");
    Record record{};
    record.instruction = &copy;
    record.lanes = 1;
    Words words;
    words.tma = true;
    Transfer transfer;
    transfer.ranges = std::move(ranges);
    const std::string text = line(record, words, LaunchEnd(), &transfer);
    return text.substr(text.find(" 3 ") + 3);
}

TEST(Transfer, SectorsUpToTheEndOfTheAddressSpace) {
    EXPECT_EQ(sectors({{0x100, 33}}), "2 0x0000000000000100 0x0000000000000120");
    EXPECT_EQ(sectors({{0x11f, 2}}), "2 0x0000000000000100 0x0000000000000120");
    EXPECT_EQ(sectors({{0x100, 0}}), "0");
    EXPECT_EQ(sectors({{0, 1}}), "1 0x0000000000000000");
    EXPECT_EQ(sectors({{~uint64_t{0} - 63, 64}}), "2 0xffffffffffffffc0 0xffffffffffffffe0");
    EXPECT_EQ(sectors({{~uint64_t{0}, 1}}), "1 0xffffffffffffffe0");
    EXPECT_EQ(sectors({{~uint64_t{0} - 15, 4096}}), "1 0xffffffffffffffe0") << "it wraps";
}

TEST(Transfer, AsLongAsNoCopyIsAnError) {
    EXPECT_THROW(sectors({{0x100, ~uint64_t{0}}}), Error);
    EXPECT_THROW(sectors({{0x100, uint64_t{1} << 40}}), Error);
}

}  // namespace
}  // namespace sassemu::trace::accel_sim
