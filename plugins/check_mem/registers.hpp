// SPDX-License-Identifier: Apache-2.0
// Which bits of a warp's registers have no value. What belongs here: registers of all files as
// rows, and what is kept of each. What an instruction does to them is in transfer.cpp.
//
// Most rows are defined in all lanes: a bit for each says which are not, and only those have more.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

namespace check_mem {

// R0.., UR0.., P0.., UP0... Uniform ones have the same in all lanes.
constexpr uint32_t uniform_rows = 256, predicate_rows = 512, uniform_predicate_rows = 520;
constexpr uint32_t all_rows = 528, no_row = ~0u;
using RowSet = std::array<uint64_t, (all_rows + 63) / 64>;

inline bool is_uniform(uint32_t row) {
    return (row >= uniform_rows && row < predicate_rows) || row >= uniform_predicate_rows;
}
inline void add(RowSet& set, uint32_t row) { set[row / 64] |= uint64_t{1} << row % 64; }
inline bool has(const RowSet& set, uint32_t row) { return set[row / 64] >> row % 64 & 1; }
template <class F>
void each_row(const RowSet& set, F&& visit) {
    for (uint32_t k = 0; k < set.size(); ++k)
        for (uint64_t rest = set[k]; rest; rest &= rest - 1)
            visit(k * 64 + static_cast<uint32_t>(std::countr_zero(rest)));
}
template <class F>
void each_lane(uint32_t lanes, F&& visit) {
    for (; lanes; lanes &= lanes - 1) visit(static_cast<uint32_t>(std::countr_zero(lanes)));
}

using Origin = uint32_t;             // where an undefined value was born: number of a Birth
constexpr Origin never_written = 0;  // nowhere yet: nobody has read it

class Registers {
  public:
    Registers() { forget(); }
    void forget() {
        any_.fill(~uint64_t{0});
        lanes_.fill(~0u);
        for (auto& d : detail_) d.reset();
    }
    // Whether a row of `set` is undefined in one of `lanes`.
    bool touches(const RowSet& set, uint32_t lanes) const {
        uint64_t some = 0;
        for (size_t k = 0; k < set.size(); ++k) some |= any_[k] & set[k];
        return some && touches_slowly(set, lanes);
    }
    void define(const RowSet& set, uint32_t lanes) {
        uint64_t some = 0;
        for (size_t k = 0; k < set.size(); ++k) some |= any_[k] & set[k];
        if (!some) return;
        RowSet both;
        for (size_t k = 0; k < set.size(); ++k) both[k] = any_[k] & set[k];
        each_row(both, [&](uint32_t row) { define(row, lanes); });
    }
    void define(uint32_t row, uint32_t lanes) {
        if (is_uniform(row)) lanes = ~0u;
        lanes_[row] &= ~lanes;
        if (!lanes_[row]) any_[row / 64] &= ~(uint64_t{1} << row % 64);
    }
    void undefine(uint32_t row, uint32_t lane, uint32_t bits, Origin origin) {
        if (!bits) return define(row, 1u << lane);
        std::unique_ptr<Detail>& d = detail_[row];
        if (!d) {
            d = std::make_unique<Detail>();
            each_lane(lanes_[row], [&](uint32_t k) { d->bits[k] = ~0u; });
        }
        const uint32_t first = is_uniform(row) ? 0 : lane, last = is_uniform(row) ? 31 : lane;
        for (uint32_t k = first; k <= last; ++k) {
            d->bits[k] = bits;
            d->origin[k] = origin;
            lanes_[row] |= 1u << k;
        }
        add(any_, row);
    }
    uint32_t lanes(uint32_t row) const { return lanes_[row]; }
    uint32_t bits(uint32_t row, uint32_t lane) const {
        if (!(lanes_[row] >> lane & 1)) return 0;
        return detail_[row] ? detail_[row]->bits[lane] : ~0u;
    }
    Origin origin(uint32_t row, uint32_t lane) const {
        return detail_[row] ? detail_[row]->origin[lane] : never_written;
    }

  private:
    struct Detail {
        uint32_t bits[32] = {};
        Origin origin[32] = {};
    };
    bool touches_slowly(const RowSet& set, uint32_t lanes) const {
        bool found = false;
        for (uint32_t k = 0; k < set.size() && !found; ++k)
            for (uint64_t rest = any_[k] & set[k]; rest && !found; rest &= rest - 1)
                found = lanes_[k * 64 + static_cast<uint32_t>(std::countr_zero(rest))] & lanes;
        return found;
    }
    RowSet any_;  // undefined in some lane
    std::array<uint32_t, RowSet{}.size() * 64> lanes_;
    std::array<std::unique_ptr<Detail>, all_rows> detail_;  // null: no bit has ever had a value
};

}  // namespace check_mem
