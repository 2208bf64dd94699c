// SPDX-License-Identifier: Apache-2.0
// What the tensor core of the fifth generation does in machine code (tcgen05.mma, tcgen05.cp):
// which bytes it reads and writes, and what it makes of them. What does not belong here: when.
#pragma once

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "emu/async/tensor_core.hpp"
#include "emu/async/tensor_statistic.hpp"
#include "emu/explore/sass/products.hpp"
#include "emu/machine/tensor_memory.hpp"

namespace sassemu::explore {

// Tensor memory is a row of bytes here, column by column: what a product writes lies together.
constexpr uint32_t tensor_memory_bytes = 128 * 512 * 4;
constexpr uint32_t tensor_offset(uint32_t lane, uint32_t column) { return column * 512 + lane * 4; }

// The granules of columns that lie there.
constexpr uint32_t granules_in(const SharedRange& r) {
    constexpr uint32_t column = tensor_offset(0, 1);
    const uint32_t first = r.address / column, end = (r.address + r.bytes - 1) / column + 1;
    return async::granules_of(first, end - first);
}
// Why a test that misuses them has no meaning (docs/litmus.md, section 3, 12).
constexpr const char* leaked_columns = "tensor memory leak";
constexpr const char* unallocated_columns = "unallocated tensor memory";

struct TensorWork {
    std::variant<async::Multiply, async::TensorMove> what;
    std::array<uint32_t, 4> disabled_lanes{};  // what a product points to

    bool multiplies() const { return what.index() == 0; }
    enum class Kind : uint8_t { product, copy, copy_4x256b, shift };
    Kind kind() const {
        const auto* const move = std::get_if<async::TensorMove>(&what);
        if (!move) return Kind::product;
        if (move->shift) return Kind::shift;
        return move->shape == async::TensorShape::x4b256 ? Kind::copy_4x256b : Kind::copy;
    }
};
// The pairs that the tensor core takes in the order in which it is asked for them (PTX ISA
// 9.7.16.6).
constexpr bool pipelined(TensorWork::Kind first, TensorWork::Kind then) {
    using Kind = TensorWork::Kind;
    return then == Kind::product || (first == Kind::product && then == Kind::shift) ||
           (first == Kind::shift && then == Kind::copy_4x256b);
}
// Why the hardware would not do it ("faults: ..."), or why it is not explored; empty: it is.
std::string refusal(const TensorWork& work, const Launch& launch);

struct TensorRanges {
    std::vector<SharedRange> shared;         // read; addresses in shared memory
    std::vector<SharedRange> read, written;  // in tensor memory
};
TensorRanges ranges_of(const TensorWork& work);
// `tensor`: tensor memory before, with what is read in place, and after.
void perform(const PreparedLaunch& launch, const TensorWork& work, const std::byte* shared,
             std::vector<std::byte>& tensor);

}  // namespace sassemu::explore
