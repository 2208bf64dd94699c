// SPDX-License-Identifier: Apache-2.0
// What a complete execution shows: memory in the end, by the coherence order that the model has
// found, and whether accesses of different sizes race.
#pragma once

#include <functional>

#include "emu/explore/graph/judge.hpp"

namespace sassemu::explore {

// No write is coherence-ordered after w in the bytes of [first, first+bytes).
bool is_last(const State& s, const Answer& a, uint32_t w, uint64_t first, uint64_t bytes);

// PTX ISA 8.7.2: with a data race between partly overlapping accesses the axioms say nothing.
bool mixed_size_race(const State& s, const Answer& a);

// The values of the registers and locations, in every way in which writes that are last in
// coherence may leave their pieces of memory; until show() answers false. Errors: the model's order
// is none.
Result<void> final_values(const Program& p, const State& s, const Answer& a,
                          const std::vector<const Condition*>& names,
                          const std::function<bool(std::vector<uint64_t>)>& show);

}  // namespace sassemu::explore
