// SPDX-License-Identifier: Apache-2.0
// Matrix sums of the vector levels against the scalar one, which is the reference: fused steps of
// every format and rule, and whole products of a warpgroup, on operands of every reach: any bits
// (infinities, NaN, subnormals), numbers around one, exponents over the whole range, next to
// nothing but zeros, and bytes at their ends. It catches an exponent that is not the largest, a cut
// in the wrong direction, a byte's offset that is not made good, a column that another one's result
// is written to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "emu/isa/level.hpp"
#include "emu/schedule/level_choice.hpp"

namespace sassemu {
namespace {

using lanes::MatrixColumns;
using lanes::MatrixFormat;
using lanes::MatrixResult;
using lanes::MatrixRule;
using lanes::MatrixScales;
using lanes::MatrixTile;
using lanes::WarpgroupKind;
using lanes::WarpgroupProduct;
struct Random : std::mt19937 {
    using std::mt19937::mt19937;
    uint32_t operator()() { return static_cast<uint32_t>(std::mt19937::operator()()); }
};

struct Layout {
    unsigned exponent, mantissa, unused;  // bits; unused ones below
    bool finite;
};
Layout layout(MatrixFormat f) {
    static constexpr Layout all[] = {{5, 10, 0, false}, {8, 7, 0, false}, {8, 10, 13, false},
                                     {4, 3, 0, false},  {5, 2, 0, false}, {3, 2, 0, true},
                                     {2, 3, 0, true},   {2, 1, 0, true}};
    return all[static_cast<unsigned>(f)];
}
enum class Reach { any, near_one, whole, zeros };
Reach reach_of(Random& r) {
    static constexpr Reach often[] = {Reach::any,   Reach::near_one, Reach::near_one,
                                      Reach::whole, Reach::whole,    Reach::zeros};
    return often[r() % 6];
}
uint32_t element(MatrixFormat f, Reach reach, Random& r) {
    const Layout l = layout(f);
    const uint32_t top = (1u << l.exponent) - 1, bias = top / 2;
    uint32_t exponent = r() & top, fraction = r() & ((1u << l.mantissa) - 1);
    const uint32_t most = l.finite ? top : top - 1;  // finite ones below
    switch (reach) {
        case Reach::any:
            break;
        case Reach::near_one:
            exponent = std::min(most, bias + r() % 8 - std::min(bias, 4u));
            if (r() % 8 == 0) exponent = fraction = 0;
            break;
        case Reach::whole:
            exponent = r() % (most + 1);
            if (r() % 6 == 0) fraction = 0;
            break;
        case Reach::zeros:
            exponent = r() % 2 ? r() % 3 % (most + 1) : bias;
            if (r() % 4) exponent = fraction = 0;
    }
    const uint32_t sign = r() & 1;
    return (sign << (l.exponent + l.mantissa) | exponent << l.mantissa | fraction) << l.unused |
           (r() & ((1u << l.unused) - 1));
}
uint32_t accumulator(bool half, Reach reach, Random& r) {
    if (half) return element(MatrixFormat::f16, reach, r);
    const uint32_t bits = r() & 0x807fffff;
    switch (reach) {
        case Reach::any:
            return r() % 8 ? r() : bits | 0x7f800000;
        case Reach::near_one:
            return bits | (120 + r() % 14) << 23;
        case Reach::whole:
            return bits | r() % 255 << 23;
        case Reach::zeros:
            return r() % 2 ? 0 : bits | r() % 3 << 23;
    }
    return 0;
}

// visit(level) for those of this CPU; null: the scalar one is missing.
template <class Visit>
const LevelTable* each_level(Visit&& visit) {
    const auto reference = choose_level(HostLevel::v2);
    for (const HostLevel wanted : {HostLevel::v3, HostLevel::v4})
        if (const auto level = choose_level(wanted)) visit(**level);
    return reference ? *reference : nullptr;
}

TEST(MatrixLevels, FusedStepsAreThoseOfTheReference) {
    Random r(1);
    std::vector<const LevelTable*> levels;
    const LevelTable* reference = each_level([&](const LevelTable& l) { levels.push_back(&l); });
    if (!reference) GTEST_SKIP() << "this build has no scalar level";
    auto tile = std::make_unique<MatrixTile>(), expected = std::make_unique<MatrixTile>(),
         got = std::make_unique<MatrixTile>();
    auto b = std::make_unique<MatrixColumns>();
    size_t wrong = 0;
    for (uint32_t round = 0; round < 6000; ++round) {
        const auto fa = static_cast<MatrixFormat>(r() % 8);
        const bool bytes = fa >= MatrixFormat::e4m3;
        const auto fb = bytes ? static_cast<MatrixFormat>(3 + r() % 5) : fa;
        const bool half = (bytes || fa == MatrixFormat::f16) && r() % 3 == 0;
        MatrixRule rule;
        const int sums = r() % 3 ? 25 : 24;
        rule.fraction = bytes && r() % 2 ? 13 : sums;
        rule.floor = (half ? 4 : -108) - sums;
        rule.result = half                  ? MatrixResult::f16
                      : rule.fraction == 13 ? MatrixResult::f32_short
                                            : MatrixResult::f32;
        if (!half && !bytes && r() % 8 == 0) rule.scale = r() % 16;
        const unsigned k = fa == MatrixFormat::tf32 ? 4u << r() % 2
                           : bytes                  ? 16u << r() % 3
                                                    : 8u << r() % 3;
        const unsigned step = k > 4 && r() % 4 == 0 ? k / 2 : k;
        const Reach reach_a = reach_of(r), reach_b = reach_of(r), reach_c = reach_of(r);
        tile->k = b->k = k;
        tile->sparse = r() % 6 == 0;
        for (unsigned h = 0; h < 2; ++h)
            for (unsigned row = 0; row < 8; ++row) {
                tile->present[h][row] = r() | uint64_t{r()} << 32;
                for (unsigned i = 0; i < k; ++i)
                    tile->a[h][i][row] = tile->sparse && !(tile->present[h][row] >> i & 1)
                                             ? 0
                                             : element(fa, reach_a, r);
            }
        for (unsigned i = 0; i < k; ++i)
            for (unsigned n = 0; n < 8; ++n) b->row[i][n] = element(fb, reach_b, r);
        for (auto& row : tile->c)
            for (uint32_t& c : row) c = accumulator(half, reach_c, r);
        if (!half && round % 16 == 0)  // of one size: sums that floats, then doubles do not hold
            for (const uint32_t size = 180 + r() % 70; auto& row : tile->c)
                for (uint32_t& c : row) c = (r() & 0x807fffff) | (size + r() % 4) << 23;
        MatrixScales scales;
        const bool scaled = bytes && !half && rule.fraction != 13 && r() % 3 == 0;
        for (uint8_t& s : scales.row) s = static_cast<uint8_t>(r() % 8 ? 100 + r() % 56 : r());
        for (uint8_t& s : scales.column) s = static_cast<uint8_t>(r() % 8 ? 100 + r() % 56 : r());
        *expected = *tile;
        reference->matrix_sums.steps(*expected, *b, fa, fb, rule, step, scaled ? &scales : nullptr);
        for (const LevelTable* level : levels) {
            *got = *tile;
            level->matrix_sums.steps(*got, *b, fa, fb, rule, step, scaled ? &scales : nullptr);
            if (std::memcmp(got->c, expected->c, sizeof got->c) && wrong++ < 5)
                ADD_FAILURE() << level->name << ": round " << round << ", format " << int(fa)
                              << " x " << int(fb) << ", k " << k << ", step " << step
                              << (half ? ", f16" : "") << (scaled ? ", scaled" : "");
        }
    }
    EXPECT_EQ(wrong, 0u);
}

struct alignas(128) Rows {
    uint32_t of[4][128][32];
};
// Metadata: the halves of elements that stored ones meet.
void draw_places(WarpgroupProduct& p, unsigned stored, bool halves, bool irregular, Random& r) {
    p.irregular = irregular;
    for (auto& row : p.places)
        for (unsigned i = 0; i < stored; ++i) {
            unsigned low, high;
            if (halves) {
                low = 4 * i + (irregular ? r() % 4 : 0), high = 4 * i + (irregular ? r() % 4 : 1);
                if (!irregular && r() % 2) low += 2, high += 2;
            } else {
                const unsigned first = r() % 3;  // of two in four
                const unsigned of_four = irregular ? r() % 4 : i % 2 ? 3 : first;
                low = 2 * (i / 2 * 4 + of_four), high = low + 1;
            }
            row[i][0] = static_cast<uint8_t>(low), row[i][1] = static_cast<uint8_t>(high);
        }
}
// Operands, of which `word` makes words of four bytes.
template <class A, class B>
void fill(WarpgroupProduct& p, A&& a, B&& b) {
    for (auto& chunk : p.a)
        for (auto& row : chunk)
            for (uint32_t& word : row) word = a();
    for (auto& chunk : p.b)
        for (auto& row : chunk)
            for (uint32_t& word : row) word = b();
}

class WarpgroupLevels : public testing::Test {
  protected:
    void SetUp() override {
        reference = each_level([&](const LevelTable& l) { levels.push_back(&l); });
        if (!reference) GTEST_SKIP() << "this build has no scalar level";
    }
    std::vector<uint32_t> run(const LevelTable& level) {
        *room = *product;
        *rows = *before;
        for (unsigned w = 0; w < 4; ++w) {
            room->d[w] = rows->of[w][0];
            room->c[w] = rows->of[w][0];
        }
        level.warpgroup_sums(*room);
        return {rows->of[0][0], rows->of[0][0] + sizeof *rows / 4};
    }
    void compare(const std::string& what) {
        const std::vector<uint32_t> expected = run(*reference);
        for (const LevelTable* level : levels)
            if (run(*level) != expected && wrong++ < 5)
                ADD_FAILURE() << level->name << ": " << what << ", n " << product->n
                              << (product->sparse ? ", sparse" : "");
    }
    void TearDown() override { EXPECT_EQ(wrong, 0u); }

    Random r{2};
    const LevelTable* reference = nullptr;
    std::vector<const LevelTable*> levels;
    std::unique_ptr<WarpgroupProduct> product = std::make_unique<WarpgroupProduct>(),
                                      room = std::make_unique<WarpgroupProduct>();
    std::unique_ptr<Rows> before = std::make_unique<Rows>(), rows = std::make_unique<Rows>();
    size_t wrong = 0;
};

TEST_F(WarpgroupLevels, Floats) {
    for (uint32_t round = 0; round < 240; ++round) {
        WarpgroupProduct& p = *product;
        p = WarpgroupProduct{};
        p.n = 8 * (1 + r() % 3);
        p.format_a = static_cast<MatrixFormat>(round % 5);
        const bool bytes = p.format_a >= MatrixFormat::e4m3;
        p.format_b = bytes ? static_cast<MatrixFormat>(3 + r() % 2) : p.format_a;
        p.half = (bytes || p.format_a == MatrixFormat::f16) && r() % 3 == 0;
        p.rule = {bytes ? 13 : 25, (p.half ? 4 : -108) - 25,
                  p.half  ? MatrixResult::f16
                  : bytes ? MatrixResult::f32_short
                          : MatrixResult::f32};
        p.negates = r() % 2, p.accumulate = r() % 4;
        p.transposed_a = p.format_a <= MatrixFormat::bf16 && r() % 3 == 0;
        p.transposed_b = p.format_a <= MatrixFormat::bf16 && r() % 3 == 0;
        p.sparse = r() % 3 == 0;
        const unsigned bits = bytes ? 8 : p.format_a == MatrixFormat::tf32 ? 32 : 16;
        if (p.sparse) draw_places(p, 256 / bits, bits == 32, r() % 4 == 0, r);
        const auto words = [&](MatrixFormat f) {
            return [&, f, reach = reach_of(r)] {
                uint32_t word = 0;
                for (unsigned at = 0; at < 32; at += bits) word |= element(f, reach, r) << at;
                return word;
            };
        };
        fill(p, words(p.format_a), words(p.format_b));
        const Reach reach = reach_of(r);
        for (auto& warp : before->of)
            for (auto& row : warp)
                for (uint32_t& c : row)
                    c = p.half ? accumulator(true, reach, r) | accumulator(true, reach, r) << 16
                               : accumulator(false, reach, r);
        compare("format " + std::to_string(int(p.format_a)) + " x " +
                std::to_string(int(p.format_b)));
    }
}

TEST_F(WarpgroupLevels, IntegersAndBits) {
    for (uint32_t round = 0; round < 600; ++round) {
        WarpgroupProduct& p = *product;
        p = WarpgroupProduct{};
        p.kind = round % 8 == 7 ? WarpgroupKind::bits : WarpgroupKind::integers;
        p.n = 8 * (1 + r() % (round % 50 ? 6 : 32));
        p.signed_a = r() % 2, p.signed_b = r() % 2;
        p.saturate = r() % 2, p.accumulate = r() % 4;
        p.sparse = p.kind == WarpgroupKind::integers && r() % 3 == 0;
        if (p.sparse) draw_places(p, 32, false, r() % 2, r);
        static constexpr uint32_t ends[] = {0, 0x80808080, 0x7f7f7f7f, 0xffffffff, 0x80ff7f00};
        const auto words = [&] {
            return [&, kind = r() % 3] {
                return kind == 0 ? r() : kind == 1 ? ends[r() % 5] : ends[1];
            };
        };
        fill(p, words(), words());
        const uint32_t reach = r() % 3;
        for (auto& warp : before->of)
            for (auto& row : warp)
                for (uint32_t& c : row)
                    c = reach == 0 ? r() : reach == 1 ? 0x7fff0000u + r() % 0x20000 : r() % 1000;
        compare(p.kind == WarpgroupKind::bits
                    ? "bits"
                    : std::string(p.signed_a ? "s8" : "u8") + " x " + (p.signed_b ? "s8" : "u8"));
    }
}

}  // namespace
}  // namespace sassemu
