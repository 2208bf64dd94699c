// SPDX-License-Identifier: Apache-2.0
// Who touched which byte last: shadow memory. What belongs here: its cells, and how they are found
// and changed. What does not: whether two accesses are in order (judge.cpp).
//
// An access of a warp has a number (Stamps), and a cell holds numbers: neighbours that were touched
// together are compared and changed as rows of words. The readers of a cell since its last write
// are a set that cells share; which lanes it were is kept per cell. Atomics, and readers that are
// many, are a list of the cell's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "view.hpp"

namespace check_sync {

enum StampFlag : uint32_t {
    stamp_strong = 1,
    stamp_atomic = 2,
    stamp_async = 4,
    stamp_generic = 8,
    stamp_reach = 16,
    stamp_map = 64,
    stamp_plain = 128
};  // reach: times 16, up to 3; plain: a weak store that counts as a flag's
// generic: of an asynchronous store (st.async), which PTX does not count to the async proxy; map:
// of a copy that reads its tensor map

// An access that may still matter.
struct Stamp {
    Component who = 0;  // 0: none
    uint32_t lanes = 0;
    uint32_t epoch = 0;
    uint32_t insn : 24 = 0;
    uint32_t flags : 8 = 0;
    bool operator==(const Stamp&) const = default;
};

using StampId = uint32_t;
constexpr StampId nobody = 0;   // never written
constexpr StampId settled = 1;  // written, and ordered before all that comes

class Stamps {
  public:
    Stamps() { clear(); }
    StampId number(const Stamp& s) {
        StampId& slot = recent_[(s.who * 0x9e3779b1u ^ s.insn * 0x85ebca6bu ^ s.lanes) >> 22];
        if (!(all_[slot] == s)) {
            slot = static_cast<StampId>(all_.size());
            all_.push_back(s);
        }
        return slot;
    }
    const Stamp& operator[](StampId id) const { return all_[id]; }
    size_t size() const { return all_.size(); }
    void clear() { replace(std::vector<Stamp>(2)); }
    // Those from component `first` on become one's. Their lanes stay.
    void gather(Component first, Component one, uint32_t epoch) {
        for (Stamp& s : all_)
            if (s.who >= first) s.who = one, s.epoch = epoch;
        recent_.fill(nobody);
    }
    void replace(std::vector<Stamp> all) {
        all_ = std::move(all);
        recent_.fill(nobody);
    }

  private:
    std::vector<Stamp> all_;
    std::array<StampId, 1024> recent_;
};

// A set of readers, in the order in which they came.
struct Readers {
    static constexpr uint32_t most = 8;
    uint32_t count = 0;
    StampId of[most] = {};
    // The change that was last asked for, and what it led to: `by` put in place of number `place`
    // (count: behind the last).
    StampId by = nobody;
    uint32_t place = 0, to = 0;
};
constexpr uint32_t own_list = 0x80000000;  // not a set: list number (without this bit)

// A stretch of memory in granules of 1, 2 or 4 bytes, which shrink when a narrower access comes.
class Block {
  public:
    explicit Block(uint32_t bytes) { resize((bytes + 3) / 4); }
    uint32_t shift() const { return shift_; }
    uint32_t granule() const { return 1u << shift_; }
    uint32_t cells() const { return static_cast<uint32_t>(write.size()); }

    std::vector<StampId> write;
    std::vector<uint8_t> writer;    // the lane
    std::vector<uint32_t> readers;  // a set, or own_list
    std::vector<StampId>
        older;  // the write before `write`, when both are asynchronous; empty: there never were any
    // Lanes of the reader `place` of a cell's set.
    uint32_t* lanes(uint32_t place) {
        if (lanes_[place].empty()) lanes_[place].resize(write.size());
        return lanes_[place].data();
    }
    uint32_t lanes_of(uint32_t place, uint32_t cell) const { return lanes_[place][cell]; }
    void keep_older(uint32_t cell, StampId id) {
        if (older.empty() && id) older.resize(write.size());
        if (!older.empty()) older[cell] = id;
    }
    void settle() {  // all is ordered before what comes
        for (StampId& w : write) w = std::min(w, settled);
        std::fill(readers.begin(), readers.end(), 0);
        older.clear();
    }
    void renew(uint32_t bytes) {  // other memory
        shift_ = 2;
        older.clear();
        for (auto& lanes : lanes_) lanes.clear();
        write.clear();
        readers.clear();
        resize((bytes + 3) / 4);
    }
    void refine(std::vector<std::vector<Stamp>>& lists) {
        const auto twice = [](auto& all) {
            std::remove_reference_t<decltype(all)> finer;
            finer.reserve(all.size() * 2);
            for (const auto& v : all) finer.insert(finer.end(), 2, v);
            all = std::move(finer);
        };
        twice(write);
        twice(writer);
        twice(readers);
        twice(older);
        for (auto& lanes : lanes_) twice(lanes);
        for (size_t i = 1; i < readers.size(); i += 2) {
            if (!(readers[i] & own_list)) continue;
            std::vector<Stamp> copy = lists[readers[i] & ~own_list];
            readers[i] = own_list | static_cast<uint32_t>(lists.size());
            lists.push_back(std::move(copy));
        }
        --shift_;
    }

  private:
    void resize(size_t cells) {
        write.resize(cells);
        writer.resize(cells);
        readers.resize(cells);
    }
    std::vector<uint32_t> lanes_[Readers::most];
    uint32_t shift_ = 2;
};

class Shadow {
  public:
    static constexpr uint32_t page = 4096;
    static constexpr size_t most_listed =
        24;  // per granule; the oldest are forgotten, which can hide a race, not invent one

    void add_shared(uint64_t cta, uint32_t bytes);
    void drop_shared(uint64_t cta);
    void drop_all_shared();
    Block* shared(uint64_t cta) {
        if (last_shared_ && cta == last_cta_) return last_shared_;
        auto at = shared_.find(cta);
        last_cta_ = cta;
        return last_shared_ = at == shared_.end() ? nullptr : at->second.get();
    }
    Block& global(uint64_t address) {
        const uint64_t number = address / page;
        return number == last_number_ && last_ ? *last_ : find_global(number);
    }
    // Cells of the bytes at `offset`, as an index; cells(): outside.
    uint32_t cell(Block& block, uint32_t offset, uint32_t bytes) {
        while ((offset | bytes) & (block.granule() - 1)) block.refine(lists);
        const uint32_t index = offset >> block.shift();
        return index + (bytes >> block.shift()) <= block.cells() ? index : block.cells();
    }
    void forget();
    // Forgets accesses that no cell names any more, when there are too many.
    bool collect() {
        if (stamps.size() < most_stamps_ && sets_.size() < most_stamps_) return false;
        sweep();
        return true;
    }

    // Host writes and plan contents.
    void initialise(uint64_t address, uint64_t bytes);
    bool initialised(uint64_t address, uint64_t bytes) const {
        auto at = contents_.upper_bound(address);
        return at != contents_.begin() && std::prev(at)->second >= address + bytes;
    }
    void discard(uint64_t address, uint64_t bytes);

    const Readers& set(uint32_t number) const { return sets_[number]; }
    // The set with `id` in `place`.
    uint32_t changed(uint32_t number, StampId id, uint32_t place) {
        Readers& from = sets_[number];
        if (from.by == id && from.place == place) return from.to;
        Readers next = from;
        next.of[place] = id;
        next.count = std::max(next.count, place + 1);
        next.by = nobody;
        const auto to = static_cast<uint32_t>(sets_.size());
        from.by = id;
        from.place = place;
        from.to = to;
        sets_.push_back(next);
        return to;
    }
    // The list of a cell, made of its set if it has none yet.
    std::vector<Stamp>& list(Block& block, uint32_t cell);
    void clear_readers(Block& block, uint32_t cell) {
        uint32_t& readers = block.readers[cell];
        if (readers & own_list) spare_lists_.push_back(readers & ~own_list);
        readers = 0;
    }

    Stamps stamps;
    std::vector<std::vector<Stamp>> lists;

  private:
    Block& find_global(uint64_t number);
    static void settle(Block& block, uint64_t from, uint64_t to, uint64_t base);
    void sweep();

    std::unordered_map<uint64_t, std::unique_ptr<Block>> shared_;
    std::vector<std::unique_ptr<Block>> spare_;  // of CTAs that have ended
    std::unordered_map<uint64_t, std::unique_ptr<Block>> pages_;
    uint64_t last_number_ = 0;
    Block* last_ = nullptr;
    uint64_t last_cta_ = 0;
    Block* last_shared_ = nullptr;
    std::map<uint64_t, uint64_t> contents_;  // first byte -> end
    std::vector<Readers> sets_{Readers{}};   // the first is empty
    std::vector<uint32_t> spare_lists_;
    size_t most_stamps_ = size_t{1} << 20;
};

}  // namespace check_sync
