// SPDX-License-Identifier: Apache-2.0
// IMMA and IMMA.SP of 4-bit integers, which no chip at hand has: one PTX kernel (data/nibbles.cu)
// as code of sm_75 and sm_80, and as sm_90 code, where ptxas makes 8-bit instructions of it that
// were measured on an H200. All must give the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"

namespace sassemu {
namespace {

constexpr uint32_t warps = 200, lane_words = 13, results = 4;

// Two of the four pairs of each group, in order: what the PTX ISA allows.
uint32_t metadata(std::mt19937& random) {
    constexpr uint32_t pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
    uint32_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 4 | pairs[random() % 6];
    return word;
}

// Accumulators near the ends too, so that .satfinite has something to do.
std::vector<uint32_t> operands(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint32_t> words;
    for (uint32_t lane = 0; lane < 32 * warps; ++lane) {
        for (int i = 0; i < 8; ++i) words.push_back(uint32_t(random()));
        for (int i = 0; i < 4; ++i) {
            const uint32_t kind = random() % 4, small = random() % 4096;
            words.push_back(kind == 0   ? 0x7fffffffu - small
                            : kind == 1 ? 0x80000000u + small
                                        : uint32_t(random()));
        }
        words.push_back(metadata(random));
    }
    return words;
}

std::vector<uint32_t> run(const std::string& arch, HostLevel level, uint32_t form,
                          const std::vector<uint32_t>& in) {
    GpuOptions options;
    options.level = level;
    auto gpu = Gpu::create(std::move(options));
    if (!gpu.ok()) return {};  // this host has no such level
    auto module = load_module_file(SASSEMU_SOURCE_DIR "/tests/isa/data/nibbles." + arch + ".cubin");
    EXPECT_TRUE(module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    std::vector<uint32_t> out(32 * warps * results);
    auto from = (*gpu)->allocate(in.size() * 4, "in"), to = (*gpu)->allocate(out.size() * 4, "out");
    EXPECT_TRUE(id.ok() && from.ok() && to.ok());
    EXPECT_TRUE((*gpu)->write(*from, std::as_bytes(std::span(in))).ok());
    LaunchRequest request;
    request.module = *id;
    request.kernel = "nibbles";
    request.grid = {warps, 1, 1};
    request.block = {32, 1, 1};
    request.params.resize(20);
    std::memcpy(request.params.data(), &*from, 8);
    std::memcpy(request.params.data() + 8, &*to, 8);
    std::memcpy(request.params.data() + 16, &form, 4);
    const auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result->status, LaunchStatus::ok);
    EXPECT_TRUE((*gpu)->read(*to, std::as_writable_bytes(std::span(out))).ok());
    return out;
}

// Forms of the kernel: eight for each shape, the last four saturate. sm_75 has the first shape, of
// half the results.
constexpr uint32_t shapes = 5, forms = 8, saturating = 4;

TEST(Nibbles, AsTheBytesThatPtxasMakesOfThem) {
    for (uint32_t form = 0; form < shapes * forms; ++form) {
        const std::vector<uint32_t> in = operands(form);
        const std::vector<uint32_t> want = run("sm_90", HostLevel::automatic, form, in);
        EXPECT_GT(std::set<uint32_t>(want.begin(), want.end()).size(), want.size() / 8)
            << "form " << form;
        if (form % forms >= saturating) {
            for (const uint32_t end : {0x7fffffffu, 0x80000000u})
                if (end >> 31 == 0 ||
                    form % saturating !=
                        3) {  // products without a sign hold at the upper end alone
                    EXPECT_GT(std::count(want.begin(), want.end(), end), 20) << "form " << form;
                }
        }
        for (const char* arch : {"sm_75", "sm_80"}) {
            if (form >= forms && arch == std::string("sm_75")) continue;
            for (const HostLevel level : {HostLevel::v2, HostLevel::v3, HostLevel::v4}) {
                const std::vector<uint32_t> got = run(arch, level, form, in);
                EXPECT_TRUE(got.empty() || got == want)
                    << "form " << form << " on " << arch << ", level v"
                    << 2 + int(level) - int(HostLevel::v2);
            }
        }
    }
}

}  // namespace
}  // namespace sassemu
