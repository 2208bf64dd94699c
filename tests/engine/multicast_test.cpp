// SPDX-License-Identifier: Apache-2.0
// Multicast objects (memory/multicast.hpp): every operator of every type of multimem.ld_reduce,
// stores and reductions to all members, and what is refused.
#include "emu/memory/multicast.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <random>

#include "emu/machine.hpp"

namespace sassemu {
namespace {

using Words = std::array<uint32_t, 4>;

Words combined(AtomicOp op, LoadReduceType type, std::vector<Words> members, bool wide = false,
               uint32_t bytes = 16) {
    std::vector<const uint32_t*> at;
    for (const Words& member : members) at.push_back(member.data());
    Words result{};
    combine({op, type, wide}, at, bytes, result.data());
    return result;
}
uint32_t bits(float v) { return std::bit_cast<uint32_t>(v); }

TEST(Combine, IntegersStepByStep) {
    const std::vector<Words> three{{5, 0x80000000, 7, 1}, {3, 1, 0xffffffff, 2}, {4, 9, 0xf0, 3}};
    EXPECT_EQ(combined(AtomicOp::add, LoadReduceType::u32, three),
              (Words{12, 0x8000000a, 0xf6, 6}));
    EXPECT_EQ(combined(AtomicOp::min, LoadReduceType::s32, three), (Words{3, 0x80000000, ~0u, 1}));
    EXPECT_EQ(combined(AtomicOp::min, LoadReduceType::u32, three), (Words{3, 1, 7, 1}));
    EXPECT_EQ(combined(AtomicOp::and_, LoadReduceType::u32, three), (Words{0, 0, 0, 0}));
    // 64 bits: the carry goes on, and the sign is the upper word's.
    EXPECT_EQ(
        combined(AtomicOp::add, LoadReduceType::u64, {{~0u, 1, 0, 0}, {1, 1, 0, 0}}, false, 8),
        (Words{0, 3, 0, 0}));
    EXPECT_EQ(
        combined(AtomicOp::max, LoadReduceType::s64, {{9, ~0u, 0, 0}, {1, 0, 0, 0}}, false, 8),
        (Words{1, 0, 0, 0}));
}

TEST(Combine, FloatsKeepSubnormals) {
    EXPECT_EQ(combined(AtomicOp::add, LoadReduceType::f32,
                       {{1, bits(1e30f), bits(0.5f), 0x7f800000},
                        {1, bits(-1e30f), bits(0.25f), 0xff800000},
                        {1, bits(1.0f), bits(2.0f), 0}}),
              (Words{3, bits(1.0f), bits(2.75f), 0x7fffffff}));
}

// 1, and three times half of what f16 and bf16 have there: nothing step by step, and 2 steps (of
// 1.5, to even) if the sum is wider.
TEST(Combine, WiderSumsRoundOnce) {
    const auto all = [](uint32_t v) { return Words{v, v, v, v}; };
    const uint32_t tiny = 0x10001000;  // 2^-11 in f16
    EXPECT_EQ(combined(AtomicOp::add, LoadReduceType::f16,
                       {all(0x3c003c00), all(tiny), all(tiny), all(tiny)}),
              all(0x3c003c00));
    EXPECT_EQ(combined(AtomicOp::add, LoadReduceType::f16,
                       {all(0x3c003c00), all(tiny), all(tiny), all(tiny)}, true),
              all(0x3c023c02));
    const uint32_t small = 0x3b803b80;  // 2^-8 in bf16
    EXPECT_EQ(combined(AtomicOp::add, LoadReduceType::bf16,
                       {all(0x3f803f80), all(small), all(small), all(small)}),
              all(0x3f803f80));
    EXPECT_EQ(combined(AtomicOp::add, LoadReduceType::bf16,
                       {all(0x3f803f80), all(small), all(small), all(small)}, true),
              all(0x3f823f82));
    // e4m3: 1 + 3 * 2^-4. In f16 the sum is exact.
    EXPECT_EQ(combined(AtomicOp::add, LoadReduceType::e4m3,
                       {all(0x38383838), all(0x18181818), all(0x18181818), all(0x18181818)}),
              all(0x38383838));
    EXPECT_EQ(combined(AtomicOp::add, LoadReduceType::e4m3,
                       {all(0x38383838), all(0x18181818), all(0x18181818), all(0x18181818)}, true),
              all(0x3a3a3a3a));
}

// All pairs of numbers of the small formats, against sums of their values rounded by search.
TEST(Combine, SmallFormatsRoundToTheNearest) {
    for (const bool e4m3 : {false, true}) {
        const auto value = [&](uint32_t code) {
            const int mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
            const int e = static_cast<int>(code >> mantissa & (e4m3 ? 15u : 31u));
            const double m = code & ((1u << mantissa) - 1);
            return (code & 0x80 ? -1 : 1) *
                   std::ldexp(e ? m + (1 << mantissa) : m, (e ? e : 1) - bias - mantissa);
        };
        const uint32_t last = e4m3 ? 0x7e : 0x7b;
        const auto type = e4m3 ? LoadReduceType::e4m3 : LoadReduceType::e5m2;
        for (uint32_t a = 0; a <= 0xff; ++a)
            for (uint32_t b = 0; b <= 0xff; b += 3) {
                if ((a & 0x7f) > last || (b & 0x7f) > last) continue;
                const double sum = value(a) + value(b);
                uint32_t best = 0;
                for (uint32_t c = 1; c <= last; ++c) {
                    const double now = std::fabs(std::fabs(sum) - value(c)),
                                 then = std::fabs(std::fabs(sum) - value(best));
                    if (now < then || (now == then && c % 2 == 0)) best = c;
                }
                const bool negative = sum < 0 || (sum == 0 && (a & b & 0x80));
                const uint32_t got =
                    combined(AtomicOp::add, type, {{a, 0, 0, 0}, {b, 0, 0, 0}}, false, 4)[0] & 0xff;
                ASSERT_EQ(got, best | (negative ? 0x80 : 0))
                    << a << " + " << b << ", e4m3 " << e4m3;
            }
    }
}

TEST(Combine, LeastAndLargestPassByNaN) {
    EXPECT_EQ(
        combined(AtomicOp::min, LoadReduceType::f16,
                 {{0x7e003c00, 0x80000000, 0x7fff7fff, 0}, {0x40004000, 0, 0x7e017e01, 0}})[0],
        0x40003c00u);
    EXPECT_EQ(combined(AtomicOp::max, LoadReduceType::bf16,
                       {{0x8000ff80, 0, 0, 0}, {0x00003f80, 0, 0, 0}})[0],
              0x00003f80u);
    EXPECT_EQ(combined(AtomicOp::min, LoadReduceType::e4m3,
                       {{0x7f807f00, 0, 0, 0}, {0x380038ff, 0, 0, 0}}, false, 4)[0],
              0x38803800u);
}

// ---- by kernels

class Multimem : public ::testing::TestWithParam<const char*> {
  protected:
    static constexpr uint32_t gpus = 3;
    void SetUp() override {
        const bool hopper = std::string(GetParam()) == "sm_90";
        auto profile = device_profile(hopper ? "h200" : "b200");
        ASSERT_TRUE(profile);
        GpuOptions options;
        options.deterministic = true;
        auto machine = Machine::create(options, std::vector<DeviceProfile>(gpus, *profile));
        ASSERT_TRUE(machine) << machine.error().message();
        machine_ = std::move(*machine);
        Limits limits;
        limits.seconds = 60;
        machine_->set_limits(limits);
        auto module = load_module_file(SASSEMU_SOURCE_DIR "/cubins/multimem/" +
                                       std::string(GetParam()) + ".cubin");
        ASSERT_TRUE(module) << module.error().message();
        module_ = *(*machine_->gpu(0))->load(std::make_shared<const Module>(std::move(*module)));
        for (uint32_t g = 0; g < gpus; ++g)
            members_.push_back(*(*machine_->gpu(g))->allocate(bytes, "copy"));
        all_ = *machine_->allocate_multicast(members_, bytes, "all");
        out_ = *(*machine_->gpu(0))->allocate(bytes, "out");
    }
    LaunchResult run(const char* kernel, uint64_t a, uint64_t b) {
        LaunchRequest r;
        r.module = module_;
        r.kernel = kernel;
        r.grid = r.block = {1, 1, 1};
        for (const uint64_t v : {a, b}) {
            const auto raw = std::as_bytes(std::span(&v, 1));
            r.params.insert(r.params.end(), raw.begin(), raw.end());
        }
        const auto id = machine_->launch({0, 0}, r);
        EXPECT_TRUE(id) << id.error().message();
        return machine_->result(*id)->result;
    }
    std::vector<Words> read(uint64_t at) {
        std::vector<Words> words(bytes / 16);
        EXPECT_TRUE(machine_->read(at, std::as_writable_bytes(std::span(words))));
        return words;
    }
    static constexpr uint64_t bytes = 512;
    std::unique_ptr<Machine> machine_;
    ModuleId module_{};
    std::vector<uint64_t> members_;
    uint64_t all_ = 0, out_ = 0;
};

TEST_P(Multimem, LoadsCombineEveryType) {
    std::mt19937 random(1);
    std::vector<std::vector<Words>> held(gpus, std::vector<Words>(bytes / 16));
    for (uint32_t g = 0; g < gpus; ++g) {
        for (Words& words : held[g])
            for (uint32_t& word : words) word = static_cast<uint32_t>(random()) & 0xbfffbfff;
        ASSERT_TRUE(machine_->write(members_[g], std::as_bytes(std::span(held[g]))));
    }
    const LaunchResult ended = run("load_every_type", all_, out_);
    ASSERT_EQ(ended.status, LaunchStatus::ok) << ended.message;
    using T = LoadReduceType;
    struct Case {
        AtomicOp op;
        T type;
        uint32_t bytes;
        bool wide = false;
    };
    using enum AtomicOp;
    std::vector<Case> cases{{add, T::u32, 4},   {min, T::u32, 4},         {max, T::u32, 4},
                            {min, T::s32, 4},   {max, T::s32, 4},         {and_, T::u32, 4},
                            {or_, T::u32, 4},   {xor_, T::u32, 4},        {add, T::u64, 8},
                            {min, T::u64, 8},   {max, T::s64, 8},         {xor_, T::u64, 8},
                            {add, T::f64, 8},   {add, T::f32, 16},        {add, T::f16, 16},
                            {min, T::f16, 16},  {max, T::f16, 16},        {add, T::f16, 16, true},
                            {add, T::bf16, 16}, {add, T::bf16, 16, true}, {max, T::bf16, 16}};
    if (std::string(GetParam()) != "sm_90")
        for (const Case& c : {Case{add, T::e5m2, 16}, Case{min, T::e5m2, 16},
                              Case{add, T::e4m3, 16, true}, Case{max, T::e4m3, 16}})
            cases.push_back(c);
    const auto out = read(out_);
    for (size_t i = 0; i < cases.size(); ++i) {
        const Case& c = cases[i];
        Words expected =
            combined(c.op, c.type, {held[0][i], held[1][i], held[2][i]}, c.wide, c.bytes);
        EXPECT_EQ(out[i], expected) << "case " << i;
    }
}

TEST_P(Multimem, StoresAndReductionsGoToAllMembers) {
    for (uint32_t g = 0; g < gpus; ++g) {
        std::vector<uint32_t> words(bytes / 4, g + 1);
        words[4 * 5] = words[4 * 5 + 1] = 0;
        for (uint32_t k = 0; k < 4; ++k) words[4 * 6 + k] = bits(static_cast<float>(g));
        for (uint32_t k = 0; k < 4; ++k) words[4 * 7 + k] = words[4 * 8 + k] = 0;
        ASSERT_TRUE(machine_->write(members_[g], std::as_bytes(std::span(words))));
    }
    const Words in{11, 2, 0x33333333, 0x44444444};
    ASSERT_TRUE(machine_->write(out_, std::as_bytes(std::span(in))));
    const LaunchResult ended = run("store_every_type", all_, out_);
    ASSERT_EQ(ended.status, LaunchStatus::ok) << ended.message;
    for (uint32_t g = 0; g < gpus; ++g) {
        const auto held = read(members_[g]);
        const uint32_t was = g + 1;
        const float f = static_cast<float>(g);
        EXPECT_EQ(held[0], (Words{11, was, was, was}));
        EXPECT_EQ(held[1], in);
        EXPECT_EQ(held[2][0], was + 11);
        EXPECT_EQ(held[3][0], std::max(was, 2u));
        EXPECT_EQ(held[4], (Words{was ^ 11, was ^ 2, was, was}));
        EXPECT_EQ(held[5], (Words{0, 0x3fe00000, was, was}));  // 0.5
        EXPECT_EQ(held[6], (Words{bits(f + 1), bits(f + 1), bits(f + 1), bits(f + 2)}));
        EXPECT_EQ(held[7], (Words{0x3c004000, 0x3c004000, 0x3c004000, 0x44003c00}));
        EXPECT_EQ(held[8], (Words{0x3f803f80, 0x3f803f80, 0x3f803f80, 0x00004000}));
    }
}

TEST_P(Multimem, NothingElseIsPossible) {
    const auto fault = [&](const char* kernel, uint64_t from) {
        const LaunchResult ended = run(kernel, from, out_);
        return ended.fault ? ended.fault->report() : "no fault: " + ended.message;
    };
    const auto says = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    std::string text = fault("plain_load", all_);
    EXPECT_TRUE(says(text, "a multicast object takes multimem.st") && says(text, "'all'")) << text;
    text = fault("load_plain_memory", members_[0]);
    EXPECT_TRUE(says(text, "reads multicast objects only")) << text;
    uint32_t word = 0;
    EXPECT_FALSE(machine_->read(all_, std::as_writable_bytes(std::span(&word, 1))));
    EXPECT_FALSE(machine_->allocate_multicast({members_[0] + 256}, bytes, "too long"));
    EXPECT_FALSE(machine_->allocate_multicast({members_[0] + 4}, 16, "askew"));
    EXPECT_FALSE(machine_->allocate_multicast({all_}, 16, "of itself"));
    EXPECT_FALSE(machine_->allocate_multicast({}, 16, "of nothing"));
    // A member that is gone, and the object itself.
    ASSERT_TRUE(machine_->release(members_[1]));
    text = fault("load_every_type", all_);
    EXPECT_TRUE(says(text, "freed")) << text;
    ASSERT_TRUE(machine_->release(all_));
    text = fault("load_every_type", all_);
    EXPECT_TRUE(says(text, "freed")) << text;
}

INSTANTIATE_TEST_SUITE_P(Archs, Multimem, ::testing::Values("sm_90", "sm_100a"));

}  // namespace
}  // namespace sassemu
