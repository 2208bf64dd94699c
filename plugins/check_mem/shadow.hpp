// SPDX-License-Identifier: Apache-2.0
// Which bytes of a stretch of memory have no value, and where what they hold instead was born.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "registers.hpp"

namespace check_mem {

class Shadow {
  public:
    Shadow() = default;
    Shadow(uint64_t bytes, bool defined) : bytes_(bytes), left_(defined ? 0 : bytes) {}
    uint64_t bytes() const { return bytes_; }
    bool all_defined() const { return left_ == 0; }
    // Bit k: byte `at + k` has no value. At most 32 bytes; those outside count as defined.
    uint32_t undefined(uint64_t at, uint32_t bytes) const {
        if (!left_ || at >= bytes_) return 0;
        const uint32_t mask = bytes >= 32 ? ~0u : (1u << bytes) - 1;
        if (map_.empty()) return mask;
        uint64_t word = map_[at / 64] >> at % 64;
        if (at % 64 && at / 64 + 1 < map_.size()) word |= map_[at / 64 + 1] << (64 - at % 64);
        return static_cast<uint32_t>(word) & mask;
    }
    void define(uint64_t at, uint64_t bytes) {
        if (left_) set(at, bytes, false, never_written);
    }
    void undefine(uint64_t at, uint64_t bytes, Origin origin) { set(at, bytes, true, origin); }
    Origin origin(uint64_t at) const {
        const auto found = origins_.find(at / 4);
        return found == origins_.end() ? never_written : found->second;
    }
    // The first stretch of undefined bytes of one origin in [at, end): its length; 0: there is
    // none.
    uint64_t next(uint64_t& at, uint64_t end) const;

  private:
    void set(uint64_t at, uint64_t bytes, bool undefined, Origin origin);

    uint64_t bytes_ = 0, left_ = 0;                 // left: undefined bytes
    std::vector<uint64_t> map_;                     // a bit per byte; empty: all of them alike
    std::unordered_map<uint64_t, Origin> origins_;  // of stored values, by word of 4 bytes
};

}  // namespace check_mem
