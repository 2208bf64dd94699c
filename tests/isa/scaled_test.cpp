// SPDX-License-Identifier: Apache-2.0
// QMMA, QMMA.SF and OMMA.SF of sm_120, dense and sparse, in every type, as ptxas makes them of PTX
// (data/scaled.cu), against sums in wide integers: any bits, NaN and infinities of every format
// among them, every byte and lane that scales can come from, at every host level. No chip at hand
// has them.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "tests/isa/exact_sums.hpp"

namespace sassemu {
namespace {

using namespace exact;

constexpr uint32_t warps = 12, lane_words = 15, results = 4;
using Random = std::mt19937;

enum Kind { dense, half, sparse, scaled, scaled_sparse, nibbles, nibbles_sparse };
struct Form {
    Kind kind;
    Layout a = e2m1, b = e2m1;
    bool ue4m3 = false;
    uint32_t byte_a = 0, lane_a = 0, byte_b = 0, lane_b = 0;
};
Form form_of(uint32_t form, Random& random) {
    static constexpr Layout types[] = {e4m3, e5m2, e3m2, e2m3, e2m1};
    Form f;
    if (form < 125)
        f = {static_cast<Kind>(form / 25), types[form / 5 % 5], types[form % 5]};
    else
        f = {form < 127 ? nibbles : nibbles_sparse, e2m1, e2m1, form % 2 == 0};
    f.lane_a = random() % 2, f.lane_b = random() % 4;
    if (f.kind == scaled || f.kind == scaled_sparse)
        f.byte_a = random() % 4, f.byte_b = random() % 4;
    if (f.kind >= nibbles && !f.ue4m3) f.byte_a = random() % 2 * 2, f.byte_b = random() % 2 * 2;
    return f;
}

// Operands of different reach: any bits, or those of few sizes, or next to nothing but zeros, where
// cancellation and the cut show.
std::vector<uint32_t> operands(const Form& f, Random& random) {
    std::vector<uint32_t> words;
    for (uint32_t warp = 0; warp < warps; ++warp) {
        const uint32_t sparsity = warp % 3, narrow = warp / 3 % 2, scales = warp % 4;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            for (int i = 0; i < 8; ++i) {
                uint32_t w = uint32_t(random());
                if (sparsity == 1) w &= uint32_t(random() & random()) | 0x80808080u;
                if (narrow) w &= 0xbfbfbfbfu;  // no NaN and no infinities
                if (sparsity == 2 && f.kind >= nibbles) w &= uint32_t(random());
                words.push_back(w);
            }
            for (int i = 0; i < 4; ++i) {
                const uint32_t exponent = random() % 4 ? 100 + random() % 60 : random() % 256;
                uint32_t w = (uint32_t(random()) & 0x807fffff) | exponent << 23;
                if (f.kind == half) w = uint32_t(random()) & (narrow ? 0xbfffbfffu : ~0u);
                words.push_back(random() % 8 ? w : random() % 2 ? 0 : 0x80000000u);
            }
            uint32_t metadata = 0;
            for (int i = 0; i < 8; ++i) {
                static constexpr uint32_t pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
                metadata = metadata << 4 | pairs[random() % 6];
            }
            words.push_back(metadata);
            for (int i = 0; i < 2; ++i) {
                uint32_t w = 0;
                for (int j = 0; j < 4; ++j) {
                    const uint32_t any = scales == 0   ? random() % 256
                                         : scales == 1 ? 118 + random() % 20
                                         : scales == 2
                                             ? (f.ue4m3 ? random() % 127 : 100 + random() % 60)
                                             : (random() % 16 ? 127 : random() % 256);
                    w = w << 8 | any;
                }
                words.push_back(f.ue4m3 && scales == 1 ? w & 0x7f7f7f7f : w);
            }
        }
    }
    return words;
}

struct Warp {
    const uint32_t* words;
    uint32_t at(uint32_t lane, uint32_t i) const { return words[lane * lane_words + i]; }
};
// Element k of a row of A as stored, or of a column of B; bits of what is no element count for
// nothing.
uint32_t element(const Warp& w, const Form& f, bool b, uint32_t mn, uint32_t k) {
    const uint32_t each = f.kind >= nibbles ? 8 : 4, lane = mn % 8 * 4 + k / each % 4;
    const uint32_t reg = b ? 4 + k / (4 * each) : k / (4 * each) * 2 + mn / 8;
    const Layout l = b ? f.b : f.a;
    const uint32_t bits = 1 + l.e + l.m,
                   at = 32 / each * (k % each) + (each == 4 && bits == 4 ? 2 : 0);
    return w.at(lane, reg) >> at & ((1u << bits) - 1);
}
// Where in a row of A its stored element i belongs.
uint32_t place(const Warp& w, const Form& f, uint32_t row, uint32_t i) {
    const uint32_t unit = f.kind == nibbles_sparse ? i / 2 : i,
                   group = unit / 2;  // pairs, or elements
    const uint32_t lane = row % 8 * 4 + group / 8 * 2 + row / 8;
    const uint32_t two = w.at(lane, 12) >> (group % 8 * 4 + unit % 2 * 2) & 3;
    const uint32_t at = group * 4 + two;
    return f.kind == nibbles_sparse ? at * 2 + i % 2 : at;
}
uint32_t expected(const Warp& w, const Form& f, uint32_t row, uint32_t n) {
    const bool sp = f.kind == sparse || f.kind == scaled_sparse || f.kind == nibbles_sparse;
    const uint32_t stored = f.kind >= nibbles ? 64 : 32;
    std::vector<Number> a, b;
    for (uint32_t i = 0; i < stored; ++i) {
        a.push_back(number(element(w, f, false, row, i), f.a));
        b.push_back(number(element(w, f, true, n, sp ? place(w, f, row, i) : i), f.b));
    }
    const uint32_t lane = row % 8 * 4 + n / 2, reg = row / 8 * 2 + n % 2;
    const bool is_half = f.kind == half;
    const uint32_t c =
        is_half ? w.at(lane, 8 + row / 8) >> n % 2 * 16 & 0xffff : w.at(lane, 8 + reg);
    const auto scales = [&](bool of_b, uint32_t more) {
        const uint32_t from = of_b ? n * 4 + f.lane_b : row % 8 * 4 + f.lane_a * 2 + row / 8;
        const uint32_t word = w.at(from, of_b ? 14 : 13),
                       byte = (of_b ? f.byte_b : f.byte_a) + more;
        return scale(uint8_t(word >> 8 * byte), f.ue4m3);
    };
    if (f.kind < scaled) return fused(a, b, c, 0, is_half);
    if (f.kind < nibbles) {
        const Scale x = scales(false, 0), y = scales(true, 0);
        return fused(a, b, c, x.nan || y.nan ? std::nullopt : std::optional<int>(x.e + y.e), false);
    }
    std::vector<Scale> sa, sb;
    for (uint32_t g = 0; g < 4; ++g)
        sa.push_back(scales(false, f.ue4m3 ? g : g / 2)),
            sb.push_back(scales(true, f.ue4m3 ? g : g / 2));
    return grouped(a, b, sa, sb, c);
}

TEST(Scaled, EveryTypeAndScale) {
    const std::vector<HostLevel> levels{HostLevel::v2, HostLevel::v3, HostLevel::v4};
    uint32_t ran = 0;
    for (const HostLevel level : levels) {
        GpuOptions options;
        options.level = level;
        auto gpu = Gpu::create(std::move(options));
        if (!gpu.ok()) continue;  // this host has no such level
        ++ran;
        auto module = load_module_file(SASSEMU_SOURCE_DIR "/tests/isa/data/scaled.sm_120a.cubin");
        ASSERT_TRUE(module.ok());
        auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
        std::vector<uint32_t> out(32 * warps * results);
        auto from = (*gpu)->allocate(32 * warps * lane_words * 4, "in"),
             to = (*gpu)->allocate(out.size() * 4, "out");
        ASSERT_TRUE(id.ok() && from.ok() && to.ok());
        std::set<uint32_t> seen;
        for (uint32_t form = 0; form < 129; ++form) {
            Random random(form);
            const Form f = form_of(form, random);
            const std::vector<uint32_t> in = operands(f, random);
            ASSERT_TRUE((*gpu)->write(*from, std::as_bytes(std::span(in))).ok());
            LaunchRequest request;
            request.module = *id;
            request.kernel = "scaled";
            request.grid = {warps, 1, 1};
            request.block = {32, 1, 1};
            request.params.resize(28);
            const auto put = [&](size_t at, const auto& v) {
                std::memcpy(request.params.data() + at, &v, sizeof v);
            };
            put(0, *from), put(8, *to), put(16, form);
            put(20, uint16_t(f.byte_a)), put(22, uint16_t(f.lane_a));
            put(24, uint16_t(f.byte_b)), put(26, uint16_t(f.lane_b));
            const auto result = (*gpu)->launch(request);
            ASSERT_TRUE(result.ok());
            ASSERT_EQ(result->status, LaunchStatus::ok)
                << "form " << form << " " << result->message
                << (result->fault ? result->fault->report() : "");
            ASSERT_TRUE((*gpu)->read(*to, std::as_writable_bytes(std::span(out))).ok());
            for (uint32_t warp = 0; warp < warps; ++warp)
                for (uint32_t row = 0; row < 16; ++row)
                    for (uint32_t n = 0; n < 8; ++n) {
                        const Warp w{in.data() + warp * 32 * lane_words};
                        const uint32_t lane = warp * 32 + row % 8 * 4 + n / 2;
                        uint32_t got = out[lane * 4 + row / 8 * 2 + n % 2];
                        if (f.kind == half) got = out[lane * 4 + row / 8] >> n % 2 * 16 & 0xffff;
                        const uint32_t want = expected(w, f, row, n);
                        ASSERT_EQ(got, want) << std::hex << "form " << std::dec << form << " warp "
                                             << warp << " row " << row << " column " << n
                                             << " level " << 2 + int(level) - int(HostLevel::v2);
                        seen.insert(want);
                    }
        }
        // The draw reaches what matters.
        for (const uint32_t special : {0x7fffffffu, 0x7f800000u, 0xff800000u, 0u, 0x7fffu, 0x7c00u})
            EXPECT_TRUE(seen.count(special)) << std::hex << special;
        EXPECT_GT(seen.size(), 50000u);
    }
    EXPECT_GT(ran, 0u);
}

}  // namespace
}  // namespace sassemu
