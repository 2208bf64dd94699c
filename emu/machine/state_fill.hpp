// SPDX-License-Identifier: Apache-2.0
// What a kernel finds where nobody has written: registers, predicates, shared and local memory,
// tensor memory, blocks of the device heap. Zeros unless the user asks for something that shows
// whether a kernel relies on them. Barriers begin as the hardware gives them (nobody has arrived),
// and so do buffers and variables, whose zeros are data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "emu/base/result.hpp"

namespace sassemu {

class StateFill {
  public:
    StateFill() = default;
    // "0x" and 2, 4 or 8 hexadecimal digits, repeated in every 32-bit word; "random:SEED"; "zeros".
    static Result<StateFill> parse(std::string_view text);

    bool zeros() const { return !random_ && pattern_ == 0; }
    // Depends on the place alone: the same in every run, CTA and warp, whatever ran there before.
    uint32_t word(uint64_t index) const {
        if (!random_) return pattern_;
        uint64_t v = seed_ + (index + 1) * 0x9e3779b97f4a7c15u;
        v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
        v = (v ^ v >> 27) * 0x94d049bb133111ebu;
        return static_cast<uint32_t>(v >> 32);
    }
    // `at` is word `first` of what it is part of.
    void apply(void* at, uint64_t bytes, uint64_t first = 0) const {
        if (zeros()) {
            std::memset(at, 0, bytes);
            return;
        }
        auto* to = static_cast<unsigned char*>(at);
        for (uint64_t i = 0; i < bytes; i += 4) {
            const uint32_t v = word(first + i / 4);
            std::memcpy(to + i, &v, std::min<uint64_t>(4, bytes - i));
        }
    }

  private:
    bool random_ = false;
    uint32_t pattern_ = 0;
    uint64_t seed_ = 0;
};

}  // namespace sassemu
