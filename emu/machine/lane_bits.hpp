// SPDX-License-Identifier: Apache-2.0
// Going through the lanes of a mask.
#pragma once

#include <bit>
#include <cstdint>

namespace sassemu {

// f(lane) for each bit of the mask, the lowest first.
template <class F>
void for_lanes(uint32_t lanes, F&& f) {
    for (; lanes; lanes &= lanes - 1) f(static_cast<uint32_t>(std::countr_zero(lanes)));
}

}  // namespace sassemu
