// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma as a compiled kernel issues it (data/tensor_forms.cu): that the operands of every
// form arrive at the unit, in one CTA and in pairs, and under the agents' three orders. What the
// unit makes of them is a matter of tests/async/tensor_forms_test.cpp; here it is taken at its
// word.
#include <memory>
#include <random>

#include "emu/async/tensor_core.hpp"
#include "emu/schedule/level_choice.hpp"
#include "tests/engine/kernel_test.hpp"

namespace sassemu {
namespace {

using async::Multiply;
using async::TensorKind;
using async::TensorMemory;

constexpr uint32_t shared_words = 8192, cells = 128 * 512, b_at = 12288;

// As the kernel has them.
struct Args {
    uint64_t from = 0, to = 0, a = 0, b = 0, zeros = 0;
    uint32_t a_address = 256, d = 8, metadata = 280, instruction = 0, scales_a = 300,
             scales_b = 340, accumulate = 1, form = 0;
    uint32_t lanes[8] = {};
};

struct Form {
    TensorKind kind;
    uint32_t descriptor;  // of the instruction
    bool a_in_tensor_memory = false, stationary = false, shifts = false, block16 = false;
    bool lanes = false;
    uint32_t scale_d = 0;
};
constexpr uint32_t shape(uint32_t m, uint32_t n) { return n / 8 << 17 | m / 16 << 24; }
constexpr uint32_t scaled(uint32_t m, uint32_t n) { return n / 8 << 17 | m / 128 << 27; }
constexpr uint32_t f32 = 1 << 4, sparse = 4, ue8m0 = 1 << 23, e2m1 = 1 << 7 | 1 << 10;
using K = TensorKind;
const Form one[] = {
    {K::f16, f32 | shape(128, 64), false, false, false, false, true, 3},
    {K::f16, f32 | sparse | 2 | shape(64, 40), false, false, false, false, true},
    {K::tf32, f32 | 2 << 7 | 2 << 10 | shape(128, 32), true, false, true, false, true},
    {K::tf32, f32 | sparse | 2 << 7 | 2 << 10 | shape(128, 24), true},
    {K::f8f6f4, f32 | 1 << 7 | 2u << 30 | shape(32, 128), false, true},
    {K::f16, f32 | sparse | 1 << 7 | 1 << 10 | 1u << 30 | shape(64, 64), true, true},
    {K::i8, 2 << 4 | sparse | 8 | 1 << 7 | shape(128, 64), false, false, false, false, true},
    {K::mxf8f6f4, ue8m0 | 2 << 4 | 1u << 29 | 3 << 7 | 1 << 10 | scaled(128, 72)},
    {K::mxf8f6f4, ue8m0 | sparse | 5 << 7 | scaled(128, 64), true},
    {K::mxf4, ue8m0 | e2m1 | 2 << 4 | scaled(128, 64)},
    {K::mxf4, e2m1 | scaled(128, 40), true, false, false, true},
    {K::mxf4, e2m1 | sparse | scaled(128, 64), false, false, false, true}};
const Form two[] = {{K::f16, f32 | shape(128, 64), false, false, false, false, true},
                    {K::f8f6f4, f32 | sparse | shape(128, 32), false, false, false, false, true},
                    {K::i8, 2 << 4 | 1 << 7 | shape(256, 64), true},
                    {K::mxf8f6f4, ue8m0 | scaled(128, 64)},
                    {K::mxf4, e2m1 | scaled(256, 48), false, false, false, true},
                    {K::mxf4, ue8m0 | e2m1 | sparse | scaled(256, 32)}};

class TensorForms : public KernelTest {
  protected:
    void same_as_the_unit(const Form& f, uint32_t form, uint32_t ctas, AgentOrder agents) {
        std::mt19937 random(form);
        Args x;
        // K-major without swizzle: a chunk along k 128 bytes further, eight rows 512.
        x.a = uint64_t{8} << 16 | uint64_t{32} << 32 | uint64_t{1} << 46;
        x.b = x.a | b_at / 16;
        x.instruction = f.descriptor;
        x.form = form;
        if (f.stationary)
            x.zeros = uint64_t{1} << 39 | 4ull << 40 | 6ull << 48 | 8ull << 56 | 1ull << 32;
        for (uint32_t& w : x.lanes) w = static_cast<uint32_t>(random() & random());
        std::vector<uint32_t> from(ctas * (shared_words + cells));
        for (uint32_t& w : from) w = static_cast<uint32_t>(random()) & 0xbfbfbfbf;
        for (uint32_t cta = 0; cta < ctas; ++cta)
            for (uint32_t i = 0; i < cells; ++i) {
                uint32_t& w = from[cta * (shared_words + cells) + shared_words + i];
                const uint32_t column = i % 512;
                if (column >= 300)
                    w = 0x7e7f8081;
                else if (column >= 280)
                    w = f.kind == K::tf32 ? 0x4ee44e4e : 0x49ce8d64;
                else if (column < 256)
                    w = (w & 0x807fffff) | 0x3f800000;
            }

        Multiply m;
        m.kind = f.kind;
        m.pair = ctas == 2;
        m.stationary = f.stationary, m.shifts = f.shifts, m.block16 = f.block16;
        m.instruction = x.instruction, m.a = x.a, m.b = x.b, m.a_address = x.a_address, m.d = x.d;
        m.a_in_tensor_memory = f.a_in_tensor_memory;
        m.accumulate = true;
        m.metadata = x.metadata, m.scales_a = x.scales_a, m.scales_b = x.scales_b;
        m.zero_columns = x.zeros;
        if (f.lanes) m.disabled_lanes = x.lanes;
        m.scale_d = f.scale_d;
        ASSERT_EQ(async::check(m, 100, shared_words * 4), nullptr)
            << async::check(m, 100, shared_words * 4);
        std::unique_ptr<TensorMemory> memory[2];
        async::TensorSide sides[2];
        for (uint32_t cta = 0; cta < ctas; ++cta) {
            const uint32_t* part = from.data() + cta * (shared_words + cells);
            memory[cta] = std::make_unique<TensorMemory>();
            std::memcpy(memory[cta].get(), part + shared_words, sizeof(TensorMemory));
            sides[cta] = {reinterpret_cast<const std::byte*>(part), memory[cta].get()};
        }
        async::multiply(m, sides, 100, (*choose_level(HostLevel::automatic))->matrix_sums);

        GpuOptions options;
        options.agents = agents;
        options.seed = form;
        start("tensor_forms.cubin", std::move(options));
        x.from = buffer(from), x.to = buffer(4 * ctas * cells);
        LaunchRequest r = request(ctas == 2 ? "two" : "one", {ctas, 1, 1}, ctas);
        r.block = {128, 1, 1};
        r.params.resize(sizeof x);
        std::memcpy(r.params.data(), &x, sizeof x);
        const auto launched = gpu_->launch(r);
        ASSERT_TRUE(launched.ok());
        ASSERT_EQ(launched->status, LaunchStatus::ok)
            << launched->message << (launched->fault ? launched->fault->report() : "");
        const std::vector<uint32_t> got = this->KernelTest::words(x.to, ctas * cells);
        uint64_t changed = 0;
        for (uint32_t cta = 0; cta < ctas; ++cta)
            for (uint32_t i = 0; i < cells; ++i) {
                const uint32_t want = memory[cta]->cell[i / 512][i % 512];
                ASSERT_EQ(got[cta * cells + i], want)
                    << "cta " << cta << " lane " << i / 512 << " column " << i % 512;
                changed += want != from[cta * (shared_words + cells) + shared_words + i];
            }
        EXPECT_GT(changed, 200u);
    }
    static constexpr AgentOrder orders[] = {AgentOrder::eager, AgentOrder::lazy,
                                            AgentOrder::random};
};

TEST_F(TensorForms, OperandsOfEveryFormArrive) {
    for (uint32_t form = 0; form < std::size(one); ++form) {
        SCOPED_TRACE(form);
        same_as_the_unit(one[form], form, 1, orders[form % 3]);
    }
}
TEST_F(TensorForms, PairsGatherFromBothCtas) {
    for (uint32_t form = 0; form < std::size(two); ++form) {
        SCOPED_TRACE(form);
        same_as_the_unit(two[form], form, 2, orders[form % 3]);
    }
}

}  // namespace
}  // namespace sassemu
