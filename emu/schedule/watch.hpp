// SPDX-License-Identifier: Apache-2.0
// Spins that cannot end by themselves: a path that goes round a loop without changing a register or
// a byte waits for somebody else. One iteration is watched, its reads are noted, and the path parks
// until one of those bytes differs. So a hang becomes a deadlock report (architecture, decision 6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/machine/warp.hpp"

namespace sassemu {

struct Watch {
    static constexpr uint32_t capacity = 96;
    struct Read {
        const std::byte* at;
        uint32_t bytes;  // 1..16
        uint64_t value[2];
        bool mbarrier;  // an object that the loop waits for, for reports
    };
    Read reads[capacity];
    uint32_t used = 0;
    bool overflow = false;  // the loop is no spin: too many reads, or an effect
    uint64_t effects = 0;   // of the warp when the iteration began

    void note(const std::byte* at, uint32_t bytes, bool mbarrier = false);
    // The same of a copy of bytes of another process, which it was seen as.
    void note_copy(const std::byte* at, uint32_t bytes, const std::byte* seen);
    bool changed() const;
};

// What must be equal after one round of a loop for the path to be a pure spin.
class SpinSnapshot {
  public:
    // `rows`: register rows of the warp. Grows its buffer once per launch size.
    void take(const Warp& warp, uint32_t rows);
    bool same(const Warp& warp, uint32_t rows) const;

  private:
    std::vector<uint32_t> rows_;
    uint32_t p_[16] = {};
    uint32_t uniform_[uniform_slots] = {};
    uint32_t lanes_ = 0;
    uint64_t effects_ = 0;
};

}  // namespace sassemu
