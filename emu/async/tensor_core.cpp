// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma. Both operands are taken apart into words of one element, then multiplied in blocks
// of 16 rows; sums of floats are the fused steps of emu/lanes/matrix.hpp, sums of integers are
// exact.
#include "emu/async/tensor_core.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "emu/async/tensor_descriptor.hpp"
#include "emu/async/tensor_ranges.hpp"
#include "emu/lanes/matrix_rule.hpp"

namespace sassemu::async {
namespace {

constexpr uint32_t max_k = 32, max_n = 256;
constexpr uint32_t a_columns = 8;  // of A in tensor memory: K is 32 bytes

// Calls visit(offset, mn, k) for each chunk of an operand with `rows` rows, m or n; its first
// element is that of mn and k. False: visit was.
template <class F>
bool each_chunk(const SharedMatrix& x, const TensorElements& e, uint32_t rows, F&& visit) {
    const uint32_t each = e.in_chunk(), k = 2 * each;
    if (e.transposed) {
        for (uint32_t chunk = 0; chunk < rows / each; ++chunk)
            for (uint32_t i = 0; i < k; ++i)
                if (!visit(x.mn_major(chunk, i), chunk * each, i)) return false;
    } else {
        for (uint32_t mn = 0; mn < rows; ++mn)
            for (uint32_t chunk = 0; chunk < 2; ++chunk)
                if (!visit(x.k_major(mn, chunk), mn, chunk * each)) return false;
    }
    return true;
}

const char* operand_refusal(uint64_t descriptor, const TensorElements& e, uint32_t rows,
                            uint64_t shared_bytes) {
    if (const char* why = SharedMatrix::refusal(descriptor, e.transposed, e.bits == 32)) return why;
    const bool inside =
        each_chunk(SharedMatrix(descriptor), e, rows,
                   [&](uint32_t at, uint32_t, uint32_t) { return at + e.bytes() <= shared_bytes; });
    return inside ? nullptr : "a matrix of the tensor core leaves shared memory";
}

// Rows of M = 128 begin at lane 0, of M = 64 at 0 or 16.
bool lane_fits(const TensorInstruction& in, uint32_t address) {
    return lane_of(address) == 0 || (in.m == 64 && lane_of(address) == 16);
}

bool disabled(const Multiply& m, uint32_t lane) {
    return m.disabled_lanes && m.disabled_lanes[lane / 32] >> lane % 32 & 1;
}

// Elements of a whole matrix, words of raw bits, sign-extended if they are signed integers: put(mn,
// k, word).
template <class Put>
void take(const SharedMatrix& x, const TensorElements& e, uint32_t rows, const std::byte* shared,
          Put&& put) {
    const uint32_t each = e.in_chunk(), mask = e.bits == 32 ? ~0u : (1u << e.bits) - 1;
    each_chunk(x, e, rows, [&](uint32_t at, uint32_t mn, uint32_t k) {
        uint64_t chunk[2] = {};
        std::memcpy(chunk, shared + at, e.bytes());
        for (uint32_t i = 0; i < each; ++i) {
            const uint32_t bit = i * e.bits, in = bit % 64;
            uint64_t word = chunk[bit / 64] >> in;
            if (in + e.bits > 64) word |= chunk[1] << (64 - in);
            e.transposed ? put(mn + i, k, static_cast<uint32_t>(word) & mask)
                         : put(mn, k + i, static_cast<uint32_t>(word) & mask);
        }
        return true;
    });
}
template <class Put>
void take_a(const Multiply& m, const TensorInstruction& in, const std::byte* shared,
            const TensorMemory& memory, Put&& put) {
    if (!m.a_in_tensor_memory) return take(SharedMatrix(m.a), in.a, in.m, shared, put);
    const TensorElements& e = in.a;
    const uint32_t each = 32 / e.container, mask = e.bits == 32 ? ~0u : (1u << e.bits) - 1;
    for (uint32_t row = 0; row < in.m; ++row) {
        const uint32_t* cell =
            memory.cell[lane_of(m.a_address) + in.lane(row)] + column_of(m.a_address);
        for (uint32_t k = 0; k < in.k; ++k)
            put(row, k, cell[k / each] >> (k % each * e.container + e.shift) & mask);
    }
}

// Calls block(row, enabled, cells) for each 16 rows, whose lanes are neighbours, that are not all
// disabled. A bit per row; the cells of their lanes.
template <class Block>
void each_block(const Multiply& m, const TensorInstruction& in, TensorMemory& memory,
                Block&& block) {
    for (uint32_t row = 0; row < in.m; row += 16) {
        const uint32_t lane = lane_of(m.d) + in.lane(row);
        uint32_t enabled = 0;
        for (uint32_t i = 0; i < 16; ++i)
            enabled |= static_cast<uint32_t>(!disabled(m, lane + i)) << i;
        if (enabled) block(row, enabled, memory.cell + lane);
    }
}

void multiply_floats(const Multiply& m, const TensorInstruction& in, const std::byte* shared,
                     TensorMemory& memory, uint32_t sm, lanes::FusedSteps steps) {
    uint32_t a[max_k][128], b[max_k][max_n];
    take_a(m, in, shared, memory,
           [&](uint32_t row, uint32_t k, uint32_t word) { a[k][row] = word; });
    const uint32_t sign =
        in.a.format == lanes::MatrixFormat::tf32 ? 1u << 31 : 1u << (in.a.bits - 1);
    if (in.a.negated != in.b.negated)
        for (uint32_t k = 0; k < in.k; ++k)
            for (uint32_t row = 0; row < in.m; ++row) a[k][row] ^= sign;
    take(SharedMatrix(m.b), in.b, in.n, shared,
         [&](uint32_t n, uint32_t k, uint32_t word) { b[k][n] = word; });

    lanes::MatrixRule rule = matrix_rule(sm, m.kind == TensorKind::f8f6f4, in.half);
    rule.scale = static_cast<int>(m.scale_d);
    const uint32_t column = column_of(m.d);
    lanes::MatrixTile tile;
    lanes::MatrixColumns columns;
    tile.k = columns.k = in.k;
    each_block(m, in, memory, [&](uint32_t row, uint32_t enabled, uint32_t(*cell)[512]) {
        for (uint32_t k = 0; k < in.k; ++k)
            for (uint32_t half = 0; half < 2; ++half)
                std::memcpy(tile.a[half][k], &a[k][row + 8 * half], 32);
        for (uint32_t n = 0; n < in.n; n += 8) {
            for (uint32_t k = 0; k < in.k; ++k) std::memcpy(columns.row[k], &b[k][n], 32);
            const auto d = [&](uint32_t i, uint32_t j) -> uint32_t& {
                return tile.c[i / 8 * 2 + j % 2][j / 2 * 8 + i % 8];
            };
            if (m.accumulate) {
                for (uint32_t i = 0; i < 16; ++i)
                    for (uint32_t j = 0; j < 8; ++j) d(i, j) = cell[i][column + n + j];
            } else {
                std::memset(tile.c, 0, sizeof tile.c);
            }
            steps(tile, columns, in.a.format, in.b.format, rule, in.k);
            for (uint32_t i = 0; i < 16; ++i)
                if (enabled >> i & 1)
                    for (uint32_t j = 0; j < 8; ++j) cell[i][column + n + j] = d(i, j);
        }
    });
}

void multiply_integers(const Multiply& m, const TensorInstruction& in, const std::byte* shared,
                       TensorMemory& memory) {
    int16_t a[128][max_k], b[max_n][max_k];
    const auto number = [](uint32_t word, bool is_signed) {
        return static_cast<int16_t>(is_signed ? static_cast<int8_t>(word) : static_cast<int>(word));
    };
    take_a(m, in, shared, memory, [&](uint32_t row, uint32_t k, uint32_t word) {
        a[row][k] = number(word, in.a.is_signed);
    });
    take(SharedMatrix(m.b), in.b, in.n, shared,
         [&](uint32_t n, uint32_t k, uint32_t word) { b[n][k] = number(word, in.b.is_signed); });
    using Limits = std::numeric_limits<int32_t>;
    const uint32_t column = column_of(m.d);
    each_block(m, in, memory, [&](uint32_t row, uint32_t enabled, uint32_t(*cell)[512]) {
        for (uint32_t i = 0; i < 16; ++i) {
            if (!(enabled >> i & 1)) continue;
            for (uint32_t n = 0; n < in.n; ++n) {
                int32_t sum = 0;
                for (uint32_t k = 0; k < max_k; ++k) sum += a[row + i][k] * b[n][k];
                uint32_t& d = cell[i][column + n];
                int64_t all = sum;
                if (m.accumulate) all += static_cast<int32_t>(d);
                if (in.saturates) all = std::clamp<int64_t>(all, Limits::min(), Limits::max());
                d = static_cast<uint32_t>(all);
            }
        }
    });
}

}  // namespace

const char* check(const Multiply& m, uint64_t shared_bytes) {
    TensorInstruction in;
    if (const char* why = in.read(m.kind, m.instruction)) return why;
    if (m.scale_d > 15) return "D is scaled by less than 2^-15";
    if (m.scale_d && m.kind != TensorKind::f16 && m.kind != TensorKind::tf32)
        return "D is scaled in a kind other than f16 and tf32";
    if (!lane_fits(in, m.d)) return "D begins in a lane that its M has none in";
    if (column_of(m.d) + in.n > 512) return "D leaves the columns of tensor memory";
    if (m.a_in_tensor_memory) {
        if (in.a.transposed) return "A in tensor memory is transposed";
        if (lane_of(m.a_address) != lane_of(m.d)) return "A and D begin in different lanes";
        if (column_of(m.a_address) + a_columns > 512)
            return "A leaves the columns of tensor memory";
    } else if (const char* why = operand_refusal(m.a, in.a, in.m, shared_bytes)) {
        return why;
    }
    return operand_refusal(m.b, in.b, in.n, shared_bytes);
}

uint32_t granules(const Multiply& m) {
    TensorInstruction in;
    in.read(m.kind, m.instruction);
    return granules_of(column_of(m.d), in.n) |
           granules_of(column_of(m.a_address), m.a_in_tensor_memory ? a_columns : 0);
}

void touched(const Multiply& m, Visit visit, void* self) {
    TensorInstruction in;
    in.read(m.kind, m.instruction);
    SharedRanges read;
    const auto add = [&](uint64_t descriptor, const TensorElements& e, uint32_t rows) {
        each_chunk(SharedMatrix(descriptor), e, rows, [&](uint32_t at, uint32_t, uint32_t) {
            read.add(at, e.bytes());
            return true;
        });
    };
    if (!m.a_in_tensor_memory) add(m.a, in.a, in.m);
    add(m.b, in.b, in.n);
    read.visit(visit, self);
    // In tensor memory A and D may overlap.
    const uint32_t a = column_of(m.a_address), d = column_of(m.d);
    for (uint32_t row = 0; row < in.m; ++row) {
        const uint32_t lane = lane_of(m.d) + in.lane(row);
        const bool reads_d = m.accumulate && !disabled(m, lane);
        visit_columns(visit, self, false, lane, {a, m.a_in_tensor_memory ? a_columns : 0},
                      {d, reads_d ? in.n : 0});
    }
    for (uint32_t row = 0; row < in.m; ++row) {
        const uint32_t lane = lane_of(m.d) + in.lane(row);
        if (!disabled(m, lane)) visit_columns(visit, self, true, lane, {d, in.n});
    }
}

void multiply(const Multiply& m, const std::byte* shared, TensorMemory& memory, uint32_t sm,
              lanes::FusedSteps steps) {
    TensorInstruction in;
    in.read(m.kind, m.instruction);
    if (m.kind == TensorKind::i8)
        multiply_integers(m, in, shared, memory);
    else
        multiply_floats(m, in, shared, memory, sm, steps);
}

}  // namespace sassemu::async
