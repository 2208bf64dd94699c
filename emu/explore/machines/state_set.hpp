// SPDX-License-Identifier: Apache-2.0
// The states that a search has seen, by their keys, and those that a round of it has added. Several
// threads add at once; what the round adds, and in which order, does not depend on them. What
// belongs here: no state is looked into.
#pragma once

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace sassemu::explore {

template <class State>
class StateSet {
  public:
    struct Left {
        State state;
        unsigned maker;  // who gives its memory back soonest
    };
    // `rank`: where in the round the state comes from, each place once. Whether no round before
    // this one has seen it.
    bool add(std::string key, uint64_t rank, State state, unsigned maker) {
        Seen seen{std::hash<std::string>()(key), std::move(key)};
        Shard& shard = shards_[seen.hash >> 58];
        const std::lock_guard lock(shard.mutex);
        const auto [at, added] = shard.seen.insert(std::move(seen));
        if (added) {
            shard.fresh.push_back({&*at, rank});
            shard.states.push_back({std::move(state), maker});
            return true;
        }
        // Of equal states one stands for all: for whoever was quicker, at the earliest place.
        const auto here = std::ranges::find(shard.fresh, &*at, &Fresh::seen);
        if (here == shard.fresh.end()) return false;
        here->rank = std::min(here->rank, rank);
        return true;
    }

    // Puts what the round has added at the end of `to`, by rank. Nobody adds meanwhile.
    void end_round(std::vector<Left>& to) {
        std::vector<std::pair<uint64_t, Left*>> all;
        for (Shard& shard : shards_)
            for (size_t i = 0; i < shard.fresh.size(); ++i)
                all.emplace_back(shard.fresh[i].rank, &shard.states[i]);
        std::ranges::sort(all);
        for (const auto& [rank, state] : all) to.push_back(std::move(*state));
        size_ += all.size();
        for (Shard& shard : shards_) {
            shard.fresh.clear();
            shard.states.clear();
        }
    }
    size_t size() const { return size_; }  // at the last round's end

    void clear() {
        for (Shard& shard : shards_) {
            shard.seen.clear();
            shard.fresh.clear();
            shard.states.clear();
        }
        size_ = 0;
    }

  private:
    struct Seen {
        size_t hash;
        std::string key;
        bool operator==(const Seen& other) const { return hash == other.hash && key == other.key; }
    };
    struct Hash {
        size_t operator()(const Seen& s) const noexcept { return s.hash; }
    };
    struct Fresh {
        const Seen* seen;
        uint64_t rank;
    };
    struct alignas(64) Shard {
        std::mutex mutex;
        std::unordered_set<Seen, Hash> seen;
        std::vector<Fresh> fresh;
        std::vector<Left> states;  // of these
    };
    std::array<Shard, 64> shards_;
    size_t size_ = 0;
};

}  // namespace sassemu::explore
