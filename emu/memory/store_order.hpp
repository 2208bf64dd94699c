// SPDX-License-Identifier: Apache-2.0
// The order in which the lanes of one store come to memory (lanes/common.hpp, kStoreBytes).
#pragma once

#include <algorithm>
#include <cstdint>

#include "emu/lanes/common.hpp"

namespace sassemu {

// f(lane) for each bit of the mask, in the order in which they store `bytes` bytes each.
template <class F>
void for_storing_lanes(uint32_t lanes, uint32_t bytes, F&& f) {
    const uint32_t last = std::min(32u, lanes::kStoreBytes / bytes) - 1;
    for (uint32_t turn = 0; turn < 32; ++turn)
        if (lanes >> (turn ^ last) & 1) f(turn ^ last);
}

// Those lanes whose bytes stay, since no other lane stores to their address behind them.
inline uint32_t lanes_that_stay(uint32_t lanes, uint32_t bytes, const uint64_t* address) {
    uint32_t stay = 0;
    for_storing_lanes(lanes, bytes, [&](uint32_t lane) {
        for (uint32_t other = 0; other < 32; ++other)
            if (address[other] == address[lane]) stay &= ~(1u << other);
        stay |= 1u << lane;
    });
    return stay;
}

}  // namespace sassemu
