// SPDX-License-Identifier: Apache-2.0
// What tests of tcgen05.mma's forms take for true: an instruction of any kind drawn at random,
// memory for it, and the model of one element of D, slowly: where things lie as the PTX ISA and
// public libraries say it, sums in wide integers (tests/isa/exact_sums.hpp).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "emu/schedule/level_choice.hpp"
#include "tests/async/tensor_model.hpp"
#include "tests/isa/exact_sums.hpp"

namespace sassemu::async::test {

using exact::Layout;
using exact::Number;

inline std::vector<const LevelTable*> levels() {
    std::vector<const LevelTable*> out;
    for (HostLevel level : {HostLevel::v2, HostLevel::v3, HostLevel::v4})
        if (auto table = choose_level(level)) out.push_back(*table);
    return out;
}

struct Type {
    uint32_t code;
    Layout layout;
    uint32_t bits;
    uint32_t container;  // in tensor memory
    uint32_t shift = 0;
};
inline const std::vector<Type> bytes_and_less{{0, exact::e4m3, 8, 8},
                                              {1, exact::e5m2, 8, 8},
                                              {3, exact::e2m3, 6, 8},
                                              {4, exact::e3m2, 6, 8},
                                              {5, exact::e2m1, 4, 8, 2}};
inline const std::map<TensorKind, std::vector<Type>> types{
    {TensorKind::f16, {{0, exact::f16, 16, 16}, {1, exact::bf16, 16, 16}}},
    {TensorKind::tf32, {{2, {8, 23, 2}, 32, 32}}},
    {TensorKind::f8f6f4, bytes_and_less},
    {TensorKind::i8, {{0, {}, 8, 8}, {1, {}, 8, 8}}},
    {TensorKind::mxf8f6f4, bytes_and_less},
    {TensorKind::mxf4, {{1, exact::e2m1, 4, 4}}}};

constexpr size_t shared_bytes = 200 * 1024, middle = 80 * 1024;
// Parts of tensor memory, by columns: what they hold must not overlap D.
constexpr uint32_t d_columns = 256, a_at = 256, metadata_at = 280, scales_a_at = 300,
                   scales_b_at = 340;

struct Case {
    Multiply m;
    Type a, b;
    Fields fa, fb;
    bool ta = false, tb = false, na = false, nb = false, half = false, saturate = false,
         sparse = false;
    bool ue4m3 = false, wide = false;
    uint32_t rows = 128, n = 8, k = 16, stored = 16, selector = 0, sfa = 0, sfb = 0, lane = 0;
    uint32_t most_shift = 0;
    uint32_t mask[8] = {};
    uint32_t sm = 100;

    bool scaled() const { return m.kind == TensorKind::mxf8f6f4 || m.kind == TensorKind::mxf4; }
    uint32_t m_all() const { return m.pair ? 2 * rows : rows; }
    uint32_t instruction() const {
        const uint32_t common = uint32_t{sparse} << 2 | a.code << 7 | b.code << 10 |
                                uint32_t{na} << 13 | uint32_t{nb} << 14 | uint32_t{ta} << 15 |
                                uint32_t{tb} << 16 | n / 8 << 17;
        if (scaled())
            return common | sfb << 4 | uint32_t{!ue4m3} << 23 | m_all() / 128 << 27 | sfa << 29 |
                   uint32_t{wide} << 31;
        const uint32_t d = m.kind == TensorKind::i8 ? 2 : !half;
        return common | selector | uint32_t{saturate} << 3 | d << 4 | m_all() / 16 << 24 |
               (most_shift == 0    ? 0u
                : most_shift == 8  ? 1u
                : most_shift == 16 ? 2u
                                   : 3u)
                   << 30;
    }
    // The lane and the column of D, of a row that a CTA has (PTX ISA, layouts A to G).
    std::pair<uint32_t, uint32_t> place(uint32_t row, uint32_t column) const {
        const uint32_t d = m.d & 0xffff;
        if (rows == 64 && (m.pair ? sparse : !m.stationary))
            return {lane + row / 16 * 32 + row % 16, d + column};                         // C, F
        if (rows == 64) return {row + (column >= n / 2 ? 64 : 0), d + column % (n / 2)};  // B, E
        if (rows == 32) return {row + column / (n / 4) * 32, d + column % (n / 4)};       // G
        return {row, d + column};                                                         // A, D
    }
    bool off(uint32_t half_of_rows, uint32_t l) const {
        return m.disabled_lanes && mask[half_of_rows * 4 + l / 32] >> l % 32 & 1;
    }
};

template <class T>
T pick(Random& random, std::initializer_list<T> from) {
    return from.begin()[below(random, static_cast<uint32_t>(from.size()))];
}

inline Fields some_fields(Random& random, uint32_t from, uint32_t bytes, bool transposed,
                          bool words) {
    Fields f;
    f.mode = words && transposed ? 1 : pick<uint32_t>(random, {0, 6, 4, 2});
    if (!transposed && below(random, 6) == 0) f.mode = 1;
    f.start = from + below(random, 32) * 16;
    const uint32_t most = bytes / 80 / 16;
    f.leading = below(random, most) * 16;
    f.stride = below(random, most) * 16;
    return f;
}

inline Case some_case(Random& random) {
    Case c;
    c.m.kind = static_cast<TensorKind>(below(random, 6));
    const auto& t = types.at(c.m.kind);
    c.a = t[below(random, t.size())], c.b = t[below(random, t.size())];
    const bool integers = c.m.kind == TensorKind::i8, nibbles = c.m.kind == TensorKind::mxf4;
    c.m.stationary = !c.scaled() && below(random, 4) == 0;
    c.m.pair = !c.m.stationary && coin(random);
    c.m.second = c.m.pair && coin(random);
    c.sparse = coin(random);
    c.wide = nibbles && !c.sparse && below(random, 3) == 0;
    c.sm = c.wide ? 103 : 100;
    c.stored = nibbles ? (c.wide ? 96 : 64) : 256 / c.a.container;
    c.k = c.sparse ? 2 * c.stored : c.stored;
    const bool bytes_across = c.b.bits == 8;
    c.ta = c.a.bits >= 8 && coin(random), c.tb = c.b.bits >= 8 && coin(random);
    if (c.m.stationary) {
        c.rows = pick<uint32_t>(random, {32, 64, 128});
        c.n = c.sparse ? pick<uint32_t>(random, {64, 128}) : pick<uint32_t>(random, {64, 128, 256});
    } else {
        c.rows = c.scaled() && (!c.m.pair || c.sparse || c.wide)
                     ? 128
                     : pick<uint32_t>(random, {64, 128});
        uint32_t step = c.m.pair               ? (integers || (c.tb && bytes_across) ? 32 : 16)
                        : c.tb && bytes_across ? 16
                                               : 8;
        c.n = step * (1 + below(random, 256 / step));
        if (integers && !c.m.pair && c.n > 32) c.n = c.n / 16 * 16;
    }
    c.na = !integers && coin(random), c.nb = !integers && coin(random);
    c.saturate = integers && coin(random);
    c.half = c.m.kind == TensorKind::f8f6f4
                 ? coin(random)
                 : c.m.kind == TensorKind::f16 && c.a.code == 0 && c.b.code == 0 && coin(random);
    c.m.accumulate = below(random, 4) != 0;
    if (c.m.kind == TensorKind::f16 || c.m.kind == TensorKind::tf32)
        c.m.scale_d = coin(random) ? below(random, 16) : 0;
    const bool spread = c.rows == 64 && (c.m.pair ? c.sparse : !c.m.stationary);
    c.lane = spread && coin(random) ? 16 : 0;
    c.m.d = c.lane << 16 | below(random, d_columns - std::min(c.n, d_columns) + 1);
    c.m.a_in_tensor_memory = below(random, 3) == 0;
    if (c.m.a_in_tensor_memory) c.ta = false;
    c.m.a_address = c.lane << 16 | a_at;
    c.m.shifts =
        c.m.a_in_tensor_memory && c.rows == 128 && !c.scaled() && !c.m.stationary && coin(random);
    c.m.metadata = c.lane << 16 | metadata_at;
    if (c.sparse && c.a.container >= 16) c.selector = below(random, 4);
    if (c.scaled()) {
        c.m.scales_a = scales_a_at | below(random, 4) << 30, c.m.scales_b = scales_b_at;
        c.m.block16 = nibbles && coin(random);
        c.ue4m3 = c.m.block16 && coin(random);
        const bool by_two = nibbles && (c.wide ? c.m.block16 : !c.m.block16);
        const bool none = nibbles && !c.wide && c.m.block16;
        c.sfa = none ? 0 : by_two ? 2 * below(random, 2) : below(random, 4);
        c.sfb = none ? 0 : by_two ? 2 * below(random, 2) : below(random, 4);
    }
    c.fa = some_fields(random, 0, middle - 16384, c.ta, c.a.bits == 32);
    c.fb = some_fields(random, middle, shared_bytes - middle - 32768, c.tb, c.b.bits == 32);
    if (!c.m.stationary && !c.scaled() && coin(random))
        for (uint32_t& w : c.mask)
            w = coin(random) ? static_cast<uint32_t>(random()) : coin(random) ? ~0u : 0;
    if (c.m.stationary && coin(random)) {
        c.most_shift = pick<uint32_t>(random, {0, 8, 16, 32});
        const uint64_t shift = below(random, std::min(c.most_shift, c.rows == 32 ? 16u : 32u) + 1);
        c.m.zero_columns =
            (random() & 0x00fffff0000000ffull) | (random() & 0x0f0f0f0f00ull) | shift << 56;
        c.m.zero_columns &= ~(uint64_t{7} << 36) & 0x3f0f0f8fffffffffull;
    }
    c.m.a = c.fa.word(), c.m.b = c.fb.word();
    c.m.instruction = c.instruction();
    return c;
}

// Where the byte of an element of up to 8 bits begins, or a larger element itself, and the bit in
// it.
struct At {
    uint64_t byte;
    uint32_t bit = 0;
};
inline At shared_at(const Fields& f, const Type& t, bool transposed, uint32_t mn, uint32_t k) {
    if (t.bits >= 8) return {element_at(f, transposed, t.bits / 8, mn, k)};
    const uint32_t in_chunk = 128 / t.container, bit = k % in_chunk * t.bits;
    return {element_at(f, false, 1, mn, k / in_chunk * 16) + bit / 8, bit % 8};
}
inline uint32_t shared_element(const std::byte* shared, const Fields& f, const Type& t,
                               bool transposed, uint32_t mn, uint32_t k,
                               std::set<uint64_t>* bytes) {
    const At at = shared_at(f, t, transposed, mn, k);
    uint64_t word = 0;
    for (uint32_t i = 0; i <= (at.bit + t.bits - 1) / 8; ++i) {
        word |= static_cast<uint64_t>(shared[at.byte + i]) << 8 * i;
        if (bytes) bytes->insert(at.byte + i);
    }
    return static_cast<uint32_t>(word >> at.bit & ((uint64_t{1} << t.bits) - 1));
}

class TensorForms : public testing::Test {
  protected:
    TensorForms() {
        for (auto& s : side)
            s.shared = std::make_unique<Fenced>(shared_bytes),
            s.cells = std::make_unique<TensorMemory>();
    }
    struct Side {
        std::unique_ptr<Fenced> shared;
        std::unique_ptr<TensorMemory> cells;
    };
    Side side[2];  // [0] asks

    void fill(const Case& c, Random& random) {
        const uint32_t style = below(random, 4);
        const auto element = [&](const Type& t) {
            auto w = static_cast<uint32_t>(random());
            if (style == 0) return w;
            if (style == 1 || t.bits <= 8) return below(random, 4) ? w & 0xbfbfbfbfu : 0u;
            const int bias = (1 << (t.layout.e - 1)) - 1, spread = style == 2 ? 4 : 14;
            const auto field =
                static_cast<uint32_t>(bias - spread + static_cast<int>(below(random, 2 * spread)));
            const uint32_t m = t.layout.m;
            return (w & ((1u << m) - 1)) | field << m | (coin(random) ? 1u << (m + t.layout.e) : 0);
        };
        for (auto& s : side) {
            for (const auto& [from, to, t] :
                 {std::tuple{size_t{0}, middle, c.a}, {middle, shared_bytes, c.b}}) {
                const uint32_t bytes = std::max(t.bits / 8, 1u);
                for (size_t i = from; i < to; i += bytes) {
                    const uint32_t w = element(t);
                    std::memcpy(s.shared->data() + i, &w, bytes);
                }
            }
            for (uint32_t lane = 0; lane < 128; ++lane)
                for (uint32_t column = 0; column < 512; ++column) {
                    uint32_t& cell = s.cells->cell[lane][column];
                    cell = static_cast<uint32_t>(random());
                    if (column < d_columns && !c.half && style && c.m.kind != TensorKind::i8)
                        cell = below(random, 6)
                                   ? (cell & 0x807fffff) | (110 + below(random, 34)) << 23
                                   : 0;
                    if (column < d_columns && c.half && style) cell &= ~0x4000u;
                    if (column >= a_at && column < a_at + 12) {
                        cell = 0;
                        for (uint32_t bit = 0; bit < 32; bit += std::max(c.a.bits, 8u))
                            cell |= (c.a.bits == 32
                                         ? element(c.a)
                                         : element(c.a) & ((1u << std::max(c.a.bits, 8u)) - 1))
                                    << bit;
                    }
                    if (column >= metadata_at && column < metadata_at + 8 && below(random, 60)) {
                        cell = 0;
                        for (uint32_t i = 0; i < 8; ++i)
                            cell = cell << 4 |
                                   (c.m.kind == TensorKind::tf32
                                        ? pick<uint32_t>(random, {4, 14})
                                        : pick<uint32_t>(random, {4, 8, 12, 9, 13, 14, 6}));
                    }
                    if (column >= scales_a_at && style) {
                        cell = 0;
                        for (uint32_t i = 0; i < 4; ++i)
                            cell = cell << 8 |
                                   (c.ue4m3 ? below(random, 250) : 120 + below(random, 14));
                    }
                }
        }
    }

    // One element of D, of a row that the side has.
    uint32_t expected(const Case& c, uint32_t which, uint32_t row, uint32_t n, uint32_t d) {
        const TensorMemory& memory = *side[which].cells;
        const uint32_t lane = c.place(row, n).first;
        // B: the rank that has the column, and which of its columns it is.
        const uint32_t share = c.m.pair ? c.n / 2 : c.n, of_rank = n / share;
        const std::byte* from = side[c.m.pair ? of_rank ^ c.m.second : 0].shared->data();
        const uint32_t shift = static_cast<uint32_t>(c.m.zero_columns >> 56 & 63);
        const bool zero = zero_column(c, n);
        const auto a_bits = [&](uint32_t i) {
            if (!c.m.a_in_tensor_memory)
                return shared_element(side[which].shared->data(), c.fa, c.a, c.ta, row, i, nullptr);
            const uint32_t bit = i * c.a.container;
            const uint32_t cell = memory.cell[lane][a_at + bit / 32];
            return cell >> (bit % 32 + c.a.shift) &
                   static_cast<uint32_t>((uint64_t{1} << c.a.bits) - 1);
        };
        const auto b_bits = [&](uint32_t k) {
            return zero ? 0 : shared_element(from, c.fb, c.b, c.tb, n % share + shift, k, nullptr);
        };
        // What a stored element of A meets.
        const auto met = [&](uint32_t i) {
            if (!c.sparse) return b_bits(i);
            const uint32_t base = lane - row % 16;
            if (c.a.container >= 16) {
                const bool tf = c.m.kind == TensorKind::tf32;
                const uint32_t chunk = tf ? i : i / 2;  // a nibble
                const uint32_t l = base + row % 8 + chunk / 4 * 8;
                const uint32_t word = memory.cell[l][metadata_at + c.selector];
                const uint32_t nibble = word >> (row / 8 % 2 * 16 + chunk % 4 * 4) & 15;
                if (!tf) return b_bits(chunk * 4 + (nibble >> i % 2 * 2 & 3));
                const auto half = [&](uint32_t h) {
                    return b_bits(2 * chunk + h / 2) >> h % 2 * 16 & 0xffff;
                };
                return half(nibble & 3) | half(nibble >> 2) << 16;
            }
            const bool pairs = c.m.kind == TensorKind::mxf4;
            const uint32_t unit = pairs ? i / 2 : i, chunk = unit / 2;
            const uint32_t word = memory.cell[lane][metadata_at + chunk / 8];
            const uint32_t two = word >> (chunk % 8 * 4 + unit % 2 * 2) & 3;
            return pairs ? b_bits((chunk * 4 + two) * 2 + i % 2) : b_bits(chunk * 4 + two);
        };
        if (c.m.kind == TensorKind::i8) {
            int64_t sum = 0;
            const auto value = [](uint32_t v, bool s) {
                return s ? int64_t{static_cast<int8_t>(v)} : int64_t{v};
            };
            for (uint32_t i = 0; i < c.stored; ++i)
                sum += value(a_bits(i), c.a.code) * value(met(i), c.b.code);
            if (c.m.accumulate) sum += static_cast<int32_t>(d);
            if (c.saturate) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
            return static_cast<uint32_t>(sum);
        }
        std::vector<Number> a, b;
        const Layout la = c.m.kind == TensorKind::tf32 ? exact::tf32 : c.a.layout,
                     lb = c.m.kind == TensorKind::tf32 ? exact::tf32 : c.b.layout;
        const uint32_t drop = c.m.kind == TensorKind::tf32 ? 13 : 0;
        for (uint32_t i = 0; i < c.stored; ++i) {
            a.push_back(exact::number(a_bits(i) >> drop, la));
            b.push_back(exact::number(met(i) >> drop, lb));
            if (c.na != c.nb) a.back().m = -a.back().m;
        }
        const uint32_t acc = !c.m.accumulate ? 0 : c.half ? d & 0xffff : d;
        const auto scale = [&](uint32_t at, uint32_t i, uint32_t count, uint32_t byte) {
            const uint32_t cell = memory.cell[lane / 32 * 32 + i % 32]
                                             [at + i / 32 + byte / 4 * 4 * ((count + 127) / 128)];
            return exact::scale(static_cast<uint8_t>(cell >> byte % 4 * 8), c.ue4m3);
        };
        const bool two_by_two = c.m.pair && c.rows == 64;
        const uint32_t bn = two_by_two ? n % (c.n / 2) : n, b_count = two_by_two ? c.n / 2 : c.n;
        if (c.m.kind == TensorKind::mxf8f6f4) {
            const auto x = scale(scales_a_at, row, c.rows, c.sfa),
                       y = scale(scales_b_at, bn, b_count, c.sfb);
            return exact::fused(
                a, b, acc, x.nan || y.nan ? std::nullopt : std::optional<int>(x.e + y.e), false);
        }
        if (c.m.kind == TensorKind::mxf4) {
            std::vector<exact::Scale> sa, sb;
            for (uint32_t g = 0; g < c.stored / 16; ++g) {
                const uint32_t v = c.m.block16 ? g : g / 2;
                sa.push_back(scale(scales_a_at, row, c.rows, c.sfa + v));
                sb.push_back(scale(scales_b_at, bn, b_count, c.sfb + v));
            }
            return exact::grouped(a, b, sa, sb, acc);
        }
        return exact::fused(a, b, acc, 0, c.half, static_cast<int>(c.m.scale_d));
    }
    // The mask as a string of bits, built as the examples of the PTX ISA show it.
    static bool zero_column(const Case& c, uint32_t n) {
        const uint64_t z = c.m.zero_columns;
        if (!c.m.stationary || !(z >> 39 & 1)) return false;
        const uint32_t banks = 128 / c.rows, each = c.n / banks, bank = n / each;
        uint32_t skip = static_cast<uint32_t>(z >> 8 * bank & 255);
        bool zeros = z >> (32 + bank) & 1;
        const uint32_t spans[2] = {static_cast<uint32_t>(z >> 48 & 255) + 1,
                                   static_cast<uint32_t>(z >> 40 & 255) + 1};
        uint32_t left = spans[zeros] > skip ? spans[zeros] - skip : 1;
        for (uint32_t i = 0; i < n % each; ++i)
            if (--left == 0) zeros = !zeros, left = spans[zeros];
        return zeros;
    }
    TensorSide view(uint32_t which) {
        return {side[which].shared->data(), side[which].cells.get()};
    }
};

}  // namespace sassemu::async::test
