// SPDX-License-Identifier: Apache-2.0
// Reads of shared memory whose values may still be others: they have been stored on, and nobody has
// looked there. So such a read may be performed behind an asynchronous write that comes after it in
// its thread, as long as no proxy fence has shown it to that write.
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "knowledge.hpp"

namespace weak {

class LateReads {
  public:
    static constexpr unsigned granule_bits = 4, region_bits = 10;
    struct Read {
        Thread thread = 0;
        Stamp stamp = 0;
        uint64_t address = 0;
        unsigned bytes = 0;
        // Where it has been stored, all of it or its first bytes.
        uint64_t copy = 0;
        unsigned copied = 0;
        // Of a write that came before that: what it finds if it is later than the write, and which
        // bytes of it.
        std::array<uint8_t, 1 << granule_bits> newer{};
        uint32_t overtaken = 0;
    };

    bool empty() const { return reads_.empty(); }
    void add(uint64_t name, const Read& read);
    const Read* find(uint64_t name) const;
    void copied(uint64_t name, uint64_t to, unsigned bytes);
    // Reads of these bytes of shared memory, by name.
    std::vector<uint64_t> of(uint64_t address, unsigned bytes) const;
    // These bytes are read, or about to be written: a value of which they are the copy, or that was
    // read there, stays as it is.
    void settle(uint64_t address, unsigned bytes);
    void erase(uint64_t name);
    void clear() { *this = LateReads(); }
    // Whether copies lie in this piece of memory, of 1 << region_bits bytes.
    bool copied_to(uint64_t region) const { return copies_in_.contains(region); }
    const std::map<uint64_t, Read>& all() const { return reads_; }

  private:
    void forget(uint64_t address, uint64_t name);

    std::map<uint64_t, Read> reads_;  // as they were performed
    // Names of those that are of bytes of a granule, or are copied there.
    std::unordered_map<uint64_t, std::vector<uint64_t>> at_;
    std::unordered_map<uint64_t, uint64_t> copies_in_;  // regions
};

}  // namespace weak
