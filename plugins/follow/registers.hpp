// SPDX-License-Identifier: Apache-2.0
// Which bits of a warp's registers are marked. What belongs here: registers of all files as rows,
// and what is kept of each. What an instruction does to them is in transfer.cpp.
//
// Most rows have no mark in any lane: a bit for each says which have, and only those have more.
// Of most of those all bits are marked, of one origin; the others have a Detail. Details that are
// the same have one address in Details, so that rows can be compared.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_set>

namespace follow {

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

using Origin = uint32_t;       // where marks come from: a number that the plugin gives out
constexpr Origin unnamed = 0;  // it has not given one yet

struct Detail {  // of a row, by lane; of lanes without marks 0
    uint32_t bits[32] = {};
    Origin origin[32] = {};
    bool operator==(const Detail&) const = default;
};

class Details {
  public:
    // NULL: there are too many of them.
    const Detail* find(const Detail& d) {
        const auto known = all_.find(d);
        if (known != all_.end()) return &*known;
        return all_.size() < most ? &*all_.insert(d).first : nullptr;
    }

  private:
    static constexpr size_t most = 1 << 14;
    struct Hash {
        size_t operator()(const Detail& d) const {
            uint64_t h = 0;
            for (uint32_t k = 0; k < 32; ++k)
                h = (h ^ (uint64_t{d.bits[k]} << 32 | d.origin[k])) * 0x9e3779b97f4a7c15;
            return h ^ h >> 32;
        }
    };
    std::unordered_set<Detail, Hash> all_;
};

class Registers {
  public:
    struct Row {  // all that is kept of one
        uint32_t row, lanes;
        Origin origin;         // of all its marks, all bits of these lanes, or
        const Detail* detail;  // one of Details
        bool operator==(const Row&) const = default;
    };

    // All of them marked, or none.
    void reset(bool marked) {
        any_.fill(marked ? ~uint64_t{0} : 0);
        lanes_.fill(marked ? ~0u : 0);
        origin_.fill(unnamed);
        detail_.fill(nullptr);
    }
    // Whether a row of `set` is marked in one of `lanes`.
    bool touches(const RowSet& set, uint32_t lanes) const {
        uint64_t some = 0;
        for (size_t k = 0; k < set.size(); ++k) some |= any_[k] & set[k];
        return some && touches_slowly(set, lanes);
    }
    // Every row of `set` that is marked in one of `lanes`.
    template <class F>
    void each_marked(const RowSet& set, uint32_t lanes, F&& visit) const {
        for (uint32_t k = 0; k < set.size(); ++k)
            for (uint64_t rest = any_[k] & set[k]; rest; rest &= rest - 1) {
                const uint32_t row = k * 64 + static_cast<uint32_t>(std::countr_zero(rest));
                if (lanes_[row] & lanes) visit(row);
            }
    }
    void clear(const RowSet& set, uint32_t lanes) {
        uint64_t some = 0;
        for (size_t k = 0; k < set.size(); ++k) some |= any_[k] & set[k];
        if (!some) return;
        RowSet both;
        for (size_t k = 0; k < set.size(); ++k) both[k] = any_[k] & set[k];
        each_row(both, [&](uint32_t row) { clear(row, lanes); });
    }
    void clear(uint32_t row, uint32_t lanes) {
        if (is_uniform(row)) lanes = ~0u;
        lanes_[row] &= ~lanes;
        if (lanes_[row]) return;
        any_[row / 64] &= ~(uint64_t{1} << row % 64);
        detail_[row] = nullptr;
    }
    void mark(uint32_t row, uint32_t lane, uint32_t bits, Origin origin) {
        if (!bits) return clear(row, 1u << lane);
        Detail& d = detail(row);
        const uint32_t first = is_uniform(row) ? 0 : lane, last = is_uniform(row) ? 31 : lane;
        for (uint32_t k = first; k <= last; ++k) {
            d.bits[k] = bits;
            d.origin[k] = origin;
            lanes_[row] |= 1u << k;
        }
        add(any_, row);
    }
    // All bits in these lanes.
    void mark_all(uint32_t row, uint32_t lanes, Origin origin) {
        if (!lanes) return;
        if (is_uniform(row)) lanes = ~0u;
        if (lanes_[row] & ~lanes && (detail_[row] || origin_[row] != origin)) {
            each_lane(lanes, [&](uint32_t lane) { mark(row, lane, ~0u, origin); });
            return;
        }
        detail_[row] = nullptr;
        origin_[row] = origin;
        lanes_[row] |= lanes;
        add(any_, row);
    }
    uint32_t lanes(uint32_t row) const { return lanes_[row]; }
    uint32_t bits(uint32_t row, uint32_t lane) const {
        if (!(lanes_[row] >> lane & 1)) return 0;
        return detail_[row] ? detail_[row]->bits[lane] : ~0u;
    }
    Origin origin(uint32_t row, uint32_t lane) const {
        return detail_[row] ? detail_[row]->origin[lane] : origin_[row];
    }
    // Where its lanes are marked, all bits are, and have one origin.
    bool is_plain(uint32_t row) const { return !detail_[row]; }

    // False: it cannot be told, since there are too many details.
    bool row(uint32_t row, Details& details, Row& r) {
        r = {row, lanes_[row], origin_[row], nullptr};
        if (!detail_[row]) return true;
        r.origin = unnamed;
        if (detail_[row] == own_[row].get() && !share(row, details)) return false;
        if (detail_[row])
            r.detail = detail_[row];
        else
            r.origin = origin_[row];
        return true;
    }
    void set(const Row& r) {
        lanes_[r.row] = r.lanes;
        origin_[r.row] = r.origin;
        detail_[r.row] = r.detail;
        if (r.lanes)
            add(any_, r.row);
        else
            any_[r.row / 64] &= ~(uint64_t{1} << r.row % 64);
    }

  private:
    // One that may be written.
    Detail& detail(uint32_t row) {
        std::unique_ptr<Detail>& own = own_[row];
        if (!own) own = std::make_unique<Detail>();
        if (detail_[row] == own.get()) return *own;
        if (detail_[row]) {
            *own = *detail_[row];
        } else {
            std::fill_n(own->bits, 32, ~0u);
            std::fill_n(own->origin, 32, origin_[row]);
        }
        detail_[row] = own.get();
        return *own;
    }
    // Its own detail becomes one of Details, or none if it says no more than a plain row.
    bool share(uint32_t row, Details& details) {
        Detail& d = *own_[row];
        const Origin first = d.origin[std::countr_zero(lanes_[row])];
        bool plain = true;
        for (uint32_t k = 0; k < 32; ++k) {
            if (lanes_[row] >> k & 1)
                plain = plain && d.bits[k] == ~0u && d.origin[k] == first;
            else
                d.bits[k] = d.origin[k] = 0;
        }
        if (plain) {
            origin_[row] = first;
            detail_[row] = nullptr;
            return true;
        }
        const Detail* const shared = details.find(d);
        if (shared) detail_[row] = shared;
        return shared;
    }
    bool touches_slowly(const RowSet& set, uint32_t lanes) const {
        bool found = false;
        for (uint32_t k = 0; k < set.size() && !found; ++k)
            for (uint64_t rest = any_[k] & set[k]; rest && !found; rest &= rest - 1)
                found = lanes_[k * 64 + static_cast<uint32_t>(std::countr_zero(rest))] & lanes;
        return found;
    }
    RowSet any_{};  // marked in some lane
    std::array<uint32_t, RowSet{}.size() * 64> lanes_{};
    std::array<Origin, all_rows> origin_{};         // of rows without detail
    std::array<const Detail*, all_rows> detail_{};  // its own or a shared one
    std::array<std::unique_ptr<Detail>, all_rows> own_;
};

}  // namespace follow
