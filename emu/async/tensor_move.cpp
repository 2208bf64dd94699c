// SPDX-License-Identifier: Apache-2.0
// tcgen05.cp and tcgen05.shift. A copied row is one chunk or two of a K-major matrix, and lies in
// one lane or in more.
#include <cstring>

#include "emu/async/tensor_core.hpp"
#include "emu/async/tensor_descriptor.hpp"
#include "emu/async/tensor_ranges.hpp"

namespace sassemu::async {
namespace {

struct CopyShape {
    uint32_t rows, chunks;   // of shared memory; 4 columns of tensor memory each
    uint32_t near;           // rows in neighbouring lanes
    uint32_t far;            // lanes from there to the next such rows
    uint32_t copies, apart;  // of each row, and lanes from one to the next

    uint32_t lane(uint32_t row) const { return row % near + row / near * far; }
    uint32_t columns() const { return 4 * chunks; }
};
constexpr CopyShape shape_of(TensorShape s) {
    switch (s) {
        case TensorShape::x128b256:
            return {128, 2, 128, 0, 1, 0};
        case TensorShape::x4b256:
            return {4, 2, 1, 32, 1, 0};
        case TensorShape::x128b128:
            return {128, 1, 128, 0, 1, 0};
        case TensorShape::x64b128_02_13:
            return {64, 1, 64, 0, 2, 64};
        case TensorShape::x64b128_01_23:
            return {64, 1, 32, 64, 2, 32};
        case TensorShape::x32b128:
            break;
    }
    return {32, 1, 32, 0, 4, 32};
}
constexpr uint32_t shifted_columns = 8, shifted_lanes = 31;  // the last lane of 32 has no next one

// Bits of an element in shared memory.
uint32_t packed_bits(TensorUnpack u) {
    return u == TensorUnpack::b4 ? 4 : u == TensorUnpack::b6 ? 6 : 8;
}

// The bytes of a chunk that are no padding.
uint32_t chunk_bytes(TensorUnpack u) { return 2 * packed_bits(u); }

// Calls visit(offset in shared memory, row, chunk) until it is false.
template <class F>
bool each_chunk(const TensorMove& m, F&& visit) {
    const CopyShape s = shape_of(m.shape);
    const SharedMatrix from(m.from);
    for (uint32_t row = 0; row < s.rows; ++row)
        for (uint32_t chunk = 0; chunk < s.chunks; ++chunk)
            if (!visit(from.k_major(row, chunk), row, chunk)) return false;
    return true;
}

}  // namespace

const char* check(const TensorMove& m, uint64_t shared_bytes) {
    if (m.shift) {
        if (lane_of(m.to) % 32 || lane_of(m.to) >= 128)
            return "tcgen05.shift begins in a lane that 32 does not divide";
        if (column_of(m.to) + shifted_columns > 512)
            return "tcgen05.shift leaves the columns of tensor memory";
        return nullptr;
    }
    const CopyShape s = shape_of(m.shape);
    if (lane_of(m.to) + s.lane(s.rows - 1) + (s.copies - 1) * s.apart >= 128)
        return "tcgen05.cp leaves the lanes of tensor memory";
    if (column_of(m.to) + s.columns() > 512)
        return "tcgen05.cp leaves the columns of tensor memory";
    if (const char* why = SharedMatrix::refusal(m.from, false, false)) return why;
    const bool inside = each_chunk(m, [&](uint32_t at, uint32_t, uint32_t) {
        return at + chunk_bytes(m.unpack) <= shared_bytes;
    });
    return inside ? nullptr : "the matrix that tcgen05.cp copies leaves shared memory";
}

uint32_t granules(const TensorMove& m) {
    return granules_of(column_of(m.to), m.shift ? shifted_columns : shape_of(m.shape).columns());
}

namespace {

void touched_in_one(const TensorMove& m, Visit visit, void* self) {
    const uint32_t lane = lane_of(m.to), column = column_of(m.to);
    if (m.shift) {
        for (const bool write : {false, true})
            for (uint32_t i = 0; i < shifted_lanes; ++i)
                visit_columns(visit, self, write, lane + i + !write, {{column, shifted_columns}});
        return;
    }
    SharedRanges read;
    each_chunk(m, [&](uint32_t at, uint32_t, uint32_t) {
        read.add(at, chunk_bytes(m.unpack));
        return true;
    });
    read.visit(visit, self);
    const CopyShape s = shape_of(m.shape);
    for (uint32_t row = 0; row < s.rows; ++row)
        for (uint32_t copy = 0; copy < s.copies; ++copy)
            visit_columns(visit, self, true, lane + s.lane(row) + copy * s.apart,
                          {{column, s.columns()}});
}

}  // namespace

void touched(const TensorMove& m, Visit visit, void* self) {
    touched_in_one(m, visit, self);
    if (!m.pair) return;
    OfPeer peer{visit, self};
    touched_in_one(m, OfPeer::tell, &peer);
}

void move(const TensorMove& m, const std::byte* shared, TensorMemory& memory) {
    const uint32_t lane = lane_of(m.to), column = column_of(m.to);
    if (m.shift) {
        for (uint32_t i = 0; i < shifted_lanes; ++i)
            std::memcpy(&memory.cell[lane + i][column], &memory.cell[lane + i + 1][column],
                        4 * shifted_columns);
        return;
    }
    const CopyShape s = shape_of(m.shape);
    const uint32_t bits = packed_bits(m.unpack), shift = bits == 4 ? 2 : 0, mask = (1u << bits) - 1;
    each_chunk(m, [&](uint32_t at, uint32_t row, uint32_t chunk) {
        uint8_t packed[17] = {}, bytes[16];
        std::memcpy(packed, shared + at, chunk_bytes(m.unpack));
        for (uint32_t i = 0; i < 16; ++i) {
            const uint32_t bit = i * bits;
            const uint32_t pair = packed[bit / 8] | packed[bit / 8 + 1] << 8;
            bytes[i] = static_cast<uint8_t>((pair >> bit % 8 & mask) << shift);
        }
        for (uint32_t copy = 0; copy < s.copies; ++copy)
            std::memcpy(&memory.cell[lane + s.lane(row) + copy * s.apart][column + 4 * chunk],
                        bytes, 16);
        return true;
    });
}

}  // namespace sassemu::async
