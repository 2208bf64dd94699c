// SPDX-License-Identifier: Apache-2.0
// wgmma: operands are collected row by row, from shared memory or registers, then taken apart into
// the words that a host level multiplies. Descriptors are read as the hardware reads them: bits
// that mean nothing do not count (measured on an H100, tests/hardware/warpgroup).
#include "emu/async/warpgroup_core.hpp"

#include <cstring>

#include "emu/async/tensor_descriptor.hpp"
#include "emu/async/tensor_ranges.hpp"
#include "emu/lanes/matrix_rule.hpp"
#include "emu/machine/op.hpp"

namespace sassemu::async {
namespace {

constexpr uint32_t rows_of_a = 64, bytes_of_a = 32;  // stored elements of a row
constexpr uint32_t most_columns = lanes::WarpgroupProduct::max_n;

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
        return each_chunk([&](uint32_t at, uint32_t, uint32_t) { return at + 16 <= shared_bytes; });
    }
    template <size_t Bytes>
    void take(const std::byte* shared, std::byte (*to)[Bytes]) const {
        each_chunk([&](uint32_t at, uint32_t row, uint32_t k) {
            if (!transposed)
                std::memcpy(to[row] + k, shared + at, 16);
            else  // of 16 bits
                for (uint32_t i = 0; i < 8; ++i)
                    std::memcpy(to[row + i] + k, shared + at + 2 * i, 2);
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

// Rows of A as the fragments of four warps hold them.
void take_registers(const WarpgroupMultiply& m, std::byte* const rows[4],
                    std::byte (*to)[bytes_of_a]) {
    for (uint32_t w = 0; w < 4; ++w)
        for (uint32_t r = 0; r < 4; ++r)
            for (uint32_t lane = 0; lane < 32; ++lane)
                std::memcpy(to[16 * w + r % 2 * 8 + lane / 4] + r / 2 * 16 + lane % 4 * 4,
                            rows[w] + m.a_rows + r * row_bytes + lane * 4, 4);
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
struct Places {
    uint8_t k[rows_of_a][bytes_of_a];       // of each stored element, in A
    uint8_t second[rows_of_a][bytes_of_a];  // tf32: of its upper half
    bool irregular = false;                 // one is named twice, or halves of two
};
void read_places(const WarpgroupForm& f, const WarpgroupMetadata& metadata, Places& p) {
    const uint32_t stored = f.k() / 2;
    const bool halves = f.bits == 32;
    for (uint32_t row = 0; row < rows_of_a; ++row)
        for (uint32_t i = 0; i < stored; ++i) {
            if (halves) {  // two halves of two elements
                const uint32_t nibble = nibble_of(f, metadata, row, i);
                p.k[row][i] = static_cast<uint8_t>(4 * i + (nibble & 3));
                p.second[row][i] = static_cast<uint8_t>(4 * i + (nibble >> 2));
                p.irregular |= nibble != 4 && nibble != 14;
            } else {
                const uint32_t nibble = nibble_of(f, metadata, row, i / 2);
                p.k[row][i] = static_cast<uint8_t>(2 * (i / 2 * 4 + (nibble >> i % 2 * 2 & 3)));
                p.irregular |= (nibble & 3) == nibble >> 2;
            }
        }
}

template <class T>
T element(const std::byte* row, uint32_t i) {
    T v;
    std::memcpy(&v, row + i * sizeof(T), sizeof(T));
    return v;
}

// T: the words of an element. `places`: of a sparse A.
template <class T>
void floats(const WarpgroupForm& f, const std::byte (*a)[bytes_of_a],
            const std::byte (*b)[2 * bytes_of_a], const Places* places,
            lanes::WarpgroupProduct& p) {
    const uint32_t k = f.k(), stored = bytes_of_a / sizeof(T);
    const T sign = f.negates ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
    p.irregular = places && places->irregular;
    const bool expands = places && !p.irregular;
    for (uint32_t w = 0; w < 4; ++w) {
        lanes::MatrixTile& tile = p.left[w];
        tile.k = p.irregular ? stored : k;
        tile.sparse = expands;
        if (expands) {
            for (auto& half : tile.a) std::memset(half, 0, k * sizeof half[0]);
            std::memset(tile.present, 0, sizeof tile.present);
        }
        for (uint32_t r = 0; r < 16; ++r) {
            const uint32_t row = 16 * w + r, half = r / 8;
            for (uint32_t i = 0; i < stored; ++i) {
                uint32_t at = i;
                if (expands) {
                    at = places->k[row][i] / 2u;
                    tile.present[half][r % 8] |= uint64_t{1} << at;
                } else if (p.irregular) {
                    p.meets[row][i][0] = places->k[row][i];
                    p.meets[row][i][1] = places->second[row][i];
                }
                tile.a[half][at][r % 8] = static_cast<T>(element<T>(a[row], i) ^ sign);
            }
        }
    }
    for (uint32_t n = 0; n < f.n; n += 8) {
        lanes::MatrixColumns& columns = p.right[n / 8];
        columns.k = k;
        for (uint32_t i = 0; i < k; ++i)
            for (uint32_t j = 0; j < 8; ++j) columns.row[i][j] = element<T>(b[n + j], i);
    }
}

// Two bytes of a word, from `first` on, as numbers of 16 bits.
uint32_t pair(uint32_t word, uint32_t first, bool is_signed) {
    const uint32_t two = word >> (8 * first), apart = (two & 0xff) | (two & 0xff00) << 8;
    return is_signed ? apart | (apart & 0x00800080) * 0x1fe : apart;  // 0x80 * 0x1fe: 0xff00
}
void four_lanes(uint32_t* to, uint32_t row, uint32_t word) {
    for (uint32_t t = 0; t < 4; ++t) to[row % 8 * 4 + t] = word;
}
void integers(const WarpgroupForm& f, const std::byte (*a)[bytes_of_a],
              const std::byte (*b)[2 * bytes_of_a], const Places* places,
              lanes::WarpgroupProduct& p) {
    p.k = f.k() / 2;
    for (uint32_t row = 0; row < rows_of_a; ++row) {
        uint32_t(*to)[32] = p.rows[row / 16][row / 8 % 2];
        if (!places) {
            for (uint32_t i = 0; i < p.k; ++i)
                four_lanes(
                    to[i], row,
                    pair(element<uint32_t>(a[row], i / 2), i % 2 * 2, f.a == WarpgroupType::s8));
            continue;
        }
        // Numbers that meet the same one of B add up.
        uint16_t whole[2 * bytes_of_a] = {};
        for (uint32_t i = 0; i < bytes_of_a; ++i)
            whole[places->k[row][i] / 2] += static_cast<uint16_t>(
                pair(element<uint8_t>(a[row], i), 0, f.a == WarpgroupType::s8));
        for (uint32_t i = 0; i < p.k; ++i)
            four_lanes(to[i], row, whole[2 * i] | uint32_t{whole[2 * i + 1]} << 16);
    }
    for (uint32_t n = 0; n < f.n; ++n)
        for (uint32_t i = 0; i < p.k; ++i)
            p.columns[n / 8][n % 2][i][n % 8 / 2] =
                pair(element<uint32_t>(b[n], i / 2), i % 2 * 2, f.b == WarpgroupType::s8);
}

void bits(const WarpgroupForm& f, const std::byte (*a)[bytes_of_a],
          const std::byte (*b)[2 * bytes_of_a], lanes::WarpgroupProduct& p) {
    p.k = bytes_of_a / 4;
    for (uint32_t row = 0; row < rows_of_a; ++row)
        for (uint32_t i = 0; i < p.k; ++i)
            four_lanes(p.rows[row / 16][row / 8 % 2][i], row, element<uint32_t>(a[row], i));
    for (uint32_t n = 0; n < f.n; ++n)
        for (uint32_t i = 0; i < p.k; ++i)
            p.columns[n / 8][n % 2][i][n % 8 / 2] = element<uint32_t>(b[n], i);
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
              const WarpgroupMetadata& metadata, lanes::WarpgroupProduct& p,
              lanes::WarpgroupSums sums) {
    const WarpgroupForm& f = m.form;
    if (f.empty) return;
    alignas(16) std::byte a[rows_of_a][bytes_of_a], b[most_columns][2 * bytes_of_a];
    f.in_registers ? take_registers(m, rows, a) : operand_a(m).take(shared, a);
    operand_b(m).take(shared, b);
    Places places;
    if (f.sparse) read_places(f, metadata, places);
    const Places* sparse = f.sparse ? &places : nullptr;

    p.half = f.half, p.saturate = f.saturates, p.n = f.n;
    p.accumulate = m.accumulate;
    for (uint32_t w = 0; w < 4; ++w) {
        p.d[w] = reinterpret_cast<uint32_t*>(rows[w] + m.d);
        p.c[w] = reinterpret_cast<const uint32_t*>(rows[w] + m.c);
    }
    if (f.a == WarpgroupType::bit) {
        p.kind = lanes::WarpgroupKind::bits;
        bits(f, a, b, p);
    } else if (f.a >= WarpgroupType::u8) {
        p.kind = lanes::WarpgroupKind::integers;
        integers(f, a, b, sparse, p);
    } else {
        p.kind = lanes::WarpgroupKind::floats;
        p.a = format(f.a), p.b = format(f.b);
        p.rule = matrix_rule(90, f.bits == 8, f.half);
        if (f.bits == 32)
            floats<uint32_t>(f, a, b, sparse, p);
        else if (f.bits == 16)
            floats<uint16_t>(f, a, b, sparse, p);
        else
            floats<uint8_t>(f, a, b, sparse, p);
    }
    sums(p);
}

}  // namespace sassemu::async
