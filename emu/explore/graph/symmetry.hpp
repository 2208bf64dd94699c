// SPDX-License-Identifier: Apache-2.0
// Threads that are equal: the same code at the same kind of place. Who of them does what makes no
// difference, so of the executions that are one another's renamings one is looked for, and stands
// for all. What belongs here: which threads are equal, which renaming is looked for, and what the
// others show. What does not: the search.
#pragma once

#include <deque>
#include <functional>

#include "emu/explore/graph/state.hpp"

namespace sassemu::explore {

class Symmetry {
  public:
    explicit Symmetry(const Test& test);

    // Chooses the one renaming: the first writes of equal threads are in coherence order as the
    // threads are in the test. Those writes are there as soon as the threads have run.
    void break_in(State& s) const;
    // How many executions one stands for.
    uint64_t copies() const { return copies_; }
    // What has to be known of an execution to tell what its copies show: these leaves, and after
    // them the same registers of equal threads.
    std::vector<const Condition*> asked(const std::vector<const Condition*>& leaves);

    // `values` of asked(). `order`: whose part each thread plays.
    using Show = std::function<void(std::vector<uint64_t>&& values, uint64_t count,
                                    const std::vector<uint32_t>& order)>;
    void each_copy(const std::vector<uint64_t>& values, const Show& show) const;
    State renamed(const State& s, const std::vector<uint32_t>& order) const;

  private:
    bool alone(const Thread& t) const;
    bool equal(const Thread& a, const Thread& b) const;
    bool can_be_ordered(const Thread& a, const Thread& b) const;

    const Test& test_;
    std::vector<std::vector<uint32_t>> classes_;
    uint64_t copies_ = 1;
    std::deque<Condition> more_;
    // Per leaf: where the value of each thread's register is in asked(); empty: the same for all.
    std::vector<std::vector<size_t>> of_thread_;
    std::vector<uint32_t> whose_;  // per leaf: the thread
    bool shown_ = false;           // some leaf is a register of an equal thread
};

}  // namespace sassemu::explore
