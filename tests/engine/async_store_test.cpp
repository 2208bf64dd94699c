// SPDX-License-Identifier: Apache-2.0
// st.async and red.async of global memory as compiled (data/async_stores.cu): what they leave, and
// that a warp stays together in the loops that issue one for each of its lanes (BRA.U.ANY): who
// left alone would overwrite the uniform registers that hold the others' address.
#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class AsyncStores : public KernelTest {
  protected:
    void SetUp() override { start("async_stores.cubin"); }
    void good(const Result<LaunchResult>& r) {
        ASSERT_TRUE(r) << r.error().what;
        ASSERT_EQ(r->status, LaunchStatus::ok)
            << r->message << (r->fault ? r->fault->report() : "");
    }
};

TEST_F(AsyncStores, EveryLaneReduces) {
    constexpr uint32_t ctas = 3, sum = ctas * 64 * 63 / 2;
    const uint64_t narrow = buffer({0, 0}), wide = buffer({0, 0});
    good(launch("counts", {ctas, 1, 1}, 1, narrow, wide));
    EXPECT_EQ(words(narrow, 2), (std::vector<uint32_t>{sum, 0 - sum}));
    EXPECT_EQ(words(wide, 2), (std::vector<uint32_t>{sum, sum}));
}

TEST_F(AsyncStores, EverySizeIsStored) {
    const uint64_t out = buffer({~0u, ~0u, ~0u, ~0u});
    good(launch("sizes", {1, 1, 1}, 1, out));
    EXPECT_EQ(words(out, 4),
              (std::vector<uint32_t>{0xffff1234, 0x89abcdef, 0x55667788, 0x11223344}));
    expect_fault(launch("sizes", {1, 1, 1}, 1, out + 4), FaultKind::misaligned_address,
                 {"USTGR.E.NA.64.MMIO.SYS"});
    expect_fault(launch("sizes", {1, 1, 1}, 1, out + 1), FaultKind::misaligned_address,
                 {"USTGR.E.NA.U16.STRONG.GPU"});
    expect_fault(launch("sizes", {1, 1, 1}, 1, out + 16), FaultKind::out_of_bounds,
                 {"USTGR.E.NA.U16.STRONG.GPU"});
}

TEST_F(AsyncStores, AMessageArrives) {
    const uint64_t data = buffer(256), flag = buffer(std::vector<uint32_t>{0}), out = buffer(256);
    good(launch("message", {2, 1, 1}, 1, data, flag, out));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(words(out, 64)[i], i + 7);
}

}  // namespace
}  // namespace sassemu
