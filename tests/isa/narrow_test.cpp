// SPDX-License-Identifier: Apache-2.0
// Formats of 4, 6 and 8 bits, sums and products of mixed precision, and ex2 of pairs, as compiled
// for sm_100a, sm_103a and sm_120a (data/narrow.cu), against a search through all values of a
// format and against the host's own fma. No chip was at hand: the rules are those of the PTX ISA.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <random>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"

namespace sassemu {
namespace {

constexpr uint32_t threads = 8192, outputs = 20;

// Specials, values around what the formats can hold, exact ties, and any bits.
std::vector<uint32_t> operands() {
    std::mt19937 random(7);
    static constexpr uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                           0x7fc00000, 0xffffffff, 1,          0x00400000,
                                           0x00400001, 0x80400000, 0x7f7fffff, 0x7f000000,
                                           0x7f000001, 0x00800000, 0x40e00000, 0x41e00000};
    std::vector<uint32_t> words(2 * threads);
    for (uint32_t& w : words) switch (random() % 4) {
            case 0:
                w = special[random() % std::size(special)];
                break;
            case 1:
                w = random();
                break;
            case 2:  // n / 64 of up to 32: all ties of the small formats
                w = std::bit_cast<uint32_t>(static_cast<float>(random() % 4096) / 64.f) |
                    (random() & 1) << 31;
                break;
            default:
                w = (110 + random() % 30) << 23 | (random() & 0x807fffff);
        }
    return words;
}

struct Ran {
    bool level = true;
    std::vector<uint32_t> out;
};
Ran run(const std::string& arch, HostLevel level, bool reference, const std::vector<uint32_t>& in) {
    GpuOptions options;
    options.level = level;
    options.reference = reference;
    auto gpu = Gpu::create(std::move(options));
    if (!gpu.ok()) return {false, {}};  // this host has no such level
    auto module = load_module_file(SASSEMU_SOURCE_DIR "/tests/isa/data/narrow." + arch + ".cubin");
    EXPECT_TRUE(module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    Ran r;
    r.out.resize(threads * outputs);
    auto from = (*gpu)->allocate(in.size() * 4, "in"),
         to = (*gpu)->allocate(r.out.size() * 4, "out");
    EXPECT_TRUE(id.ok() && from.ok() && to.ok());
    EXPECT_TRUE((*gpu)->write(*from, std::as_bytes(std::span(in))).ok());
    LaunchRequest request;
    request.module = *id;
    request.kernel = "narrow";
    request.grid = {threads / 128, 1, 1};
    request.block = {128, 1, 1};
    request.params.resize(16);
    std::memcpy(request.params.data(), &*from, 8);
    std::memcpy(request.params.data() + 8, &*to, 8);
    auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok() && result->status == LaunchStatus::ok)
        << (result.ok() ? result->message : result.error().what);
    EXPECT_TRUE((*gpu)->read(*to, std::as_writable_bytes(std::span(r.out))));
    return r;
}

// ---- the model

struct Format {
    int exponent, fraction, bias;
    int bits() const { return 1 + exponent + fraction; }
    double value(uint32_t code) const {
        const int e = static_cast<int>(code >> fraction & ((1u << exponent) - 1));
        const double f = (code & ((1u << fraction) - 1)) / std::exp2(fraction);
        const double magnitude = e ? std::exp2(e - bias) * (1 + f) : std::exp2(1 - bias) * f;
        return code >> (exponent + fraction) & 1 ? -magnitude : magnitude;
    }
    // The nearest, of two equally near that with an even code.
    uint32_t nearest(float x, bool relu) const {
        const uint32_t most = (1u << (bits() - 1)) - 1;
        if (std::isnan(x)) return most;
        if (relu && std::signbit(x)) return 0;
        uint32_t best = 0;
        for (uint32_t code = 1; code <= most; ++code) {
            const double now = std::fabs(std::fabs(double{x}) - value(code)),
                         before = std::fabs(std::fabs(double{x}) - value(best));
            if (now < before || (now == before && code % 2 == 0)) best = code;
        }
        if (std::fabs(x) >= value(most)) best = most;
        return best | static_cast<uint32_t>(std::signbit(x)) << (bits() - 1);
    }
};
constexpr Format e2m1{2, 1, 1}, e2m3{2, 3, 1}, e3m2{3, 2, 3};

// The least power of two that is not below, or the greatest that is not above; from 2^-127 on.
// What is larger than all is the largest, or a NaN.
uint32_t scale(float x, bool up, bool saturates = true) {
    if (std::isnan(x)) return 255;
    const double magnitude = std::fabs(double{x});
    for (uint32_t e = 0; e < 255; ++e) {
        const double p = std::exp2(static_cast<int>(e) - 127);
        if (up && p >= magnitude) return e;
        if (!up && 2 * p > magnitude && std::isfinite(x)) return e;
    }
    return saturates ? 254 : 255;
}

float half(uint32_t bits) {
    const uint32_t e = bits >> 10 & 31, f = bits & 1023;
    const float sign = bits >> 15 & 1 ? -1.f : 1.f;
    if (e == 31) return f ? NAN : sign * INFINITY;
    return sign * static_cast<float>(e ? std::ldexp(1024 + f, static_cast<int>(e) - 25)
                                       : std::ldexp(f, -24));
}
uint32_t half_of(double v) {  // exact values only
    for (uint32_t code = 0; code < 0x7c00; ++code)
        if (half(code) == std::fabs(v)) return code | static_cast<uint32_t>(std::signbit(v)) << 15;
    return ~0u;
}
float brain(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

uint32_t rounded(int mode, float x, float y, float z, bool saturates = false) {
    volatile float a = x, b = y, c = z;
    const int before = std::fegetround();
    std::fesetround(mode);
    volatile float r = std::fma(a, b, c);
    std::fesetround(before);
    if (saturates) r = std::isnan(r) || r <= 0 ? 0.f : std::min(float{r}, 1.f);
    return std::isnan(r) ? 0x7fffffff : std::bit_cast<uint32_t>(float{r});
}

void compare(const std::vector<uint32_t>& in, const std::vector<uint32_t>& out, bool pairs) {
    uint32_t halves[64];
    for (uint32_t c = 0; c < 16; ++c) halves[c] = half_of(e2m1.value(c));
    uint32_t of_e2m3[64], of_e3m2[64];
    for (uint32_t c = 0; c < 64; ++c) {
        of_e2m3[c] = half_of(e2m3.value(c));
        of_e3m2[c] = half_of(e3m2.value(c));
    }
    for (uint32_t t = 0; t < threads; ++t) {
        const uint32_t wa = in[2 * t], wb = in[2 * t + 1];
        const float a = std::bit_cast<float>(wa), b = std::bit_cast<float>(wb);
        const uint32_t* r = &out[t * outputs];
        SCOPED_TRACE(testing::Message() << std::hex << "a " << wa << " b " << wb);
        const auto pair = [&](const Format& f, bool relu, uint32_t width) {
            return f.nearest(a, relu) << width | f.nearest(b, relu);
        };
        const uint32_t four = pair(e2m1, false, 4), swapped = (four & 15) << 4 | four >> 4;
        ASSERT_EQ(r[0], four);
        ASSERT_EQ(r[1], pair(e2m1, true, 4));
        ASSERT_EQ(r[2], pair(e2m3, false, 8));
        ASSERT_EQ(r[3], pair(e2m3, true, 8));
        ASSERT_EQ(r[4], pair(e3m2, false, 8));
        ASSERT_EQ(r[5], scale(a, true) << 8 | scale(b, true));
        ASSERT_EQ(r[6], scale(a, false) << 8 | scale(b, false));
        ASSERT_EQ(r[7], halves[wa & 15] | halves[wa >> 4 & 15] << 16);
        ASSERT_EQ(r[8], of_e2m3[wa & 63] | of_e2m3[wa >> 8 & 63] << 16);
        ASSERT_EQ(r[9], of_e3m2[wa & 63] | of_e3m2[wa >> 8 & 63] << 16);
        const auto power = [](uint32_t e) { return e == 255 ? 0x7fffu : e ? e << 7 : 0x40u; };
        ASSERT_EQ(r[10], power(wa & 255) | power(wa >> 8 & 255) << 16);
        ASSERT_EQ(r[11], scale(brain(wa >> 16), false, false) << 8 |
                             scale(brain(wa & 0xffff), false, false));
        ASSERT_EQ(r[12], four | swapped << 8 | swapped << 16 | four << 24);
        const uint32_t low = wb & 0xffff, high = wb >> 16;
        ASSERT_EQ(r[13], rounded(FE_TONEAREST, half(low), 1, a));
        ASSERT_EQ(r[14], rounded(FE_TOWARDZERO, brain(high), 1, -a));
        ASSERT_EQ(r[15], rounded(FE_TONEAREST, half(low), half(high), a));
        ASSERT_EQ(r[16], rounded(FE_UPWARD, brain(low), brain(high), a, true));
        if (!pairs) continue;
        ASSERT_EQ(r[17], r[19]);
        const auto exp2_of = [](uint32_t code) { return std::exp2(double{brain(code)}); };
        for (uint32_t shift = 0; shift < 32; shift += 16) {
            const double want = exp2_of(wa >> shift & 0xffff), got = brain(r[18] >> shift & 0xffff);
            if (std::isnan(want))
                ASSERT_TRUE(std::isnan(got));
            else if (want < 0x1p+127 && want > 0x1p-126)
                ASSERT_NEAR(got / want, 1, 0x1p-7);
        }
    }
}

TEST(Narrow, IsWhatThePtxIsaSays) {
    const std::vector<uint32_t> in = operands();
    for (const char* arch : {"sm_100a", "sm_103a", "sm_120a"})
        for (const bool reference : {false, true}) {
            SCOPED_TRACE(std::string(arch) + (reference ? " reference" : ""));
            const Ran r = run(arch, HostLevel::automatic, reference, in);
            if (!r.level) continue;
            compare(in, r.out, arch == std::string("sm_103a"));
            if (testing::Test::HasFatalFailure()) return;
        }
}

TEST(Narrow, TheSameOnEveryHostLevel) {
    const std::vector<uint32_t> in = operands();
    const Ran best = run("sm_103a", HostLevel::automatic, false, in);
    for (const HostLevel level : {HostLevel::v2, HostLevel::v3}) {
        const Ran r = run("sm_103a", level, false, in);
        if (r.level) EXPECT_EQ(r.out, best.out);
    }
}

}  // namespace
}  // namespace sassemu
