// SPDX-License-Identifier: Apache-2.0
// What a complete execution of machine code makes of the columns of tensor memory that it has
// allocated. PTX names no fences for tcgen05.dealloc: what is over in causality order, relaxed
// arrivals and waits included, is over. See search.hpp.
#include <algorithm>
#include <map>

#include "emu/explore/graph/search.hpp"

namespace sassemu::explore {
namespace {

// Whether an event comes before another by causality, the order of tensor memory, and what barriers
// let through.
class Before {
  public:
    Before(const State& s, const Answer& a) : n_(s.events.size()), a_(a), s_(s) {}
    bool operator()(uint32_t from, uint32_t to) {
        if (has(from, to)) return true;
        if (from != from_) find(from);
        return reached_[to];
    }

  private:
    bool has(size_t from, size_t to) const {
        return a_.base[from * n_ + to] || a_.causality[from * n_ + to];
    }
    void find(uint32_t from) {
        from_ = from;
        reached_.assign(n_, false);
        std::vector<uint32_t> left{from};
        const auto add = [&](uint32_t e) {
            if (!reached_[e]) reached_[e] = true, left.push_back(e);
        };
        while (!left.empty()) {
            const uint32_t at = left.back();
            left.pop_back();
            for (uint32_t e = 0; e < n_; ++e)
                if (has(at, e)) add(e);
            for (const SassemuEdge& pair : s_.pairing)
                if (pair.from == at) add(pair.to);
        }
    }

    const size_t n_;
    const Answer& a_;
    const State& s_;
    uint32_t from_ = ~0u;
    std::vector<bool> reached_;
};

// The changes of each CTA, one after the other.
struct Change {
    uint32_t event, allocated, freed, after;
};
std::map<int32_t, std::vector<Change>> changes_of(const State& s, const Answer& a,
                                                  const Program& p) {
    std::map<int32_t, std::vector<Change>> out;
    for (const State::GranuleChange& c : s.granule_changes) {
        const auto before = static_cast<uint32_t>(s.evaluate(c.before, p).value_or(0)),
                   after = static_cast<uint32_t>(s.evaluate(c.after, p).value_or(0));
        out[c.cta].push_back({c.event, after & ~before, before & ~after, after});
    }
    for (auto& [cta, all] : out)
        std::ranges::stable_sort(all, [&](const Change& x, const Change& y) {
            return a.coherence[x.event * s.events.size() + y.event] != 0;
        });
    return out;
}

}  // namespace

void GraphSearch::look_at_columns(const State& s, const Answer& a) {
    const auto changes = changes_of(s, a, program_);
    for (const auto& [cta, all] : changes)
        if (all.back().after) return undefined(leaked_columns);
    Before before(s, a);
    for (uint32_t e = 0; e < s.events.size(); ++e) {
        const SassemuEvent& x = s.events[e].e;
        if (x.proxy != SASSEMU_PROXY_TENSOR || x.agent < 0 || !x.bytes) continue;
        const auto here = changes.find(test_.threads[static_cast<size_t>(x.thread)].cta);
        const uint32_t needs =
            granules_in({static_cast<uint32_t>(x.first), static_cast<uint32_t>(x.bytes)});
        uint32_t has = 0;
        for (const Change& c : here == changes.end() ? std::vector<Change>{} : here->second) {
            if (before(c.event, e))
                has = (has | c.allocated) & ~c.freed;
            else if (c.freed & needs && !before(e, c.event))
                return undefined(unallocated_columns);
        }
        if (needs & ~has) return undefined(unallocated_columns);
    }
}

}  // namespace sassemu::explore
