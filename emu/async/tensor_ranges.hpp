// SPDX-License-Identifier: Apache-2.0
// Ranges that the tensor core touches, as plugins are told of them: each byte once, neighbours
// together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "emu/async/tensor_core.hpp"

namespace sassemu::async {

// Tells somebody's visitor of what is in the other CTA of a pair.
struct OfPeer {
    Visit visit;
    void* self;
    static void tell(void* of_peer, const Touched& t) {
        const auto* const p = static_cast<const OfPeer*>(of_peer);
        p->visit(p->self, {t.tensor, t.write, t.address, t.bytes, true});
    }
};

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
    static constexpr uint32_t most = 128 * 3 + 304 * 4;  // chunks of A and B
    uint64_t part_[most];                                // offset << 32 | bytes
    uint32_t count_ = 0;
};

struct Columns {
    uint32_t first = 0, count = 0;
};
// Columns of one lane of tensor memory; ranges may overlap.
inline void visit_columns(Visit visit, void* self, bool write, uint32_t lane,
                          std::initializer_list<Columns> ranges) {
    Columns sorted[8];
    uint32_t count = 0;
    for (const Columns& c : ranges)
        if (c.count) sorted[count++] = c;
    std::sort(sorted, sorted + count,
              [](const Columns& x, const Columns& y) { return x.first < y.first; });
    for (uint32_t i = 0; i < count;) {
        const uint32_t first = sorted[i].first;
        uint32_t end = first;
        for (; i < count && sorted[i].first <= end; ++i)
            end = std::max(end, sorted[i].first + sorted[i].count);
        visit(self, {true, write, uint64_t{lane} * 2048 + uint64_t{first} * 4, (end - first) * 4});
    }
}

}  // namespace sassemu::async
