// Who touched which byte last: shadow memory. What belongs here: cells and how they are found. What does not: whether
// two accesses are in order (checker.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "view.hpp"

namespace check_sync {

enum StampFlag : uint32_t { stamp_strong = 1, stamp_atomic = 2, stamp_async = 4, stamp_generic = 8, stamp_reach = 16 };  // reach: times 16
// generic: of an asynchronous store (st.async), which PTX does not count to the async proxy

// An access that may still matter.
struct Stamp {
    Component who = 0;  // 0: none
    uint32_t lanes = 0;
    uint32_t epoch = 0;
    uint32_t insn : 24 = 0;
    uint32_t flags : 8 = 0;
};

// One granule of memory: 1, 2 or 4 bytes.
struct Cell {
    Stamp write, read;
    Stamp older;               // the write before `write`, when both are asynchronous
    uint32_t more = 0;         // further reads and all atomics: list more - 1
    bool initialised = false;
};

// A stretch of memory whose granule shrinks when a narrower access comes.
class Block {
  public:
    explicit Block(uint32_t bytes) : cells_((bytes + 3) / 4) {}
    uint32_t granule() const { return 1u << shift_; }
    // Cells of the bytes at `offset`; the granule divides both.
    Cell* at(uint32_t offset, uint32_t bytes, std::vector<std::vector<Stamp>>& lists) {
        while ((offset | bytes) & (granule() - 1)) refine(lists);
        const size_t index = offset >> shift_;
        return index + (bytes >> shift_) <= cells_.size() ? &cells_[index] : nullptr;
    }
    void forget() {  // all is ordered before what comes; bytes stay initialised
        for (Cell& c : cells_) c = Cell{{}, {}, {}, 0, c.initialised};
    }

  private:
    void refine(std::vector<std::vector<Stamp>>& lists) {
        std::vector<Cell> finer;
        finer.reserve(cells_.size() * 2);
        for (const Cell& c : cells_) {
            finer.push_back(c);
            finer.push_back(c);
            if (c.more) {
                std::vector<Stamp> copy = lists[c.more - 1];
                lists.push_back(std::move(copy));
                finer.back().more = static_cast<uint32_t>(lists.size());
            }
        }
        cells_ = std::move(finer);
        --shift_;
    }
    std::vector<Cell> cells_;
    uint32_t shift_ = 2;
};

class Shadow {
  public:
    static constexpr uint32_t page = 4096;
    static constexpr size_t most_reads = 24;  // per granule; the oldest are forgotten, which can hide a race, not invent one

    void add_shared(uint64_t cta, uint32_t bytes) {
        shared_.insert_or_assign(cta, Block(bytes));
        last_shared_ = nullptr;
    }
    void drop_shared(uint64_t cta) {
        shared_.erase(cta);
        last_shared_ = nullptr;
    }
    Block* shared(uint64_t cta) {
        if (last_shared_ && cta == last_cta_) return last_shared_;
        auto at = shared_.find(cta);
        last_cta_ = cta;
        return last_shared_ = at == shared_.end() ? nullptr : &at->second;
    }
    Block& global(uint64_t address) {
        const uint64_t number = address / page;
        if (number == last_number_ && last_) return *last_;
        std::unique_ptr<Block>& block = pages_[number];
        if (!block) block = std::make_unique<Block>(page);
        last_number_ = number;
        last_ = block.get();
        return *last_;
    }
    void forget() {
        for (auto& [number, block] : pages_) block->forget();
        lists.clear();
    }

    // Host writes and plan contents.
    void initialise(uint64_t address, uint64_t bytes) {
        uint64_t end = address + bytes;
        auto at = contents_.upper_bound(address);
        if (at != contents_.begin() && std::prev(at)->second >= address) --at;
        while (at != contents_.end() && at->first <= end) {
            address = std::min(address, at->first);
            end = std::max(end, at->second);
            at = contents_.erase(at);
        }
        contents_[address] = end;
    }
    bool initialised(uint64_t address, uint64_t bytes) const {
        auto at = contents_.upper_bound(address);
        return at != contents_.begin() && std::prev(at)->second >= address + bytes;
    }
    void discard(uint64_t address, uint64_t bytes);

    std::vector<std::vector<Stamp>> lists;

  private:
    std::unordered_map<uint64_t, Block> shared_;
    std::unordered_map<uint64_t, std::unique_ptr<Block>> pages_;
    uint64_t last_number_ = 0;
    Block* last_ = nullptr;
    uint64_t last_cta_ = 0;
    Block* last_shared_ = nullptr;
    std::map<uint64_t, uint64_t> contents_;  // first byte -> end
};

inline void Shadow::discard(uint64_t address, uint64_t bytes) {
    for (uint64_t number = address / page; number <= (address + bytes - 1) / page; ++number) pages_.erase(number);
    last_ = nullptr;
    const uint64_t end = address + bytes;
    for (auto at = contents_.begin(); at != contents_.end();) {
        const auto [first, last] = *at;
        if (last <= address || first >= end) {
            ++at;
            continue;
        }
        at = contents_.erase(at);
        if (first < address) contents_[first] = address;
        if (last > end) at = contents_.emplace(end, last).first;
    }
}

}  // namespace check_sync
