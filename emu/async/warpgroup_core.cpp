// SPDX-License-Identifier: Apache-2.0
// wgmma: operands are collected in chunks of 16 bytes, from shared memory or registers; what is
// made of them is a host level's. Descriptors are read as the hardware reads them: bits that mean
// nothing do not count (measured on an H100, tests/hardware/warpgroup).
#include "emu/async/warpgroup_core.hpp"

#include <cstring>

#include "emu/async/tensor_descriptor.hpp"
#include "emu/async/tensor_ranges.hpp"
#include "emu/lanes/matrix_rule.hpp"
#include "emu/machine/op.hpp"

namespace sassemu::async {
namespace {

using lanes::WarpgroupProduct;

constexpr uint32_t rows_of_a = WarpgroupProduct::rows, bytes_of_a = 32;  // stored

lanes::MatrixFormat format(WarpgroupType t) {
    using F = lanes::MatrixFormat;
    static constexpr F formats[] = {F::f16, F::bf16, F::tf32, F::e4m3, F::e5m2};
    return formats[static_cast<uint32_t>(t)];
}

// An operand in shared memory: its rows are those of A, or columns of B.
struct SharedOperand {
    SharedMatrix matrix;
    uint32_t rows, bytes;  // of k
    uint32_t element;      // bytes of one
    bool transposed;

    // visit(offset, row, first byte of k) for each chunk of 16 bytes; false: visit was.
    template <class F>
    bool each_chunk(F&& visit) const {
        if (transposed) {
            const uint32_t each = 16 / element;
            for (uint32_t chunk = 0; chunk < rows / each; ++chunk)
                for (uint32_t k = 0; k < bytes / element; ++k)
                    if (!visit(matrix.mn_major(chunk, k), chunk * each, k * element)) return false;
        } else {
            for (uint32_t row = 0; row < rows; ++row)
                for (uint32_t chunk = 0; chunk < bytes / 16; ++chunk)
                    if (!visit(matrix.k_major(row, chunk), row, chunk * 16)) return false;
        }
        return true;
    }
    bool inside(uint64_t shared_bytes) const {
        if (!transposed && matrix.end_k_major(rows, bytes / 16) <= shared_bytes) return true;
        return each_chunk([&](uint32_t at, uint32_t, uint32_t) { return at + 16 <= shared_bytes; });
    }
    // As WarpgroupProduct has them.
    template <size_t Rows>
    void take(const std::byte* shared, uint32_t (*to)[Rows][4]) const {
        each_chunk([&](uint32_t at, uint32_t row, uint32_t k) {
            std::memcpy(to[k / 16][transposed ? row + k / 2 % 8 : row], shared + at, 16);
            return true;
        });
    }
};

SharedOperand operand_a(const WarpgroupMultiply& m) {
    const WarpgroupForm& f = m.form;
    return {SharedMatrix::of_warpgroup(m.a), rows_of_a, bytes_of_a, f.bits / 8u, f.transposed_a};
}
SharedOperand operand_b(const WarpgroupMultiply& m) {
    const WarpgroupForm& f = m.form;
    return {SharedMatrix::of_warpgroup(m.b), f.n, f.sparse ? 2 * bytes_of_a : bytes_of_a,
            f.bits / 8u, f.transposed_b};
}

// Rows of A as the fragments of four warps hold them: eight rows' words of a chunk to a register.
void take_registers(const WarpgroupMultiply& m, std::byte* const rows[4],
                    uint32_t (&to)[2][rows_of_a][4]) {
    for (uint32_t w = 0; w < 4; ++w)
        for (uint32_t r = 0; r < 4; ++r)
            std::memcpy(to[r / 2][16 * w + r % 2 * 8], rows[w] + m.a_rows + r * row_bytes,
                        row_bytes);
}

// The four bits of metadata for group q of a row. In the order of the PTX ISA a lane has four
// groups of row g and of row g + 8 in a row, or eight of one where elements have 8 bits; with
// .REGOFFSET the groups go round the four lanes (measured on an H100).
uint32_t nibble_of(const WarpgroupForm& f, const WarpgroupMetadata& metadata, uint32_t row,
                   uint32_t q) {
    const bool bytes = f.bits == 8;
    const uint32_t half = row / 8 % 2;
    uint32_t lane, nibble;
    if (f.spread) {
        lane = bytes ? q / 2 : q;
        nibble = bytes ? q / 8 * 4 + half * 2 + q % 2 : f.selector * 4u + q / 4 * 2 + half;
    } else {
        lane = bytes ? q / 8 * 2 + half : f.selector * 2u + q / 4;
        nibble = bytes ? q % 8 : half * 4 + q % 4;
    }
    return metadata[row / 16][row % 8 * 4 + lane % 4] >> (4 * nibble) & 15;
}
void read_places(const WarpgroupForm& f, const WarpgroupMetadata& metadata, WarpgroupProduct& p) {
    const bool halves = f.bits == 32;
    p.irregular = false;
    for (uint32_t row = 0; row < rows_of_a; ++row)
        for (uint32_t i = 0; i < f.k() / 2; ++i) {
            uint32_t low, high;
            if (halves) {  // two halves of two elements
                const uint32_t nibble = nibble_of(f, metadata, row, i);
                low = 4 * i + (nibble & 3), high = 4 * i + (nibble >> 2);
                p.irregular |= nibble != 4 && nibble != 14;
            } else {
                const uint32_t nibble = nibble_of(f, metadata, row, i / 2);
                low = 2 * (i / 2 * 4 + (nibble >> i % 2 * 2 & 3)), high = low + 1;
                p.irregular |= (nibble & 3) == nibble >> 2;
            }
            p.places[row][i][0] = static_cast<uint8_t>(low);
            p.places[row][i][1] = static_cast<uint8_t>(high);
        }
}

}  // namespace

const char* check(const WarpgroupMultiply& m, uint64_t shared_bytes) {
    if (m.form.empty) return nullptr;
    if (!m.form.in_registers && !operand_a(m).inside(shared_bytes))
        return "the matrix descriptor of A leaves the shared memory of the CTA";
    if (!operand_b(m).inside(shared_bytes))
        return "the matrix descriptor of B leaves the shared memory of the CTA";
    return nullptr;
}

void touched(const WarpgroupMultiply& m, Visit visit, void* self) {
    if (m.form.empty) return;
    SharedRanges read;
    const auto add = [&](uint32_t at, uint32_t, uint32_t) {
        read.add(at, 16);
        return true;
    };
    if (!m.form.in_registers) operand_a(m).each_chunk(add);
    operand_b(m).each_chunk(add);
    read.visit(visit, self);
}

void multiply(const WarpgroupMultiply& m, const std::byte* shared, std::byte* const rows[4],
              const WarpgroupMetadata& metadata, WarpgroupProduct& p, lanes::WarpgroupSums sums) {
    const WarpgroupForm& f = m.form;
    if (f.empty) return;
    f.in_registers ? take_registers(m, rows, p.a) : operand_a(m).take(shared, p.a);
    operand_b(m).take(shared, p.b);
    p.transposed_a = f.transposed_a && !f.in_registers, p.transposed_b = f.transposed_b;
    p.sparse = f.sparse;
    if (f.sparse) read_places(f, metadata, p);
    p.half = f.half, p.negates = f.negates, p.saturate = f.saturates;
    p.n = f.n;
    p.accumulate = m.accumulate;
    for (uint32_t w = 0; w < 4; ++w) {
        p.d[w] = reinterpret_cast<uint32_t*>(rows[w] + m.d);
        p.c[w] = reinterpret_cast<const uint32_t*>(rows[w] + m.c);
    }
    if (f.a == WarpgroupType::bit) {
        p.kind = lanes::WarpgroupKind::bits;
    } else if (f.a >= WarpgroupType::u8) {
        p.kind = lanes::WarpgroupKind::integers;
        p.signed_a = f.a == WarpgroupType::s8, p.signed_b = f.b == WarpgroupType::s8;
    } else {
        p.kind = lanes::WarpgroupKind::floats;
        p.format_a = format(f.a), p.format_b = format(f.b);
        p.rule = matrix_rule(90, f.bits == 8, f.half);
    }
    sums(p);
}

}  // namespace sassemu::async
