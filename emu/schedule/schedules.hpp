// SPDX-License-Identifier: Apache-2.0
// Seeds that name a schedule besides: how a run goes that wants to see what the usual order hides.
// A seed is a number; its highest byte says who runs next and when asynchronous copies take place,
// so that `--seed` alone repeats the run.
#pragma once

#include <cstdint>

#include "emu/gpu.hpp"

namespace sassemu {

enum class Schedule : uint8_t {
    usual,       // CTA by CTA, warp by warp; only what the order leaves open is chosen
    uniform,     // any warp, any CTA, at every turn
    priorities,  // always the first in a random order, which changes now and then (PCT: Burckhardt
                 // and others 2010)
    starving,    // one warp and one CTA run only when nobody else can
    bursts,      // the same again and again, then another
    count
};

constexpr uint64_t scheduled_seed(Schedule schedule, AgentOrder agents, uint64_t number) {
    return uint64_t{static_cast<uint8_t>(schedule)} << 56 |
           uint64_t{static_cast<uint8_t>(agents)} << 60 | (number & 0xffffffffffffffu);
}
constexpr Schedule schedule_of(uint64_t seed) { return static_cast<Schedule>(seed >> 56 & 15); }
constexpr AgentOrder agent_order_of(uint64_t seed) {
    return seed >> 60 == 2   ? AgentOrder::random
           : seed >> 60 == 1 ? AgentOrder::lazy
                             : AgentOrder::eager;
}
// Of a number of runs the one with this number: the first is as asked, the others go through all
// schedules and all orders of the agents.
constexpr uint64_t nth_seed(uint64_t first, uint64_t number) {
    if (number == 0 || first >> 56) return first + number;
    static_assert(static_cast<uint64_t>(Schedule::count) % 3, "else not all pairs come");
    return scheduled_seed(static_cast<Schedule>(number % static_cast<uint64_t>(Schedule::count)),
                          static_cast<AgentOrder>(number % 3), first + number);
}

}  // namespace sassemu
