// SPDX-License-Identifier: Apache-2.0
// What tcgen05.mma computes. Operands are taken apart into words of one element, then multiplied in
// blocks of 16 rows and 8 columns: sums of floats are the fused steps and the scaled groups of
// emu/lanes/matrix.hpp, sums of integers are exact. What lies in tensor memory (A, metadata,
// scales) a block finds in its own lanes, or in its quarter of them.
#include <algorithm>
#include <cstring>
#include <limits>

#include "emu/async/tensor_core.hpp"
#include "emu/async/tensor_operands.hpp"
#include "emu/lanes/matrix_rule.hpp"

namespace sassemu::async {
namespace {

using lanes::MatrixFormat;
using lanes::MatrixGroups;

constexpr uint32_t max_stored = 96, max_k = 128, max_n = 256;

// Elements of a band, words of raw bits: put(mn, k, word).
template <class Put>
void take(const SharedMatrix& x, const TensorElements& e, Band band, const std::byte* shared,
          Put&& put) {
    const uint32_t each = e.in_chunk(), mask = e.bits == 32 ? ~0u : (1u << e.bits) - 1;
    const uint32_t end = band.first + band.rows;
    each_chunk(x, e, band, [&](uint32_t at, uint32_t mn, uint32_t k) {
        uint64_t chunk[2] = {};
        std::memcpy(chunk, shared + at, e.bytes());
        for (uint32_t i = 0; i < each; ++i) {
            const uint32_t bit = i * e.bits, in = bit % 64;
            uint64_t word = chunk[bit / 64] >> in;
            if (in + e.bits > 64) word |= chunk[1] << (64 - in);
            const uint32_t element = static_cast<uint32_t>(word) & mask;
            if (!e.transposed)
                put(mn, k + i, element);
            else if (mn + i >= band.first && mn + i < end)
                put(mn + i, k, element);
        }
        return true;
    });
}

// Sixteen rows of A as they are stored.
using StoredRows = uint32_t[max_stored][16];
// Where in a row its stored elements belong. Of tf32 metadata names the two halves of an element,
// as k and `upper`.
struct TensorPlaces {
    uint8_t k[16][max_stored], upper[16][max_stored];
    bool irregular = false;  // an element is named twice, or halves of two are
};

// The operands of one CTA's share.
struct Operands {
    const Multiply& m;
    const TensorInstruction& in;
    const TensorMemory& memory;
    const uint32_t (*shared_a)[128];  // [k][row]; null: A is in tensor memory
    uint32_t flip;                    // the sign of A, where products are negated

    void rows_of_a(const LaneBlock& b, StoredRows& to) const {
        const TensorElements& e = in.a;
        if (shared_a) {
            for (uint32_t k = 0; k < e.k; ++k)
                for (uint32_t row = 0; row < 16; ++row)
                    to[k][row] = shared_a[k][b.row + row] ^ flip;
            return;
        }
        const uint32_t each = 32 / e.container, mask = e.bits == 32 ? ~0u : (1u << e.bits) - 1;
        for (uint32_t row = 0; row < 16; ++row) {
            const uint32_t* cell = memory.cell[b.lane + row] + column_of(m.a_address);
            for (uint32_t k = 0; k < e.k; ++k)
                to[k][row] = (cell[k / each] >> (k % each * e.container + e.shift) & mask) ^ flip;
        }
    }
    void places(const LaneBlock& b, TensorPlaces& p) const {
        const bool halves = m.kind == TensorKind::tf32;
        const bool pairs = m.kind == TensorKind::mxf4;
        for (uint32_t row = 0; row < 16; ++row)
            for (uint32_t i = 0; i < in.a.k; ++i) {
                const uint32_t unit = pairs ? i / 2 : i, group = halves ? unit : unit / 2;
                const TensorInstruction::Place at = in.metadata(row, group);
                const uint32_t word =
                    memory.cell[b.lane + at.lane][column_of(m.metadata) + at.column];
                const uint32_t nibble = word >> 4 * at.nibble & 15;
                if (halves) {
                    p.k[row][i] = static_cast<uint8_t>(4 * group + (nibble & 3));
                    p.upper[row][i] = static_cast<uint8_t>(4 * group + (nibble >> 2));
                    p.irregular |= nibble != 4 && nibble != 14;
                } else {
                    const uint32_t place = 4 * group + (nibble >> unit % 2 * 2 & 3);
                    p.k[row][i] = static_cast<uint8_t>(pairs ? 2 * place + i % 2 : place);
                    p.irregular |= (nibble & 3) == nibble >> 2;
                }
            }
    }
    // Byte `byte` of the scales of a row, `count` of which lie in each quarter.
    uint8_t scale(uint32_t address, uint32_t quarter, uint32_t count, uint32_t row,
                  uint32_t byte) const {
        const uint32_t column =
            column_of(address) + TensorInstruction::scale_word(count, byte) + row / 32;
        return static_cast<uint8_t>(memory.cell[quarter * 32 + row % 32][column] >> byte % 4 * 8);
    }
};

// Scales of a block's rows and of all columns, as one quarter has them.
struct BlockScales {
    uint8_t row[MatrixGroups::max_groups][16], column[MatrixGroups::max_groups][max_n];

    BlockScales(const Operands& x, const LaneBlock& b) {
        for (uint32_t v = 0; v < x.in.vectors; ++v) {
            for (uint32_t i = 0; i < 16; ++i)
                row[v][i] =
                    x.scale(x.m.scales_a, b.quarter(), x.in.rows, b.row + i, x.in.scale_a + v);
            for (uint32_t n = 0; n < x.in.bank_columns(); ++n)
                column[v][n] =
                    x.scale(x.m.scales_b, b.quarter(), scales_of_b(x.in), n, x.in.scale_b + v);
        }
    }
};

// Cells of a block for eight columns: to the accumulators of a tile, and back.
template <class Tile>
uint32_t& accumulator(Tile& tile, uint32_t row, uint32_t n) {
    return tile.c[row / 8 * 2 + n % 2][n / 2 * 8 + row % 8];
}
template <class Tile>
void load(const Multiply& m, Tile& tile, const uint32_t (*cell)[512], uint32_t column) {
    std::memset(tile.c, 0, sizeof tile.c);
    if (!m.accumulate) return;
    for (uint32_t i = 0; i < 16; ++i)
        for (uint32_t j = 0; j < 8; ++j) accumulator(tile, i, j) = cell[i][column + j];
}
template <class Tile>
void store(Tile& tile, uint32_t (*cell)[512], uint32_t column, uint32_t enabled) {
    for (uint32_t i = 0; i < 16; ++i)
        if (enabled >> i & 1)
            for (uint32_t j = 0; j < 8; ++j) cell[i][column + j] = accumulator(tile, i, j);
}

// B, of all columns: words of one element, or of mxf4 pairs of twice the numbers.
using AllColumns = uint32_t[max_k / 2][max_n];

struct FloatBlock {
    const Operands& x;
    const AllColumns& b;
    lanes::MatrixRule rule;
    lanes::FusedSteps steps;

    void operator()(const LaneBlock& at, uint32_t enabled, TensorMemory& memory) const {
        const TensorInstruction& in = x.in;
        StoredRows rows;
        x.rows_of_a(at, rows);
        TensorPlaces places;
        if (in.sparse) x.places(at, places);
        lanes::MatrixTile tile;
        tile.sparse = in.sparse && !places.irregular;
        tile.k = tile.sparse ? in.k : in.a.k;
        if (tile.sparse) {
            std::memset(tile.a, 0, sizeof tile.a);
            std::memset(tile.present, 0, sizeof tile.present);
        }
        for (uint32_t i = 0; i < in.a.k; ++i)
            for (uint32_t row = 0; row < 16; ++row) {
                const uint32_t k = !tile.sparse                   ? i
                                   : x.m.kind == TensorKind::tf32 ? places.k[row][i] / 2u
                                                                  : places.k[row][i];
                tile.a[row / 8][k][row % 8] = rows[i][row];
                if (tile.sparse) tile.present[row / 8][row % 8] |= uint64_t{1} << k;
            }
        const BlockScales all(x, at);
        lanes::MatrixScales scales;
        std::memcpy(scales.row, all.row[0], 16);
        lanes::MatrixColumns columns;
        columns.k = in.sparse && places.irregular ? in.a.k : in.k;
        uint32_t(*cell)[512] = memory.cell + at.lane;
        for (uint32_t n = 0; n < in.bank_columns(); n += 8) {
            const uint32_t from = at.bank * in.bank_columns() + n, column = column_of(x.m.d) + n;
            std::memcpy(scales.column, &all.column[0][n], 8);
            load(x.m, tile, cell, column);
            if (in.sparse && places.irregular) {
                irregular(tile, columns, places, from, in.vectors ? &scales : nullptr);
            } else {
                for (uint32_t k = 0; k < in.k; ++k) std::memcpy(columns.row[k], &b[k][from], 32);
                steps(tile, columns, in.a.format, in.b.format, rule, in.k,
                      in.vectors ? &scales : nullptr);
            }
            store(tile, cell, column, enabled);
        }
    }
    // Each row meets other elements of B: one after the other.
    void irregular(lanes::MatrixTile& tile, lanes::MatrixColumns& met, const TensorPlaces& places,
                   uint32_t from, const lanes::MatrixScales* scales) const {
        const bool halves = x.m.kind == TensorKind::tf32;
        uint32_t before[4][32], after[4][32];
        std::memcpy(before, tile.c, sizeof before);
        for (uint32_t row = 0; row < 16; ++row) {
            for (uint32_t i = 0; i < x.in.a.k; ++i)
                for (uint32_t n = 0; n < 8; ++n) {
                    const auto half = [&](uint32_t at) {
                        return b[at / 2][from + n] >> (at % 2 * 16) & 0xffff;
                    };
                    const uint32_t k = places.k[row][i];
                    met.row[i][n] =
                        halves ? half(k) | half(places.upper[row][i]) << 16 : b[k][from + n];
                }
            std::memcpy(tile.c, before, sizeof before);
            steps(tile, met, x.in.a.format, x.in.b.format, rule, tile.k, scales);
            for (uint32_t n = 0; n < 8; ++n)
                after[row / 8 * 2 + n % 2][n / 2 * 8 + row % 8] = accumulator(tile, row, n);
        }
        std::memcpy(tile.c, after, sizeof after);
    }
};

struct GroupBlock {
    const Operands& x;
    const AllColumns& b;
    lanes::GroupSums sums;

    void operator()(const LaneBlock& at, uint32_t enabled, TensorMemory& memory) const {
        const TensorInstruction& in = x.in;
        StoredRows rows;
        x.rows_of_a(at, rows);
        TensorPlaces places;
        if (in.sparse) x.places(at, places);
        // Numbers that meet the same one of B add up.
        int16_t all[16][max_k] = {};
        for (uint32_t i = 0; i < in.a.k; ++i)
            for (uint32_t row = 0; row < 16; ++row) {
                int16_t& to = all[row][in.sparse ? places.k[row][i] : i];
                to = static_cast<int16_t>(to + lanes::twice_e2m1(rows[i][row]));
            }
        MatrixGroups g;
        g.rule = group_rule();
        g.ue4m3 = in.ue4m3;
        g.groups = in.k / (in.sparse ? 32 : 16);
        g.pairs = in.k / 2 / g.groups;
        for (uint32_t k = 0; k < in.k / 2; ++k)
            for (uint32_t row = 0; row < 16; ++row) std::memcpy(&g.a[k][row], &all[row][2 * k], 4);
        const BlockScales scales(x, at);
        const uint32_t each = g.groups / in.vectors;  // groups of a scale
        for (uint32_t i = 0; i < g.groups; ++i) std::memcpy(g.row[i], scales.row[i / each], 16);
        uint32_t(*cell)[512] = memory.cell + at.lane;
        for (uint32_t n = 0; n < in.bank_columns(); n += 8) {
            const uint32_t from = at.bank * in.bank_columns() + n, column = column_of(x.m.d) + n;
            for (uint32_t i = 0; i < g.groups; ++i)
                std::memcpy(g.column[i], &scales.column[i / each][n], 8);
            for (uint32_t k = 0; k < in.k / 2; ++k) std::memcpy(g.b[k], &b[k][from], 32);
            load(x.m, g, cell, column);
            sums(g);
            store(g, cell, column, enabled);
        }
    }
};

struct IntegerBlock {
    const Operands& x;
    const AllColumns& b;

    static int16_t number(uint32_t word, bool is_signed) {
        return static_cast<int16_t>(is_signed ? static_cast<int8_t>(word) : static_cast<int>(word));
    }
    void operator()(const LaneBlock& at, uint32_t enabled, TensorMemory& memory) const {
        const TensorInstruction& in = x.in;
        StoredRows rows;
        x.rows_of_a(at, rows);
        TensorPlaces places;
        if (in.sparse) x.places(at, places);
        int16_t a[16][max_k / 2] = {};
        for (uint32_t i = 0; i < in.a.k; ++i)
            for (uint32_t row = 0; row < 16; ++row) {
                int16_t& to = a[row][in.sparse ? places.k[row][i] : i];
                to = static_cast<int16_t>(to + number(rows[i][row], in.a.is_signed));
            }
        using Limits = std::numeric_limits<int32_t>;
        for (uint32_t n = 0; n < in.bank_columns(); ++n) {
            int16_t column[max_k / 2] = {};
            for (uint32_t k = 0; k < in.k; ++k)
                column[k] = number(b[k][at.bank * in.bank_columns() + n], in.b.is_signed);
            for (uint32_t i = 0; i < 16; ++i) {
                if (!(enabled >> i & 1)) continue;
                int32_t sum = 0;
                for (uint32_t k = 0; k < max_k / 2; ++k) sum += a[i][k] * column[k];
                uint32_t& d = memory.cell[at.lane + i][column_of(x.m.d) + n];
                int64_t all = sum;
                if (x.m.accumulate) all += static_cast<int32_t>(d);
                if (in.saturates) all = std::clamp<int64_t>(all, Limits::min(), Limits::max());
                d = static_cast<uint32_t>(all);
            }
        }
    }
};

void take_b(const Multiply& m, const TensorInstruction& in, const TensorSide (&sides)[2],
            AllColumns& b) {
    const bool pairs = m.kind == TensorKind::mxf4;
    if (pairs) std::memset(b, 0, sizeof b);
    const ZeroColumns zeros(m.zero_columns, in.bank_columns());
    const Band band = band_of_b(m, in);
    for (uint32_t side = 0; side < (m.pair ? 2u : 1u); ++side) {
        const uint32_t first = half_of(m, side) * in.columns;
        take(SharedMatrix(m.b), in.b, band, sides[side].shared,
             [&](uint32_t mn, uint32_t k, uint32_t word) {
                 const uint32_t n = first + mn - band.first;
                 if (zeros.zero(n)) word = 0;
                 if (pairs)
                     b[k / 2][n] |= (static_cast<uint32_t>(lanes::twice_e2m1(word)) & 0xffff)
                                    << k % 2 * 16;
                 else
                     b[k][n] = word;
             });
    }
}

// tcgen05.shift of A in each quarter.
void shift_rows(TensorMemory& memory, uint32_t column, uint32_t columns) {
    for (uint32_t lane = 0; lane < TensorMemory::lanes; ++lane)
        if (lane % 32 != 31)
            std::memcpy(&memory.cell[lane][column], &memory.cell[lane + 1][column], 4 * columns);
}

}  // namespace

void multiply(const Multiply& m, const TensorSide (&sides)[2], uint32_t sm,
              lanes::MatrixSums sums) {
    TensorInstruction in;
    in.read(m, sm);
    AllColumns b;
    take_b(m, in, sides, b);
    uint32_t a[max_stored][128];
    const uint32_t flip = in.a.negated == in.b.negated ? 0 : 1u << (in.a.bits - 1);
    for (uint32_t side = 0; side < (m.pair ? 2u : 1u); ++side) {
        TensorMemory& memory = *sides[side].memory;
        if (!m.a_in_tensor_memory)
            take(SharedMatrix(m.a), in.a, {0, in.rows}, sides[side].shared,
                 [&](uint32_t row, uint32_t k, uint32_t word) { a[k][row] = word; });
        const Operands x{m, in, memory, m.a_in_tensor_memory ? nullptr : a, flip};
        const auto each = [&](const auto& block) {
            each_block(m, in, [&](const LaneBlock& at) {
                if (const uint32_t enabled = enabled_rows(m, half_of(m, side), at))
                    block(at, enabled, memory);
            });
        };
        if (m.kind == TensorKind::i8) {
            each(IntegerBlock{x, b});
        } else if (m.kind == TensorKind::mxf4) {
            each(GroupBlock{x, b, sums.groups});
        } else {
            lanes::MatrixRule rule = matrix_rule(sm, in.a.container == 8, in.half);
            rule.scale = static_cast<int>(m.scale_d);
            each(FloatBlock{x, b, rule, sums.steps});
        }
        if (m.shifts) shift_rows(memory, column_of(m.a_address), in.a_columns());
    }
}

}  // namespace sassemu::async
