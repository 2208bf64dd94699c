// SPDX-License-Identifier: Apache-2.0
// Where the operands of tcgen05.mma lie, chunk by chunk and lane by lane: what its checks, its
// ranges and its products have in common.
#pragma once

#include <cstdint>

#include "emu/async/tensor_descriptor.hpp"

namespace sassemu::async {

// Rows of an operand in shared memory, m or n: `rows` of them from `first` on.
struct Band {
    uint32_t first = 0, rows = 0;
};
// Calls visit(offset, mn, k) for each chunk of a band; its first element is that of mn and k. Where
// chunks go across rows, those at its ends have others too. False: visit was.
template <class F>
bool each_chunk(const SharedMatrix& x, const TensorElements& e, Band band, F&& visit) {
    const uint32_t each = e.in_chunk(), end = band.first + band.rows;
    if (e.transposed) {
        for (uint32_t chunk = band.first / each; chunk * each < end; ++chunk)
            for (uint32_t i = 0; i < e.k; ++i)
                if (!visit(x.mn_major(chunk, i), chunk * each, i)) return false;
    } else {
        for (uint32_t mn = band.first; mn < end; ++mn)
            for (uint32_t chunk = 0; chunk < e.k / each; ++chunk)
                if (!visit(x.k_major(mn, chunk), mn, chunk * each)) return false;
    }
    return true;
}

// The columns of B that a CTA has of it.
inline Band band_of_b(const Multiply& m, const TensorInstruction& in) {
    return {ZeroColumns(m.zero_columns, in.bank_columns()).shift(), in.columns};
}
// Scales of B: their number in each quarter of tensor memory.
inline uint32_t scales_of_b(const TensorInstruction& in) { return in.bank_columns(); }

// 16 rows of D that lie in neighbouring lanes.
struct LaneBlock {
    uint32_t row, bank, lane;  // lane: of tensor memory
    uint32_t quarter() const { return lane / 32; }
};
// Calls block(LaneBlock) for each, in the memory of one CTA.
template <class F>
void each_block(const Multiply& m, const TensorInstruction& in, F&& block) {
    for (uint32_t bank = 0; bank < in.banks; ++bank)
        for (uint32_t row = 0; row < in.rows; row += 16)
            block(LaneBlock{row, bank, lane_of(m.d) + in.lane(row, bank)});
}

// Of a pair: which half of the rows, and of the columns of B, a CTA has. side: 0 asks.
inline uint32_t half_of(const Multiply& m, uint32_t side) { return m.pair ? side ^ m.second : 0; }

// A bit for each row of a block whose lane D changes in.
inline uint32_t enabled_rows(const Multiply& m, uint32_t half, const LaneBlock& b) {
    if (!m.disabled_lanes) return 0xffff;
    return ~(m.disabled_lanes[half * 4 + b.lane / 32] >> b.lane % 32) & 0xffff;
}

// The address of scales; bits 31..30 may select among them, as public libraries have it, but the
// instruction descriptor does.
constexpr uint32_t scale_address(uint32_t address) { return address & 0x3fffffff; }

}  // namespace sassemu::async
