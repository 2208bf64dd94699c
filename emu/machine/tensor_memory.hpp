// SPDX-License-Identifier: Apache-2.0
// Tensor memory (PTX ISA, "Tensor memory"): the cells of one CTA, which of its columns are
// allocated, and the layouts in which warps load and store them. What is published and what is
// assumed: emu/isa/TENSOR_MEMORY.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "emu/machine/state_fill.hpp"
#include "emu/machine/tensor_requests.hpp"

namespace sassemu::async {

struct TensorMemory {
    static constexpr uint32_t lanes = 128, columns = 512;
    // Columns are allocated in granules; a set of them is a word with a bit for each.
    static constexpr uint32_t granule = 32, granules = columns / granule;
    uint32_t cell[lanes][columns];
};

// An address: lane in bits 31..16, column in bits 15..0.
constexpr uint32_t tensor_lane(uint32_t address) { return address >> 16; }
constexpr uint32_t tensor_column(uint32_t address) { return address & 0xffff; }
// The same place in bytes, as plugins know it.
constexpr uint64_t tensor_bytes(uint32_t lane, uint32_t column) {
    return uint64_t{lane} * (TensorMemory::columns * 4) + uint64_t{column} * 4;
}

// The granules of `count` columns, all of which exist.
constexpr uint32_t granules_of(uint32_t column, uint32_t count) {
    return count ? (2u << (column + count - 1) / TensorMemory::granule) -
                       (1u << column / TensorMemory::granule)
                 : 0;
}

// The tensor memory of a CTA, and of the CTAs that run in the same slot later.
class CtaTensorMemory {
  public:
    explicit CtaTensorMemory(const StateFill& fill) : fill_(fill) {}
    // For the next CTA.
    void begin() {
        set_used(0);
        see_peer(0);
        freed_ = 0;
        current_ = false;
    }
    TensorMemory& cells();
    uint32_t used() const { return used_[0]; }  // the granules that are allocated
    // Where used() lies, and behind it what the other CTA of a pair has (see_peer()), for loops
    // that wait for them to change.
    const std::byte* watched() const { return reinterpret_cast<const std::byte*>(&used_); }
    void set_used(uint32_t granules) {
        freed_ = (freed_ | used_[0]) & ~granules;
        set(0, granules);
    }
    // Those that were allocated once and are not now.
    uint32_t freed() const { return freed_; }
    void see_peer(uint32_t granules) { set(1, granules); }
    // The first of `count` granules in a row of which none is in `used`, at a multiple of `count`
    // where `aligned`; TensorMemory::granules if there are none.
    static uint32_t find(uint32_t used, uint32_t count, bool aligned);
    // A warp has found none. True: it has looked before, and nothing has changed since.
    bool refuse(uint32_t warp) { return std::exchange(refused_[warp], changes_) == changes_; }

  private:
    void set(uint32_t which, uint32_t granules) {
        used_[which] = granules & ((1u << TensorMemory::granules) - 1);
        ++changes_;
    }
    TensorMemory cells_;
    StateFill fill_;
    bool current_ = false;  // the cells are those of this CTA, else of one before it
    uint32_t used_[2] = {}, freed_ = 0;
    uint64_t changes_ = 1,
             refused_[32] = {};  // changes of used_; per warp, at which it was refused
};

// The rows (lanes of tensor memory) that an access touches, and how many columns of each.
uint32_t tensor_rows(TensorLayout);
uint32_t tensor_columns(const TensorAccess&);
// Which row and 32-bit word of it, or pair of columns with `halves`, is register `r` of a lane of
// the warp; both count from the address. False: the lane takes no part.
struct TensorPlace {
    uint32_t row, word;
};
bool tensor_place(TensorLayout, uint32_t lane, uint32_t r, TensorPlace& place);

}  // namespace sassemu::async
