// SPDX-License-Identifier: Apache-2.0
// Which bytes of a stretch of memory are marked, and where the marks of what was stored come from.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "follow/registers.hpp"

namespace follow {

class Shadow {
  public:
    Shadow() = default;
    Shadow(uint64_t bytes, bool marked) : bytes_(bytes), left_(marked ? bytes : 0) {}
    uint64_t bytes() const { return bytes_; }
    bool clean() const { return left_ == 0; }
    // Bit k: byte `at + k` is marked. At most 32 bytes; those outside are not.
    uint32_t marked(uint64_t at, uint32_t bytes) const {
        if (!left_ || at >= bytes_) return 0;
        const uint32_t mask = bytes >= 32 ? ~0u : (1u << bytes) - 1;
        if (map_.empty()) return mask;
        uint64_t word = map_[at / 64] >> at % 64;
        if (at % 64 && at / 64 + 1 < map_.size()) word |= map_[at / 64 + 1] << (64 - at % 64);
        return static_cast<uint32_t>(word) & mask;
    }
    void clear(uint64_t at, uint64_t bytes) {
        if (left_) set(at, bytes, false, unnamed);
    }
    void mark(uint64_t at, uint64_t bytes, Origin origin) { set(at, bytes, true, origin); }
    Origin origin(uint64_t at) const {
        const auto page = origins_.find(at / page_bytes);
        return page == origins_.end() ? unnamed : (*page->second)[at % page_bytes / 4];
    }
    // The first stretch of marked bytes of one origin in [at, end): its length; 0: there is
    // none.
    uint64_t next(uint64_t& at, uint64_t end) const;

  private:
    static constexpr uint64_t page_bytes = 4096;
    using Page = std::array<Origin, page_bytes / 4>;  // a word's
    void set(uint64_t at, uint64_t bytes, bool marked, Origin origin);
    void name(uint64_t at, uint64_t end, Origin origin);

    uint64_t bytes_ = 0, left_ = 0;  // left: marked bytes
    std::vector<uint64_t> map_;      // a bit per byte; empty: all of them alike
    std::unordered_map<uint64_t, std::unique_ptr<Page>> origins_;  // of stored values
};

}  // namespace follow
