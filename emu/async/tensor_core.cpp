// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma: which are refused, and what they touch. What they compute is in tensor_product.cpp.
#include "emu/async/tensor_core.hpp"

#include "emu/async/tensor_operands.hpp"
#include "emu/async/tensor_ranges.hpp"

namespace sassemu::async {
namespace {

const char* operand_refusal(uint64_t descriptor, const TensorElements& e, Band band,
                            uint64_t shared_bytes, bool absolute) {
    if (const char* why = SharedMatrix::refusal(descriptor, e.transposed, e.bits == 32,
                                                absolute && !e.transposed))
        return why;
    const bool inside =
        each_chunk(SharedMatrix(descriptor), e, band,
                   [&](uint32_t at, uint32_t, uint32_t) { return at + e.bytes() <= shared_bytes; });
    return inside ? nullptr : "a matrix of the tensor core leaves shared memory";
}

TensorInstruction instruction_of(const Multiply& m) {
    TensorInstruction in;
    in.read(m, 103);  // checked before
    return in;
}

// Columns of tensor memory that an instruction reads besides D.
struct Reads {
    Columns a, metadata, scales_a, scales_b;

    Reads(const Multiply& m, const TensorInstruction& in) {
        if (m.a_in_tensor_memory) a = {column_of(m.a_address), in.a_columns()};
        if (in.sparse) metadata = {column_of(m.metadata), in.metadata_columns()};
        if (in.sparse && !in.metadata_by_bytes()) metadata.first += in.selector;
        if (!in.vectors) return;
        scales_a = {column_of(m.scales_a),
                    TensorInstruction::scale_columns(in.rows, in.scale_a, in.vectors)};
        scales_b = {column_of(m.scales_b),
                    TensorInstruction::scale_columns(scales_of_b(in), in.scale_b, in.vectors)};
    }
};

// The columns of a lane that hold scales of `count` rows: of rows lane, lane + 32 and so on.
Columns scales_in_lane(Columns all, uint32_t count, uint32_t lane, bool second_word) {
    const uint32_t l = lane % 32;
    if (l >= count) return {};
    return second_word ? all : Columns{all.first, (count - l + 31) / 32};
}

void touched_in(const Multiply& m, const TensorInstruction& in, uint32_t half, Visit visit,
                void* self) {
    SharedRanges read;
    const auto add = [&](uint64_t descriptor, const TensorElements& e, Band band) {
        each_chunk(SharedMatrix(descriptor), e, band, [&](uint32_t at, uint32_t, uint32_t) {
            read.add(at, e.bytes());
            return true;
        });
    };
    if (!m.a_in_tensor_memory) add(m.a, in.a, {0, in.rows});
    add(m.b, in.b, band_of_b(m, in));
    read.visit(visit, self);

    const Reads reads(m, in);
    const uint32_t d = column_of(m.d);
    uint32_t lanes[4] = {}, enabled[4] = {};  // that rows lie in; that D changes in
    each_block(m, in, [&](const LaneBlock& b) {
        lanes[b.quarter()] |= 0xffffu << b.lane % 32;
        enabled[b.quarter()] |= enabled_rows(m, half, b) << b.lane % 32;
    });
    const bool two_a = in.scale_a + in.vectors > 4, two_b = in.scale_b + in.vectors > 4;
    for (uint32_t lane = 0; lane < TensorMemory::lanes; ++lane) {
        const bool rows = lanes[lane / 32] >> lane % 32 & 1;
        const bool adds = m.accumulate && enabled[lane / 32] >> lane % 32 & 1;
        const bool scales = in.vectors && lanes[lane / 32];
        visit_columns(
            visit, self, false, lane,
            {rows ? reads.a : Columns{}, rows ? reads.metadata : Columns{},
             scales ? scales_in_lane(reads.scales_a, in.rows, lane, two_a) : Columns{},
             scales ? scales_in_lane(reads.scales_b, scales_of_b(in), lane, two_b) : Columns{},
             adds ? Columns{d, in.bank_columns()} : Columns{}});
    }
    for (uint32_t lane = 0; lane < TensorMemory::lanes; ++lane) {
        const uint32_t l = lane % 32;
        // The last lane of a quarter keeps its A.
        const bool shifted = m.shifts && l != 31;
        visit_columns(visit, self, true, lane,
                      {enabled[lane / 32] >> l & 1 ? Columns{d, in.bank_columns()} : Columns{},
                       shifted ? reads.a : Columns{}});
    }
}

}  // namespace

const char* check(const Multiply& m, uint32_t sm, uint64_t shared_bytes) {
    TensorInstruction in;
    if (const char* why = in.read(m, sm)) return why;
    if (m.scale_d > 15) return "D is scaled by less than 2^-15";
    if (m.scale_d && m.kind != TensorKind::f16 && m.kind != TensorKind::tf32)
        return "D is scaled in a kind other than f16 and tf32";
    if (const char* why = ZeroColumns::refusal(m.zero_columns, in)) return why;
    if (lane_of(m.d) != 0 && !(in.spread && lane_of(m.d) == 16))
        return "D begins in a lane that its M has none in";
    const auto outside = [](Columns c) { return c.count && c.first + c.count > 512; };
    const Reads reads(m, in);
    if (outside({column_of(m.d), in.bank_columns()}))
        return "D leaves the columns of tensor memory";
    if (m.a_in_tensor_memory) {
        if (in.a.transposed) return "A in tensor memory is transposed";
        if (lane_of(m.a_address) != lane_of(m.d)) return "A and D begin in different lanes";
        if (outside(reads.a)) return "A leaves the columns of tensor memory";
    } else if (const char* why =
                   operand_refusal(m.a, in.a, {0, in.rows}, shared_bytes, in.k == 96)) {
        return why;
    }
    if (in.sparse) {
        if (lane_of(m.metadata) != lane_of(m.d))
            return "sparsity metadata and D begin in different lanes";
        if (outside(reads.metadata)) return "sparsity metadata leaves the columns of tensor memory";
    }
    if (in.vectors) {
        if (lane_of(scale_address(m.scales_a)) || lane_of(scale_address(m.scales_b)))
            return "scales begin in another lane of tensor memory than 0";
        if (outside(reads.scales_a)) return "scales of A leave the columns of tensor memory";
        if (outside(reads.scales_b)) return "scales of B leave the columns of tensor memory";
    }
    return operand_refusal(m.b, in.b, band_of_b(m, in), shared_bytes, in.k == 96);
}

uint32_t granules(const Multiply& m) {
    const TensorInstruction in = instruction_of(m);
    const Reads reads(m, in);
    uint32_t all = granules_of(column_of(m.d), in.bank_columns());
    for (const Columns& c : {reads.a, reads.metadata, reads.scales_a, reads.scales_b})
        all |= granules_of(c.first, c.count);
    return all;
}

void touched(const Multiply& m, Visit visit, void* self) {
    const TensorInstruction in = instruction_of(m);
    touched_in(m, in, half_of(m, 0), visit, self);
    if (!m.pair) return;
    OfPeer peer{visit, self};
    touched_in(m, in, half_of(m, 1), OfPeer::tell, &peer);
}

}  // namespace sassemu::async
