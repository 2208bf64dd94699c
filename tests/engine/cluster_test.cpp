// SPDX-License-Identifier: Apache-2.0
// Clusters, mbarriers and tensor copies used wrongly: what the report says. That they work is shown
// by the kernels in cubins/ and by the records of tests/hardware/async.
#include "emu/async/tensor_map.hpp"
#include "emu/machine/mbarrier.hpp"
#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

class Clusters : public KernelTest {
  protected:
    void SetUp() override { start("cluster.cubin"); }
};

TEST_F(Clusters, MissingBytesEndInADeadlockReport) {
    const auto r = launch("missing_bytes", {}, 1, buffer(256));
    ASSERT_TRUE(r);
    ASSERT_EQ(r->status, LaunchStatus::deadlock) << r->message;
    for (const char* part :
         {"mbarrier at shared address", "64 bytes missing", "phase 0", "cluster.cu:"})
        EXPECT_NE(r->message.find(part), std::string::npos) << part << "\n" << r->message;
}

TEST_F(Clusters, AnArrivalThatDoesNotFitIsAFault) {
    EXPECT_EQ(launch("too_many_arrivals", {}, 1, uint32_t{3})->status, LaunchStatus::ok);
    expect_fault(launch("too_many_arrivals", {}, 1, uint32_t{4}), FaultKind::barrier_misuse,
                 {"more arrivals than the phase still expects", "3 of 3 arrivals pending",
                  "SYNCS.ARRIVE", "cluster.cu:"});
}

// A try_wait ends after a time, so a loop that counts its tries goes on.
TEST_F(Clusters, ATryWaitTimesOut) {
    const uint64_t out = buffer(256);
    const auto r = launch("gives_up", {}, 1, out, uint32_t{20});
    ASSERT_TRUE(r);
    ASSERT_EQ(r->status, LaunchStatus::ok) << r->message;
    uint32_t tries = 0;
    ASSERT_TRUE(gpu_->read(out, std::as_writable_bytes(std::span(&tries, 1))));
    EXPECT_EQ(tries, 20u);
}

TEST_F(Clusters, RanksAreThoseOfTheCluster) {
    EXPECT_EQ(launch("far_store", {4, 1, 1}, 4, uint32_t{3})->status, LaunchStatus::ok);
    expect_fault(launch("far_store", {4, 1, 1}, 4, uint32_t{4}), FaultKind::cluster,
                 {"rank", "ST.E"});
    expect_fault(launch("far_store", {4, 1, 1}, 1, uint32_t{1}), FaultKind::cluster, {"rank"});
}

// As an H200 does, which answers any other rank with an illegal instruction.
TEST_F(Clusters, OnlyGenericAddressesReachOtherRanks) {
    for (const uint32_t how : {0u, 1u, 2u, 3u, 4u, 5u}) {
        EXPECT_EQ(launch("near_rank", {}, 1, buffer(512), how, uint32_t{0})->status,
                  LaunchStatus::ok)
            << how;
        expect_fault(launch("near_rank", {}, 1, buffer(512), how, uint32_t{1}),
                     FaultKind::out_of_bounds, {"outside the shared memory", "cluster.cu:"});
        expect_fault(launch("near_rank", {}, 1, buffer(512), how, uint32_t{255}),
                     FaultKind::out_of_bounds, {"outside the shared memory"});
        expect_fault(launch("near_rank", {2, 1, 1}, 2, buffer(512), how, uint32_t{0}),
                     FaultKind::cluster, {"another CTA of the cluster", "(1,0,0)"});
    }
}

TEST_F(Clusters, AThreadArrivesOnceBeforeItWaits) {
    expect_fault(launch("arrives_twice", {2, 1, 1}, 2), FaultKind::barrier_misuse,
                 {"arrives again", "UCGABAR_ARV"});
}

TEST_F(Clusters, LaunchesAreChecked) {
    const auto refused = [&](Dim3 grid, uint32_t cluster) {
        const auto r = launch("arrives_twice", grid, cluster);
        return r ? std::string() : r.error().where + " " + r.error().what;
    };
    EXPECT_NE(refused({6, 1, 1}, 4).find("multiple of the cluster (4,1,1)"), std::string::npos);
    EXPECT_NE(refused({17, 1, 1}, 17).find("not a valid cluster"), std::string::npos);
}

TEST_F(Clusters, TensorMapsAreChecked) {
    const uint64_t map = buffer(128), data = buffer(4096);
    TensorMap m;
    m.type = TensorType::f32;
    m.rank = 2;
    m.address = data;
    m.size[0] = m.size[1] = 16;
    m.stride[0] = 64;
    m.box[0] = m.box[1] = 4;
    const auto put = [&](auto change) {
        auto bytes = m.encode();
        ASSERT_TRUE(bytes);
        change(*bytes);
        ASSERT_TRUE(gpu_->write(map, *bytes));
    };
    const auto as_is = [](auto&) {};
    put(as_is);
    EXPECT_EQ(launch("load_box", {}, 1, map, int32_t{4})->status, LaunchStatus::ok);
    expect_fault(launch("load_box", {}, 1, map, int32_t{3}), FaultKind::illegal_instruction,
                 {"first coordinate", "16 bytes", "UTMALDG.2D"});
    put([](auto& bytes) { bytes[8] = std::byte{0x20} | (bytes[8] & std::byte{0x8f}); });
    expect_fault(launch("load_box", {}, 1, map, int32_t{4}), FaultKind::illegal_instruction,
                 {"rank of 3"});
    put([](auto& bytes) { bytes[8] |= std::byte{0x80}, bytes[9] |= std::byte{0x07}; });
    expect_fault(launch("load_box", {}, 1, map, int32_t{4}), FaultKind::illegal_instruction,
                 {"elemtype"});
    expect_fault(launch("load_box", {}, 1, data + 4096, int32_t{4}), FaultKind::out_of_bounds,
                 {"UTMALDG"});
    m.address = data + 3968;  // the box lies past the end of the buffer
    put(as_is);
    expect_fault(launch("load_box", {}, 1, map, int32_t{12}), FaultKind::out_of_bounds,
                 {"leaves global memory"});
    m.box[0] = 6;
    const auto refused = m.encode();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().where.find("boxDim[0]"), std::string::npos);
}

// PTX asks for an address in global memory; an H200 takes any that is aligned.
TEST_F(Clusters, ATensorMapIsAcquiredWhereverTheAddressIs) {
    const uint64_t map = buffer(128);
    EXPECT_EQ(launch("acquire_map", {}, 1, map)->status, LaunchStatus::ok);
    for (const uint64_t nothing : {uint64_t{0}, map + 4096, ~uint64_t{0} << 7})
        EXPECT_EQ(launch("acquire_map", {}, 1, nothing)->status, LaunchStatus::ok);
    for (const uint64_t by : {4, 32})
        expect_fault(launch("acquire_map", {}, 1, map + by), FaultKind::misaligned_address,
                     {"UTMACCTL.IV", "multiple of 64", "cluster.cu:"});
    expect_fault(launch("acquire_map", {}, 1, uint64_t{1} << 57), FaultKind::out_of_bounds,
                 {"57 bits"});
}

TEST(Mbarrier, OverflowIsRefusedAndChangesNothing) {
    Mbarrier b = Mbarrier::decode(uint64_t{0x7ffff00000000000u} | 0x1ffffc);  // count 2
    EXPECT_EQ(b.pending, 2u);
    EXPECT_EQ(b.expected, 2u);
    const uint64_t before = b.encode();
    for (const MbarrierChange& change :
         {MbarrierChange{3, 0, 0}, MbarrierChange{1, 3, 0}, MbarrierChange{0, 0, 1 << 20},
          MbarrierChange{0, 0, -(1 << 20)}}) {
        EXPECT_NE(b.apply(change), nullptr);
        EXPECT_EQ(b.encode(), before);
    }
    EXPECT_EQ(b.apply({0, 0, 16}), nullptr);
    EXPECT_EQ(b.apply({2, 1, 0}), nullptr);
    EXPECT_EQ(b.phase, 0u);  // 16 bytes are missing
    EXPECT_EQ(b.apply({0, 0, -16}), nullptr);
    EXPECT_EQ(b.phase, 1u);
    EXPECT_EQ(b.pending, 1u);
    EXPECT_FALSE(Mbarrier::valid_initial(0));
    EXPECT_FALSE(Mbarrier::valid_initial(before | 1));
}

}  // namespace
}  // namespace sassemu
