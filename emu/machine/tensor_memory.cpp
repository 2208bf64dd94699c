// SPDX-License-Identifier: Apache-2.0
// The cells and the layouts.
#include "emu/machine/tensor_memory.hpp"

namespace sassemu::async {

TensorMemory& CtaTensorMemory::cells() {
    if (!std::exchange(current_, true)) fill_.apply(&cells_, sizeof cells_);
    return cells_;
}

uint32_t CtaTensorMemory::find(uint32_t used, uint32_t count, bool aligned) {
    for (uint32_t at = 0; at + count <= TensorMemory::granules; at += aligned ? count : 1)
        if (!(used >> at & ((1u << count) - 1))) return at;
    return TensorMemory::granules;
}

namespace {

// 16 rows of tensor memory are twice as wide as the registers that they fill.
bool whole_rows(TensorLayout l) {
    return l == TensorLayout::x32b32 || l == TensorLayout::x16b32_low ||
           l == TensorLayout::x16b32_high;
}

}  // namespace

uint32_t tensor_rows(TensorLayout l) { return l == TensorLayout::x32b32 ? 32 : 16; }

uint32_t tensor_columns(const TensorAccess& a) {
    return a.registers * (whole_rows(a.layout) ? 1 : 2) * (a.halves ? 2 : 1);
}

bool tensor_place(TensorLayout layout, uint32_t lane, uint32_t r, TensorPlace& place) {
    const uint32_t quad = lane / 4, in_quad = lane % 4;
    switch (layout) {
        case TensorLayout::x32b32:
            place = {lane, r};
            return true;
        case TensorLayout::x16b32_low:
            place = {lane, r};
            return lane < 16;
        case TensorLayout::x16b32_high:
            place = {lane - 16, r};
            return lane >= 16;
        case TensorLayout::x16b64:
            place = {quad + 8 * (lane % 2), in_quad / 2 + 2 * r};
            return true;
        case TensorLayout::x16b128:
            place = {quad + 8 * (r % 2), in_quad + 4 * (r / 2)};
            return true;
        case TensorLayout::x16b256:
            place = {quad + 8 * (r / 2 % 2), r % 2 + 2 * in_quad + 8 * (r / 4)};
            return true;
    }
    return false;
}

}  // namespace sassemu::async
