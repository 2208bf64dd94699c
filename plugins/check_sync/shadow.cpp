// SPDX-License-Identifier: Apache-2.0
// See shadow.hpp: what does not happen at every access.
#include "shadow.hpp"

namespace check_sync {

void Shadow::add_shared(uint64_t cta, uint32_t bytes) {
    std::unique_ptr<Block>& block = shared_[cta];
    if (spare_.empty()) {
        block = std::make_unique<Block>(bytes);
    } else {
        block = std::move(spare_.back());
        spare_.pop_back();
        block->renew(bytes);
    }
    last_shared_ = nullptr;
}

void Shadow::drop_shared(uint64_t cta) {
    const auto at = shared_.find(cta);
    if (at != shared_.end()) {
        spare_.push_back(std::move(at->second));
        shared_.erase(at);
    }
    last_shared_ = nullptr;
}

Block& Shadow::find_global(uint64_t number) {
    std::unique_ptr<Block>& block = pages_[number];
    if (!block) {
        block = std::make_unique<Block>(page);
        const uint64_t base = number * page;
        auto at = contents_.upper_bound(base);
        if (at != contents_.begin()) --at;
        for (; at != contents_.end() && at->first < base + page; ++at)
            settle(*block, at->first, at->second, base);
    }
    last_number_ = number;
    last_ = block.get();
    return *last_;
}

// Cells that lie within [from, to) have contents.
void Shadow::settle(Block& block, uint64_t from, uint64_t to, uint64_t base) {
    const uint64_t first = from > base ? (from - base + block.granule() - 1) >> block.shift() : 0;
    const uint64_t end =
        to > base ? std::min<uint64_t>((to - base) >> block.shift(), block.cells()) : 0;
    for (uint64_t i = first; i < end; ++i) block.write[i] = std::max(block.write[i], settled);
}

void Shadow::initialise(uint64_t address, uint64_t bytes) {
    const uint64_t last = address + bytes;
    for (uint64_t number = address / page; number <= (last - 1) / page && !pages_.empty(); ++number)
        if (const auto at = pages_.find(number); at != pages_.end())
            settle(*at->second, address, last, number * page);
    uint64_t end = last;
    auto at = contents_.upper_bound(address);
    if (at != contents_.begin() && std::prev(at)->second >= address) --at;
    while (at != contents_.end() && at->first <= end) {
        address = std::min(address, at->first);
        end = std::max(end, at->second);
        at = contents_.erase(at);
    }
    contents_[address] = end;
}

void Shadow::discard(uint64_t address, uint64_t bytes) {
    for (uint64_t number = address / page; number <= (address + bytes - 1) / page; ++number)
        pages_.erase(number);
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

void Shadow::drop_all_shared() {
    shared_.clear();
    last_shared_ = nullptr;
}

void Shadow::forget() {
    for (auto& [number, block] : pages_) block->settle();
    drop_all_shared();
    lists.clear();
    spare_lists_.clear();
    stamps.clear();
    sets_.assign(1, Readers{});
}

std::vector<Stamp>& Shadow::list(Block& block, uint32_t cell) {
    uint32_t& readers = block.readers[cell];
    if (readers & own_list) return lists[readers & ~own_list];
    const Readers& set = sets_[readers];
    if (spare_lists_.empty()) {
        spare_lists_.push_back(static_cast<uint32_t>(lists.size()));
        lists.emplace_back();
    }
    std::vector<Stamp>& all = lists[spare_lists_.back()];
    all.clear();
    for (uint32_t k = 0; k < set.count; ++k) {
        all.push_back(stamps[set.of[k]]);
        all.back().lanes = block.lanes(k)[cell];
    }
    readers = own_list | spare_lists_.back();
    spare_lists_.pop_back();
    return all;
}

// Numbers anew what cells still name.
void Shadow::sweep() {
    std::vector<Stamp> kept(2);
    std::vector<StampId> place(stamps.size(), nobody);
    place[settled] = settled;
    const auto move = [&](StampId& id) {
        if (id != nobody && place[id] == nobody) {
            place[id] = static_cast<StampId>(kept.size());
            kept.push_back(stamps[id]);
        }
        id = place[id];
    };
    std::vector<Readers> sets(1);
    std::vector<uint32_t> set_place(sets_.size(), 0);
    std::vector<std::vector<Stamp>> kept_lists;
    const auto visit = [&](Block& block) {
        for (StampId& id : block.write) move(id);
        for (StampId& id : block.older) move(id);
        for (uint32_t& readers : block.readers) {
            if (readers & own_list) {
                kept_lists.push_back(std::move(lists[readers & ~own_list]));
                readers = own_list | static_cast<uint32_t>(kept_lists.size() - 1);
                continue;
            }
            if (readers && !set_place[readers]) {
                set_place[readers] = static_cast<uint32_t>(sets.size());
                sets.push_back(sets_[readers]);
                sets.back().by = nobody;
                for (uint32_t k = 0; k < sets.back().count; ++k) move(sets.back().of[k]);
            }
            readers = set_place[readers];
        }
    };
    for (auto& [cta, block] : shared_) visit(*block);
    for (auto& [number, block] : pages_) visit(*block);
    most_stamps_ = std::max(size_t{1} << 20, 4 * std::max(kept.size(), sets.size()));
    stamps.replace(std::move(kept));
    sets_ = std::move(sets);
    lists = std::move(kept_lists);
    spare_lists_.clear();
}

}  // namespace check_sync
