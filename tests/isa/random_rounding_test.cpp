// SPDX-License-Identifier: Apache-2.0
// cvt.rs as compiled for sm_100a (data/random.cu), against floor(|x| / ulp + random / 2^n) in fp64.
// The rule is that of the PTX ISA; which random bits are whose, is assumed
// (emu/isa/ARCHITECTURES.md, D13).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"

namespace sassemu {
namespace {

constexpr uint32_t threads = 4096, inputs = 5, outputs = 14;

struct Format {
    int bits, fraction, least, random;  // least: exponent of the least normal number
    uint32_t largest, infinity, nan;    // infinity: of those that have none, beyond the largest
    uint32_t round(float x, uint32_t by, bool finite, bool relu) const {
        if (std::isnan(x)) return nan;
        if (relu && std::signbit(x)) return 0;
        const uint32_t sign = static_cast<uint32_t>(std::signbit(x)) << (bits - 1);
        if (std::isinf(x)) return sign | (finite ? largest : infinity);
        const double magnitude = std::fabs(double{x});
        const int exponent = magnitude ? std::max(std::ilogb(magnitude), least) : least;
        const double ulp = std::ldexp(1.0, exponent - fraction);
        const auto quanta =
            static_cast<uint64_t>(std::floor(magnitude / ulp + std::ldexp(by, -random)));
        const uint64_t code = (static_cast<uint64_t>(exponent - least) << fraction) + quanta;
        if (code > largest) return sign | (finite ? largest : infinity);
        return sign | static_cast<uint32_t>(code);
    }
};
constexpr Format f16{16, 10, -14, 13, 0x7bff, 0x7c00, 0x7fff},
    bf16{16, 7, -126, 16, 0x7f7f, 0x7f80, 0x7fff}, e4m3{8, 3, -6, 8, 0x7e, 0, 0x7f},
    e5m2{8, 2, -14, 8, 0x7b, 0, 0x7f}, e2m3{6, 3, 0, 8, 0x1f, 0, 0x1f},
    e3m2{6, 2, -2, 8, 0x1f, 0, 0x1f}, e2m1{4, 1, 0, 8, 7, 0, 7};

uint32_t two(const uint32_t* in, const Format& f, bool finite, bool relu) {
    const uint32_t own = (1u << f.random) - 1;
    const auto x = [&](int k) { return std::bit_cast<float>(in[k]); };
    return f.round(x(0), in[4] >> 16 & own, finite, relu) << 16 |
           f.round(x(1), in[4] & own, finite, relu);
}
uint32_t four(const uint32_t* in, const Format& f, bool relu) {
    uint32_t r = 0;
    for (int k = 0; k < 4; ++k) {
        uint32_t by = in[4] >> ((k < 2 ? 16 : 0) + (k % 2 ? 8 : 0)) & 0xff;
        if (k % 2 == 0) {
            uint32_t reversed = 0;
            for (int b = 0; b < 8; ++b) reversed |= (by >> b & 1) << (7 - b);
            by = reversed;
        }
        r = r << (f.bits == 4 ? 4 : 8) | f.round(std::bit_cast<float>(in[k]), by, true, relu);
    }
    return r;
}

TEST(RandomRounding, CarriesIntoWhatIsKept) {
    std::mt19937 random(11);
    static constexpr uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                           0x7fc00000, 0xffffffff, 1,          0x80400000,
                                           0x7f7fffff, 0x477fefff, 0x43e7ffff, 0x47600000};
    std::vector<uint32_t> in(threads * inputs), out(threads * outputs);
    for (size_t k = 0; k < in.size(); ++k)
        in[k] = k % inputs == 4     ? static_cast<uint32_t>(random())
                : random() % 8 == 0 ? special[random() % std::size(special)]
                : random() % 8 == 0
                    ? static_cast<uint32_t>(random())
                    : static_cast<uint32_t>((95 + random() % 50) << 23 | (random() & 0x807fffff));
    auto gpu = Gpu::create({});
    auto module = load_module_file(SASSEMU_SOURCE_DIR "/tests/isa/data/random.sm_100a.cubin");
    ASSERT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    auto from = (*gpu)->allocate(in.size() * 4, "in"), to = (*gpu)->allocate(out.size() * 4, "out");
    ASSERT_TRUE(id.ok() && from.ok() && to.ok());
    ASSERT_TRUE((*gpu)->write(*from, std::as_bytes(std::span(in))).ok());
    LaunchRequest request;
    request.module = *id;
    request.kernel = "random_bits";
    request.grid = {threads / 128, 1, 1};
    request.block = {128, 1, 1};
    request.params.resize(16);
    std::memcpy(request.params.data(), &*from, 8);
    std::memcpy(request.params.data() + 8, &*to, 8);
    auto result = (*gpu)->launch(request);
    ASSERT_TRUE(result.ok() && result->status == LaunchStatus::ok)
        << (result.ok() ? result->message : result.error().what);
    ASSERT_TRUE((*gpu)->read(*to, std::as_writable_bytes(std::span(out))));
    for (uint32_t t = 0; t < threads; ++t) {
        const uint32_t* i = &in[t * inputs];
        const uint32_t want[outputs] = {
            two(i, f16, false, false),  two(i, f16, true, false),  two(i, f16, false, true),
            two(i, bf16, false, false), two(i, bf16, true, false), two(i, bf16, false, true),
            four(i, e4m3, false),       four(i, e4m3, true),       four(i, e5m2, false),
            four(i, e2m3, false),       four(i, e2m3, true),       four(i, e3m2, false),
            four(i, e2m1, false),       four(i, e2m1, true)};
        for (uint32_t k = 0; k < outputs; ++k)
            ASSERT_EQ(out[t * outputs + k], want[k])
                << "output " << k << " of " << std::hex << i[0] << " " << i[1] << " " << i[2] << " "
                << i[3] << " by " << i[4];
    }
}

}  // namespace
}  // namespace sassemu
