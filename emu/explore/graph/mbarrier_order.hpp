// SPDX-License-Identifier: Apache-2.0
// The total order of the operations on each mbarrier of a complete execution: which orders there
// are, and which arrivals each wait has seen in them. docs/litmus.md, section 2, "mbarrier".
#pragma once

#include <set>

#include "emu/explore/graph/state.hpp"
#include "emu/explore/litmus/budget.hpp"

namespace sassemu::explore {

using Pairing = std::vector<std::pair<uint32_t, uint32_t>>;  // arrival -> wait, sorted

struct MbarrierOrders {
    std::set<Pairing> pairings;  // of the orders in which every wait ends as the execution has it
    bool misused = false;        // in some order a count goes below zero
    bool cut = false;            // there were too many
};

// Orders of the operations on one location that respect program order, what each agent comes after,
// and `base` (n * n, or empty). They say nothing once the budget is over.
MbarrierOrders mbarrier_orders(const State& s, const Program& p, uint32_t location,
                               const std::vector<uint8_t>& base, const SearchBudget& budget);

// Whether every operation on the location comes after an initialisation in base causality.
bool initialised_first(const State& s, const Program& p, uint32_t location,
                       const std::vector<uint8_t>& base);

}  // namespace sassemu::explore
