// SPDX-License-Identifier: Apache-2.0
// cta_group::2 as compiled kernels use it (data/tensor_pair.cu): what both CTAs of a pair get,
// under the agents' three orders, and what ends a launch; and tcgen05.ld.red
// (data/tensor_statistic.cu).
#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/machine/state_fill.hpp"
#include "emu/schedule/create_gpu.hpp"
#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

constexpr uint32_t lanes = 128;

class TensorPair : public KernelTest {
  protected:
    Result<LaunchResult> run(GpuOptions options, uint32_t ctas, uint32_t cluster, uint32_t rounds,
                             const char* fill = "zeros") {
        auto gpu = create_gpu(std::move(options), nullptr, *StateFill::parse(fill));
        EXPECT_TRUE(gpu);
        gpu_ = std::move(*gpu);
        load("tensor_pair.cubin");
        before_.resize(ctas * lanes * 8);
        for (uint32_t i = 0; i < before_.size(); ++i) before_[i] = (i + 1) * 0x9e3779b1;
        const uint64_t in = buffer(before_);
        out_ = buffer(4 * ctas * lanes * 9);
        LaunchRequest r = request("pair", {ctas, 1, 1}, cluster, in, out_, rounds);
        r.block = {lanes, 1, 1};
        return gpu_->launch(r);
    }
    Result<LaunchResult> run_alone(uint32_t how, uint32_t ctas, uint32_t cluster,
                                   AgentOrder agents = AgentOrder::eager) {
        GpuOptions options;
        options.agents = agents;
        start("tensor_pair.cubin", std::move(options));
        return launch("alone", {ctas, 1, 1}, cluster, how);
    }
    std::vector<uint32_t> before_;
    uint64_t out_ = 0;
};

// Each CTA's tensor memory has its own rows, of which those of the second quarter moved down by
// one; each allocation gave both CTAs the same columns.
TEST_F(TensorPair, CopiesShiftsAndAllocatesInBoth) {
    for (const AgentOrder agents : {AgentOrder::eager, AgentOrder::lazy, AgentOrder::random})
        for (const uint32_t cluster : {2u, 4u})
            for (const bool reference : {false, true}) {
                if (reference && !has_reference()) continue;
                GpuOptions options;
                options.agents = agents;
                options.seed = cluster;
                options.reference = reference;
                constexpr uint32_t ctas = 4, rounds = 3;
                const auto launched = run(std::move(options), ctas, cluster, rounds);
                ASSERT_TRUE(launched) << launched.error().what;
                ASSERT_EQ(launched->status, LaunchStatus::ok)
                    << launched->message
                    << (launched->fault ? launched->fault->report() : std::string());
                const std::vector<uint32_t> out = words(out_, ctas * lanes * 9);
                for (uint32_t cta = 0; cta < ctas; ++cta)
                    for (uint32_t lane = 0; lane < lanes; ++lane) {
                        const uint32_t row = lane >= 32 && lane < 63 ? lane + 1 : lane;
                        for (uint32_t i = 0; i < 8; ++i)
                            ASSERT_EQ(out[(cta * lanes + lane) * 9 + i],
                                      before_[(cta * lanes + row) * 8 + i])
                                << "CTA " << cta << " lane " << lane << " column " << i;
                        // 64 columns at 0, 32 behind them, in each round.
                        ASSERT_EQ(out[(cta * lanes + lane) * 9 + 8], 2 * 25 + 2 * 5 + 2u);
                    }
            }
}

// What the compiler keeps in reserved shared memory is there whatever memory is filled with.
TEST_F(TensorPair, ItsReservedMemoryIsReady) {
    const auto launched = run({}, 2, 2, 2, "0xa5a5a5a5");
    ASSERT_TRUE(launched && launched->status == LaunchStatus::ok) << launched->message;
}

TEST_F(TensorPair, NeedsTheOtherCta) {
    expect_fault(
        run_alone(0, 1, 1), FaultKind::cluster,
        {"cta_group::2: rank 0 of a cluster of 1 CTA has no other CTA to its pair", "UTCCP"});
    expect_fault(run_alone(0, 3, 3), FaultKind::cluster, {"rank 2 of a cluster of 3 CTAs"});
    for (const AgentOrder agents : {AgentOrder::eager, AgentOrder::lazy})
        expect_fault(run_alone(1, 2, 2, agents), FaultKind::cluster,
                     {"the CTA of rank 1 has exited; its memory must not be used any more"});
}

TEST_F(TensorPair, TheColumnsMustBeAllocatedInBoth) {
    expect_fault(
        run_alone(0, 2, 2), FaultKind::out_of_bounds,
        {"the tensor core uses columns 0 to 31 of tensor memory, which are not allocated"});
}

// ---- tcgen05.ld.red, against the host's own min and max

class TensorStatistics : public KernelTest {};

template <class T>
T least(const uint32_t* v, bool max) {
    T best = std::bit_cast<T>(v[0]);
    for (int i = 1; i < 4; ++i) {
        const T x = std::bit_cast<T>(v[i]);
        best = max ? std::max(best, x) : std::min(best, x);
    }
    return best;
}
// Of min.f32 and max.f32 in the PTX ISA, which std::fmin does but for zeros.
uint32_t least_float(const uint32_t* v, bool max, bool magnitude, bool nan) {
    float best = NAN;
    for (int i = 0; i < 4; ++i) {
        float x = std::bit_cast<float>(v[i]);
        if (std::isnan(x)) {
            if (nan) return 0x7fffffff;
            continue;
        }
        if (magnitude) x = std::fabs(x);
        const bool less = x < best || (x == best && std::signbit(x) > std::signbit(best));
        const bool more = x > best || (x == best && std::signbit(x) < std::signbit(best));
        if (std::isnan(best) || (max ? more : less)) best = x;
    }
    return std::isnan(best) ? 0x7fffffff : std::bit_cast<uint32_t>(best);
}

TEST_F(TensorStatistics, AreThoseOfTheRegisters) {
    static constexpr uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                           0x7fc00000, 0xffc00001, 0x7f800001, 1,
                                           0x80000001, 0x3f800000, 0xbf800000, 0x7f7fffff};
    std::vector<uint32_t> in(lanes * 4);
    for (uint32_t i = 0; i < in.size(); ++i)
        in[i] = i % 3 ? special[i * 7 / 3 % std::size(special)] : i * 0x9e3779b1;
    for (uint32_t i = 0; i < 4; ++i) in[i] = 0x7fc00000 + i;  // nothing but NaN
    for (const bool reference : {false, true}) {
        if (reference && !has_reference()) continue;
        GpuOptions options;
        options.reference = reference;
        start("tensor_statistic.cubin", std::move(options));
        const uint64_t at = buffer(in), to = buffer(4 * lanes * 14);
        LaunchRequest r = request("stat", {1, 1, 1}, 1, at, to);
        r.block = {lanes, 1, 1};
        const auto launched = gpu_->launch(r);
        ASSERT_TRUE(launched && launched->status == LaunchStatus::ok) << launched->message;
        const std::vector<uint32_t> out = words(to, lanes * 14);
        for (uint32_t t = 0; t < lanes; ++t) {
            const uint32_t* v = &in[t * 4];
            for (uint32_t max = 0; max < 2; ++max) {
                EXPECT_EQ(out[max * lanes + t], least<uint32_t>(v, max)) << t;
                EXPECT_EQ(static_cast<int32_t>(out[(2 + max) * lanes + t]), least<int32_t>(v, max))
                    << t;
                for (uint32_t how = 0; how < 4; ++how)
                    EXPECT_EQ(out[(4 + 2 * how + max) * lanes + t],
                              least_float(v, max, how & 1, how & 2))
                        << "thread " << t << " form " << how;
            }
            const uint32_t* half = &in[(t / 32 * 32 + t % 16) * 4 + (t % 32 < 16 ? 0 : 2)];
            EXPECT_EQ(out[12 * lanes + t], std::max(half[0], half[1])) << t;
            EXPECT_EQ(out[13 * lanes + t], 1u) << "the registers of thread " << t;
        }
    }
}

}  // namespace
}  // namespace sassemu
