// SPDX-License-Identifier: Apache-2.0
// What threads of a state do next: machine code up to the next operation on memory that others see,
// and which bytes that is about. What belongs here: no step is taken.
#pragma once

#include "emu/explore/graph/explorer.hpp"
#include "emu/explore/machines/machine_operations.hpp"
#include "emu/explore/machines/machine_state.hpp"

namespace sassemu::explore {

// A load that is performed at some later time.
inline bool is_late(const ExploredMachine& machine, const MemoryOperation& o) {
    return o.is(SASSEMU_OPERATION_LOAD) && !o.blocks && machine.late_loads();
}

struct Ahead {
    MachineState::OfThread thread;
    SassState sass;
    std::vector<MemoryOperation> does;  // is past these, and they are not performed yet
    bool moved = false;
    bool alone = false;  // nobody sees what it did
    bool quiet = false;  // nobody sees what it does, if that can be performed now
    Footprint foot;      // of its last step, beside what it does
};

class ThreadsAhead {
  public:
    ThreadsAhead(const Test& test, const ExploredMachine& machine, SassFetch& fetch,
                 const MachineOperations& does, const SearchBudget& budget)
        : test_(test), machine_(machine), fetch_(fetch), does_(does), budget_(budget) {}

    Ahead take(const MachineState& s, uint32_t t) const;  // of machine code
    // What the thread's next step is about, and its loads that are under way.
    Footprint foot_of(const MachineState& s, uint32_t t, const Ahead& f) const;
    Footprint foot_of_client(const MachineState& s, uint32_t t) const;  // of operations

  private:
    const Test& test_;
    const ExploredMachine& machine_;
    SassFetch& fetch_;
    const MachineOperations& does_;
    const SearchBudget& budget_;
};

}  // namespace sassemu::explore
