// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces: every addressing mode, filtering against an independent model, argument
// and result registers of each encoding, boundaries of surfaces.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/isa/harness.hpp"

namespace sassemu::test {
namespace {

class Textures : public ::testing::TestWithParam<const LevelTable*> {};

struct Plane {
    uint64_t handle = 0;
    std::byte* host = nullptr;
    TextureDesc desc;
};

Plane make(Machine& m, TextureDesc desc, uint32_t texel_bytes, bool surface = false) {
    Plane p;
    const uint64_t rows = uint64_t{desc.height ? desc.height : 1} * (desc.depth ? desc.depth : 1);
    p.host = m.allocate(rows * desc.width * texel_bytes, desc.address);
    p.desc = desc;
    auto handle = m.textures.add(desc, surface);
    EXPECT_TRUE(handle);
    p.handle = handle ? *handle : 0;
    return p;
}

// The index that an addressing mode gives; -1 for the border. Written with fractions, as the
// programming guide has it, where the code under test works on indices.
int index_model(double x, int n, AddressMode mode, bool normalized) {
    if (normalized && (mode == AddressMode::wrap || mode == AddressMode::mirror)) {
        double u = x / n;
        const double whole = std::floor(u);
        u -= whole;
        if (mode == AddressMode::mirror && static_cast<long long>(whole) % 2 != 0) u = 1 - u;
        // On a boundary of the reflected half, the lower texel is meant.
        double t = u * n;
        if (mode == AddressMode::mirror && static_cast<long long>(whole) % 2 != 0)
            t = std::ceil(t) - 1;
        return static_cast<int>(std::min<double>(std::floor(t), n - 1));
    }
    const double i = std::floor(x);
    if (mode == AddressMode::border && (i < 0 || i >= n)) return -1;
    return static_cast<int>(std::min<double>(std::max<double>(i, 0), n - 1));
}

TEST_P(Textures, PointSamplingInAllModes) {
    std::mt19937 rng(2);
    for (bool normalized : {false, true})
        for (AddressMode mx :
             {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror, AddressMode::border})
            for (AddressMode my : {AddressMode::clamp, AddressMode::mirror, AddressMode::border}) {
                Machine m(GetParam());
                TextureDesc d;
                d.width = 8, d.height = 4;
                d.normalized_coords = normalized;
                d.address_mode[0] = mx;
                d.address_mode[1] = my;
                Plane p = make(m, d, 4);
                float texels[32];
                for (float& t : texels) t = static_cast<float>(rng() % 1000);
                std::memcpy(p.host, texels, sizeof texels);
                m.ur(6) = static_cast<uint32_t>(p.handle);
                float x[32], y[32];
                for (unsigned lane = 0; lane < 32; ++lane) {
                    // Away from texel boundaries, so that no rounding decides.
                    x[lane] = static_cast<float>(static_cast<int>(rng() % 30) - 12) + 0.375f;
                    y[lane] = static_cast<float>(static_cast<int>(rng() % 16) - 6) + 0.625f;
                    const float u = normalized ? x[lane] / 8 : x[lane];
                    const float v = normalized ? y[lane] / 4 : y[lane];
                    std::memcpy(&m.r(12, lane), &u, 4);
                    std::memcpy(&m.r(13, lane), &v, 4);
                    m.r(16, lane) = 0xc2000000;
                }
                ASSERT_EQ(m.step("sm_90a", Word("000f6200099e03ff200006100c027f60")), Outcome::ok)
                    << m.sass << m.rejection << (m.fault() ? m.fault()->what : "");
                for (unsigned lane = 0; lane < 32; ++lane) {
                    const int i = index_model(x[lane], 8, mx, normalized);
                    const int j = index_model(y[lane], 4, my, normalized);
                    const float want = i < 0 || j < 0 ? 0.0f : texels[j * 8 + i];
                    float got;
                    std::memcpy(&got, &m.r(2, lane), 4);
                    ASSERT_EQ(got, want) << m.sass << " " << x[lane] << " " << y[lane] << " modes "
                                         << int(mx) << int(my) << normalized;
                }
            }
}

TEST_P(Textures, LinearFilteringUsesEightBitWeights) {
    std::mt19937 rng(4);
    Machine m(GetParam());
    TextureDesc d;
    d.width = 8, d.height = 4;
    d.filter = FilterMode::linear;
    Plane p = make(m, d, 4);
    float texels[32];
    for (float& t : texels) t = static_cast<float>(rng() % 1000) / 16.0f;
    std::memcpy(p.host, texels, sizeof texels);
    m.ur(6) = static_cast<uint32_t>(p.handle);
    float u[32], v[32];
    for (unsigned lane = 0; lane < 32; ++lane) {
        u[lane] = static_cast<float>(rng() % 10000) / 1000.0f - 1.0f;
        v[lane] = static_cast<float>(rng() % 6000) / 1000.0f - 1.0f;
        std::memcpy(&m.r(12, lane), &u[lane], 4);
        std::memcpy(&m.r(13, lane), &v[lane], 4);
    }
    ASSERT_EQ(m.step("sm_90a", Word("000f6200099e01ff200006100c027f60")), Outcome::ok);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const double x = u[lane] - 0.5, y = v[lane] - 0.5;
        const double i = std::floor(x), j = std::floor(y);
        const double a = std::round((x - i) * 256) / 256, b = std::round((y - j) * 256) / 256;
        const auto at = [&](double k, double l) {
            const int cx = static_cast<int>(std::min(std::max(k, 0.0), 7.0));
            const int cy = static_cast<int>(std::min(std::max(l, 0.0), 3.0));
            return static_cast<double>(texels[cy * 8 + cx]);
        };
        // The far corner's weight is rounded to 1/256, and the others keep the sums of the sides.
        const double c = std::floor(a * b * 256 + 0.5) / 256;
        const double want = (1 - a - b + c) * at(i, j) + (a - c) * at(i + 1, j) +
                            (b - c) * at(i, j + 1) + c * at(i + 1, j + 1);
        float got;
        std::memcpy(&got, &m.r(2, lane), 4);
        // The texels have so few bits that the blend is exact.
        ASSERT_EQ(got, want) << u[lane] << " " << v[lane];
    }
}

// Recorded on an H200: (71 + 166) / 2 as 16-bit units is 30454.5, and rounds up.
TEST_P(Textures, NormalisedBytesBlendAsSixteenBits) {
    Machine m(GetParam());
    TextureDesc d;
    d.width = 2, d.height = 1;
    d.format = TextureFormat::u8;
    d.read_normalized = true;
    d.filter = FilterMode::linear;
    Plane p = make(m, d, 1);
    p.host[0] = std::byte{71};
    p.host[1] = std::byte{166};
    m.ur(6) = static_cast<uint32_t>(p.handle);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const float u = 1.0f, v = 0.5f;
        std::memcpy(&m.r(12, lane), &u, 4);
        std::memcpy(&m.r(13, lane), &v, 4);
    }
    ASSERT_EQ(m.step("sm_90a", Word("000f6200099e03ff200006100c027f60")), Outcome::ok);
    float got;
    std::memcpy(&got, &m.r(2, 9), 4);
    EXPECT_EQ(got, 30455.0f / 65535.0f);
}

// A tie of the last bit goes away from zero: (1 + (1 + 2^-23)) / 2 is halfway between the two.
TEST_P(Textures, FloatBlendsRoundTiesAway) {
    Machine m(GetParam());
    TextureDesc d;
    d.width = 2, d.height = 1;
    d.filter = FilterMode::linear;
    Plane p = make(m, d, 4);
    const uint32_t texels[2] = {0x3f800000, 0x3f800001};
    std::memcpy(p.host, texels, 8);
    m.ur(6) = static_cast<uint32_t>(p.handle);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const float u = 1.0f, v = 0.5f;
        std::memcpy(&m.r(12, lane), &u, 4);
        std::memcpy(&m.r(13, lane), &v, 4);
    }
    ASSERT_EQ(m.step("sm_90a", Word("000f6200099e03ff200006100c027f60")), Outcome::ok);
    EXPECT_EQ(m.r(2, 0), 0x3f800001u);
}

TEST_P(Textures, FormatsAndResultRegisters) {
    Machine m(GetParam());
    TextureDesc d;
    d.width = 8, d.height = 1;
    d.format = TextureFormat::u8;
    d.channels = 4;
    Plane p = make(m, d, 4);
    for (int i = 0; i < 32; ++i) p.host[i] = static_cast<std::byte>(100 + i);
    // Bound handle of sm_80, scalar arguments, all components: x, y in R12, z, w in R8.
    std::memcpy(m.bank(0) + 0x5a * 4, &p.handle, 8);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const float u = static_cast<float>(lane % 8) + 0.5f, v = 0.5f;
        std::memcpy(&m.r(10, lane), &u, 4);
        std::memcpy(&m.r(11, lane), &v, 4);
    }
    ASSERT_EQ(m.step("sm_80", Word("040f4200019e0f0830005a100a0c7b60")), Outcome::ok)
        << m.sass << m.rejection;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const uint32_t first = 100 + lane % 8 * 4;
        EXPECT_EQ(m.r(12, lane), first) << m.sass;
        EXPECT_EQ(m.r(13, lane), first + 1);
        EXPECT_EQ(m.r(8, lane), first + 2);
        EXPECT_EQ(m.r(9, lane), first + 3);
    }
    // Only y and w: packed into the first pair.
    Word two("040f4200019e0a0830005a100a0c7b60");
    m.r(8, 0) = 77;
    ASSERT_EQ(m.step("sm_80", two), Outcome::ok) << m.sass;
    EXPECT_EQ(m.r(12, 1), 105u);
    EXPECT_EQ(m.r(13, 1), 107u);
    EXPECT_EQ(m.r(8, 0), 77u);
    // Normalised reads of signed bytes, handle in a register: R6 = handle, R7 = level.
    d.format = TextureFormat::s8;
    d.read_normalized = true;
    d.channels = 1;
    Plane q = make(m, d, 1);
    q.host[0] = std::byte{127};
    q.host[1] = std::byte{0x80};
    for (unsigned lane = 0; lane < 32; ++lane) {
        const float u = lane & 1 ? 1.5f : 0.5f, v = 0.5f;
        std::memcpy(&m.r(12, lane), &u, 4);
        std::memcpy(&m.r(13, lane), &v, 4);
        m.r(6, lane) = static_cast<uint32_t>(q.handle);
        m.r(7, lane) = 0xc2000000;
    }
    ASSERT_EQ(m.step("sm_75", Word("044fc400019e01ff380000060c067361")), Outcome::ok)
        << m.sass << m.rejection;
    for (unsigned lane = 0; lane < 32; ++lane)
        EXPECT_EQ(m.r(6, lane), lane & 1 ? 0xbf800000u : 0x3f800000u) << m.sass;
}

TEST_P(Textures, FetchByIndex) {
    Machine m(GetParam());
    TextureDesc d;
    d.width = 20;
    d.linear_memory = true;
    Plane p = make(m, d, 4);
    for (int i = 0; i < 20; ++i) {
        const float t = static_cast<float>(i * i);
        std::memcpy(p.host + 4 * i, &t, 4);
    }
    m.ur(6) = static_cast<uint32_t>(p.handle);
    for (unsigned lane = 0; lane < 32; ++lane) m.r(2, lane) = lane - 4;
    m.p(0) = 0;
    ASSERT_EQ(m.step("sm_90a", Word("02216200089e01ff000006ff02078f66")), Outcome::ok)
        << m.sass << m.rejection;
    for (int lane = 0; lane < 32; ++lane) {
        float got;
        std::memcpy(&got, &m.r(7, static_cast<unsigned>(lane)), 4);
        const int i = lane - 4;
        EXPECT_EQ(got, i < 0 || i >= 20 ? 0.0f : static_cast<float>(i * i)) << m.sass << lane;
    }
}

TEST_P(Textures, UnknownHandleFaults) {
    Machine m(GetParam());
    m.ur(6) = 12345;
    ASSERT_EQ(m.step("sm_90a", Word("000f6200099e03ff200006100c027f60")), Outcome::fault);
    EXPECT_EQ(m.fault()->kind, FaultKind::illegal_texture);
}

TEST_P(Textures, QueriesGiveTheSize) {
    Machine m(GetParam());
    TextureDesc d;
    d.width = 40, d.height = 30;
    Plane p = make(m, d, 4);
    m.ur(4) = static_cast<uint32_t>(p.handle);
    ASSERT_EQ(m.step("sm_90a", Word("002f6200080002ff000004001d067f6f")), Outcome::ok)
        << m.sass << m.rejection;
    EXPECT_EQ(m.r(6, 5), 30u) << m.sass;
    ASSERT_EQ(m.step("sm_90a", Word("000fe200080001ff000004001c187f6f")), Outcome::ok);
    EXPECT_EQ(m.r(24, 5), 40u) << m.sass;
}

TEST_P(Textures, SurfaceBoundaries) {
    Machine m(GetParam());
    TextureDesc d;
    d.width = 8, d.height = 4;
    Plane p = make(m, d, 4, true);
    for (int i = 0; i < 32; ++i) {
        const uint32_t v = static_cast<uint32_t>(1000 + i);
        std::memcpy(p.host + 4 * i, &v, 4);
    }
    m.ur(4) = static_cast<uint32_t>(p.handle);
    const Word load("001f6200081ea9006000040002157f99");  // .2D.IGN R21, [R2], UR4
    for (unsigned lane = 0; lane < 32; ++lane) {
        m.r(2, lane) = (lane % 12 - 2) * 4;
        m.r(3, lane) = lane / 6 - 1;
    }
    const auto inside = [&](unsigned lane) {
        const int x = static_cast<int>(m.r(2, lane)), y = static_cast<int>(m.r(3, lane));
        return x >= 0 && x < 32 && y >= 0 && y < 4;
    };
    Word w = load;
    ASSERT_EQ(m.step("sm_90a", w), Outcome::ok) << m.sass << m.rejection;
    for (unsigned lane = 0; lane < 32; ++lane)
        EXPECT_EQ(m.r(21, lane), inside(lane) ? 1000 + m.r(3, lane) * 8 + m.r(2, lane) / 4 : 0u)
            << m.sass << lane;
    w.set(60, 59, 1);  // the nearest location
    ASSERT_EQ(m.step("sm_90a", w), Outcome::ok) << m.sass;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const int x = std::clamp(static_cast<int>(m.r(2, lane)) / 4, 0, 7);
        const int y = std::clamp(static_cast<int>(m.r(3, lane)), 0, 3);
        EXPECT_EQ(m.r(21, lane), static_cast<uint32_t>(1000 + y * 8 + x)) << m.sass << lane;
    }
    w.set(60, 59, 2);
    ASSERT_EQ(m.step("sm_90a", w), Outcome::fault) << m.sass;
    // Stores outside are dropped.
    Word store("000fe2000810a9006000041902007f9d");  // SUST.D.BA.2D.IGN [R2], R25
    for (unsigned lane = 0; lane < 32; ++lane) m.r(25, lane) = 5000 + lane;
    ASSERT_EQ(m.step("sm_90a", store), Outcome::ok) << m.sass << m.rejection;
    uint32_t expect[32];
    for (uint32_t i = 0; i < 32; ++i) expect[i] = 1000 + i;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (inside(lane)) expect[m.r(3, lane) * 8 + m.r(2, lane) / 4] = 5000 + lane;
    for (int i = 0; i < 32; ++i) {
        uint32_t got;
        std::memcpy(&got, p.host + 4 * i, 4);
        EXPECT_EQ(got, expect[i]) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, Textures, ::testing::ValuesIn(levels()),
                         [](const auto& i) { return std::string(i.param->name); });

TEST(TextureTable, RefusesWhatNoGpuHas) {
    struct Refused {
        const char* why;
        void (*change)(TextureDesc&);
    };
    const Refused all[] = {
        {"1, 2 or 4 channels", [](TextureDesc& d) { d.channels = 3; }},
        {"width 0", [](TextureDesc& d) { d.width = 0; }},
        {"linear memory", [](TextureDesc& d) { d.linear_memory = true; }},
        {"no depth", [](TextureDesc& d) { d.layers = d.depth = 2; }},
        {"not square", [](TextureDesc& d) { d.cube = true; }},
        {"no level of detail", [](TextureDesc& d) { d.levels = 0; }},
        {"halvings", [](TextureDesc& d) { d.levels = 5; }},
        {"no pitch", [](TextureDesc& d) { d.levels = 2, d.pitch = 64; }},
        {"32-bit integers",
         [](TextureDesc& d) { d.format = TextureFormat::s32, d.read_normalized = true; }},
        {"not filtered linearly",
         [](TextureDesc& d) { d.format = TextureFormat::u8, d.filter = FilterMode::linear; }},
        {"more anisotropy", [](TextureDesc& d) { d.anisotropy = 17; }},
        {"no number", [](TextureDesc& d) { d.level_bias = std::nanf(""); }},
    };
    for (const Refused& refused : all) {
        TextureTable table;
        TextureDesc d;
        d.width = 8, d.height = 4;
        d.normalized_coords = true;
        ASSERT_TRUE(table.add(d, false));
        refused.change(d);
        const auto made = table.add(d, false);
        ASSERT_FALSE(made) << refused.why;
        EXPECT_NE(made.error().message().find(refused.why), std::string::npos)
            << made.error().message();
    }
}

}  // namespace
}  // namespace sassemu::test
