// SPDX-License-Identifier: Apache-2.0
// Ranges that the tensor core touches, as plugins are told of them: each byte once, neighbours
// together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "emu/async/tensor_core.hpp"

namespace sassemu::async {

// Parts of shared memory, in any order; they may overlap, as descriptors let them.
class SharedRanges {
  public:
    void add(uint32_t at, uint32_t bytes) { part_[count_++] = uint64_t{at} << 32 | bytes; }
    void visit(Visit visit, void* self) {
        std::sort(part_, part_ + count_);
        uint64_t begin = 0, end = 0;
        for (uint32_t i = 0; i < count_; ++i) {
            const uint64_t at = part_[i] >> 32, to = at + static_cast<uint32_t>(part_[i]);
            if (at > end) {
                tell(visit, self, begin, end);
                begin = at;
            }
            end = std::max(end, to);
        }
        tell(visit, self, begin, end);
    }

  private:
    static void tell(Visit visit, void* self, uint64_t begin, uint64_t end) {
        if (begin < end) visit(self, {false, false, begin, static_cast<uint32_t>(end - begin)});
    }
    static constexpr uint32_t most = 64 * 2 + 256 * 4;  // chunks of A and B, of sparse wgmma
    uint64_t part_[most];                               // offset << 32 | bytes
    uint32_t count_ = 0;
};

struct Columns {
    uint32_t first = 0, count = 0;
};
// Columns of one lane of tensor memory.
inline void visit_columns(Visit visit, void* self, bool write, uint32_t lane, Columns x,
                          Columns y = {}) {
    if (!x.count) x = y, y.count = 0;
    if (y.count && y.first < x.first) std::swap(x, y);
    if (y.count && y.first <= x.first + x.count) {
        x.count = std::max(x.first + x.count, y.first + y.count) - x.first;
        y.count = 0;
    }
    for (const Columns& c : {x, y})
        if (c.count)
            visit(self, {true, write, uint64_t{lane} * 2048 + uint64_t{c.first} * 4, c.count * 4});
}

}  // namespace sassemu::async
