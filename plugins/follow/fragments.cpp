// SPDX-License-Identifier: Apache-2.0
// What goes between lanes and bits by a fixed layout: products of fragments, matrices that LDSM,
// STSM and MOVM move, predicates that become bits and back.
#include "follow/follower.hpp"

namespace follow {

namespace {

void note(Marked& m, const Marked& other) {
    if (other.bits) m = {~0u, m.bits ? m.origin : other.origin};
}

}  // namespace

// D[i][j] has of row i of A, of column j of B, and of C[i][j]. Zeros drop nothing: what they are
// multiplied with may be NaN.
void Follower::multiply(const Step& s) {
    const Product& p = s.i.product;
    const Registers& registers = s.warp.registers;
    const auto add = [&](Marked& to, uint32_t row, uint32_t lane) {
        if (to.bits && doubt_ != Doubt::marks) return;  // one says it
        const Marked m = marked(s, row, lane);
        if (m.bits) to = {~0u, join(to.origin, m.origin)};
    };
    const auto is_in = [](const Fragment& f, uint32_t row) {
        return row >= f.row && row < f.row + f.count;
    };
    Marked all;
    std::array<Marked, 16> of_row;
    std::array<Marked, 8> of_column;
    for (const uint16_t row : s.i.data)
        each_lane(registers.lanes(row) & s.lanes, [&](uint32_t lane) {
            const bool in_a = p.known && is_in(p.a, row), in_b = p.known && is_in(p.b, row);
            if (in_a) {
                const bool below = p.sixteen_rows && (row - p.a.row) / p.words % 2;
                add(of_row[lane / 4 + 8 * below], row, lane);
            }
            if (in_b) add(of_column[lane / 4], row, lane);
            if (!in_a && !in_b && !(p.known && is_in(p.c, row))) add(all, row, lane);
        });
    const auto joined = [&](uint32_t row, uint32_t column) {
        Marked m = all;
        for (const Marked& other : {of_row[row], of_column[column]})
            if (other.bits) m = {~0u, join(m.origin, other.origin)};
        return m;
    };
    if (!p.known) {
        Marks marks;
        marks.fill(all);
        return give_all(s, marks);
    }
    std::vector<Marks> result(p.d.count);
    for (uint32_t k = 0; k < p.d.count; ++k)
        each_lane(s.lanes, [&](uint32_t lane) {
            const uint32_t unit = k / p.words, column = lane % 4 * 2;
            const uint32_t below = p.halves ? unit % 2 : unit / 2 % 2;
            const uint32_t row = lane / 4 + (p.sixteen_rows ? 8 * below : 0);
            Marked c;
            for (uint32_t word = unit * p.words; word < (unit + 1) * p.words; ++word)
                if (p.c.row != no_row && word < p.c.count) note(c, marked(s, p.c.row + word, lane));
            Marked& to = result[k][lane];
            if (!p.halves) {
                to = joined(row, column + unit % 2);
                note(to, c);
                return;
            }
            const uint32_t bits = c.bits ? registers.bits(p.c.row + k, lane) : 0;
            for (uint32_t half = 0; half < 2; ++half) {
                const uint32_t mask = 0xffffu << 16 * half;
                Marked m = joined(row, column + half);
                if (bits & mask) note(m, c);
                if (m.bits) to = {to.bits | mask, join(to.origin, m.origin)};
            }
        });
    for (uint32_t k = 0; k < p.d.count && p.d.row != no_row; ++k) give(s, p.d.row + k, result[k]);
}

// Element (i, j) of the result is (j, i) of the operand; lane l has those of row l / 4 and columns
// l % 4 * 2 and the next.
void Follower::turn(const Step& s) {
    if (s.i.shape != MatrixShape::transposed || s.i.data.size() != 1) {
        Marks marks;
        marks.fill(of_lanes(s, s.lanes));
        return give_all(s, marks);
    }
    Marks marks;
    each_lane(s.lanes, [&](uint32_t lane) {
        for (uint32_t half = 0; half < 2; ++half) {
            const uint32_t row = lane / 4, column = lane % 4 * 2 + half;
            const Marked m = marked(s, s.i.data[0], column * 4 + row / 2);
            const uint32_t bits = m.bits >> row % 2 * 16 & 0xffff;
            if (bits)
                marks[lane] = {marks[lane].bits | bits << half * 16,
                               join(marks[lane].origin, m.origin)};
        }
    });
    give_all(s, marks);
}

// R2P: each predicate has its bit.
void Follower::spread(const Step& s) {
    for (const uint16_t to : s.i.results) {
        const uint32_t bit = s.i.table + (to - predicate_rows) % 8;
        Marks marks;
        each_lane(s.lanes, [&](uint32_t lane) {
            for (const uint16_t row : s.i.data)
                if (const Marked m = marked(s, row, lane); m.bits >> bit & 1)
                    marks[lane] = {~0u, m.origin};
        });
        give(s, to, marks);
    }
}

// P2R: and back, into a byte of what the register operand has.
void Follower::pack(const Step& s) {
    const uint32_t taken = static_cast<uint32_t>(s.i.operands.back().value) & 0xff;
    Marks marks;
    each_lane(s.lanes, [&](uint32_t lane) {
        for (const uint16_t row : s.i.data) {
            const Marked m = marked(s, row, lane);
            const uint32_t bits = row < predicate_rows ? m.bits & ~(taken << s.i.table)
                                  : m.bits ? 1u << ((row - predicate_rows) % 8 + s.i.table)
                                           : 0;
            if (bits) marks[lane] = {marks[lane].bits | bits, join(marks[lane].origin, m.origin)};
        }
    });
    give_all(s, marks);
}

void Follower::bring(Warp& w, const Instruction& i, uint32_t flags, uint32_t bytes, uint32_t lane,
                     uint32_t marked, Origin from) {
    Registers& registers = w.registers;
    const auto add = [&](uint32_t k, uint32_t to, uint32_t bits) {
        // Results come before predicates.
        if (!bits || k >= i.results.size() || i.results[k] >= uniform_rows) return;
        registers.mark(i.results[k], to, registers.bits(i.results[k], to) | bits, from);
    };
    if (flags & SASSEMU_ACCESS_MATRIX) {
        if (i.shape == MatrixShape::other && marked)
            for (uint32_t k = 0; k < i.results.size(); ++k)
                for (uint32_t to = 0; to < 32; ++to) add(k, to, ~0u);
        for (uint32_t b = 0; b < matrix_row && i.shape != MatrixShape::other; ++b)
            if (marked >> b & 1) {
                const auto [to, byte] = place_in_matrix(i.shape, lane % 8, b);
                add(lane / 8, to, 0xffu << byte * 8);
            }
        return;
    }
    for (uint32_t word = 0; word < (bytes + 3) / 4; ++word) {
        uint32_t bits = 0;
        for (uint32_t n = 0; n < 4; ++n)
            if (marked >> (word * 4 + n) & 1) bits |= 0xffu << n * 8;
        if (bits && bytes < 4 && flags & SASSEMU_ACCESS_SIGN_EXTEND && bits >> (bytes * 8 - 1) & 1)
            bits |= ~0u << bytes * 8;
        add(word, lane, bits);
    }
}

}  // namespace follow
