// SPDX-License-Identifier: Apache-2.0
// The step machine: runs the threads of an execution under construction up to where they need
// something that is not there yet. What belongs here: who goes on. What does not: what an
// instruction does (turn.hpp), which write a read takes (explorer.hpp), what is consistent.
#pragma once

#include "emu/explore/graph/state.hpp"
#include "emu/explore/litmus/budget.hpp"

namespace sassemu::explore {

class Stepper {
  public:
    Stepper(const Program& program, const SearchBudget& budget) : p_(program), budget_(budget) {}

    // Runs until no thread can go on. A thread may come to an instruction with several outcomes
    // that no read decides (a compare-and-swap whose operands are open, a try_wait): then its
    // number is returned, with the count of outcomes; continue with choose() in as many copies of
    // the state.
    struct Fork {
        int32_t thread = -1;
        uint32_t outcomes = 0;
    };
    Fork run(State& s) const;
    void choose(State& s, uint32_t thread, uint32_t outcome) const;
    // Whether the value waits for a read that was put off.
    bool deferred(const State& s, uint32_t value) const;

  private:
    bool resume_agents(State& s) const;
    bool wake(State& s) const;

    const Program& p_;
    const SearchBudget& budget_;
};

}  // namespace sassemu::explore
