// SPDX-License-Identifier: Apache-2.0
// The clusters of a grid that nobody has begun, in order. Workers claim them under the scheduler's
// lock; a cluster that runs may take one over at any time (clusterlaunchcontrol.try_cancel), which
// then never begins.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "emu/schedule/work.hpp"

namespace sassemu {

class ClusterQueue {
  public:
    using Range = Turn::Range;
    // `at_once`: how many the device begins together.
    void begin(uint64_t total, uint64_t at_once) {
        first_.end = std::min(at_once, total);
        rest_.next = first_.end;
        rest_.end = total;
    }
    uint64_t left() const { return first_.left() + rest_.left(); }
    // At most `count` in a row; there is one.
    Range claim(uint64_t count) {
        const Range range = first_.take(count);
        return range.begin < range.end ? range : rest_.take(count);
    }
    // One to take over; `any`: also of those that the device begins at once.
    std::optional<uint64_t> take(bool any) {
        Range range = rest_.take(1);
        if (any && range.begin == range.end) range = first_.take(1);
        if (range.begin == range.end) return {};
        return range.begin;
    }

  private:
    struct Part {
        std::atomic<uint64_t> next{0};
        uint64_t end = 0;
        uint64_t left() const { return end - next.load(std::memory_order_relaxed); }
        Range take(uint64_t count) {
            uint64_t begin = next.load(std::memory_order_relaxed), to;
            do {
                to = std::min(end, begin + count);
            } while (!next.compare_exchange_weak(begin, to, std::memory_order_relaxed));
            return {begin, to};
        }
    };
    Part first_, rest_;
};

}  // namespace sassemu
