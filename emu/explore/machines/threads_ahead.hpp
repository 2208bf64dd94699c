// SPDX-License-Identifier: Apache-2.0
// What threads of a state do next: machine code up to the next operation on memory that others see,
// and which bytes that is about. What belongs here: no step is taken.
#pragma once

#include "emu/explore/graph/explorer.hpp"
#include "emu/explore/machines/machine_operations.hpp"
#include "emu/explore/machines/machine_state.hpp"
#include "emu/explore/machines/prospects.hpp"

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
                 const MachineOperations& does, const SearchBudget& budget, Prospects& prospects)
        : test_(test),
          machine_(machine),
          fetch_(fetch),
          does_(does),
          budget_(budget),
          prospects_(prospects) {}

    Ahead take(const MachineState& s, uint32_t t) const;  // of machine code
    // What the thread's next step is about, and its loads that are under way.
    Footprint foot_of(const MachineState& s, uint32_t t, const Ahead& f) const;
    Footprint foot_of_client(const MachineState& s, uint32_t t) const;  // of operations
    // Clients do no more than to start launches and to wait for them; else they may reach any
    // memory.
    bool clients_rest(const MachineState& s) const;
    // Nothing that is under way, and nothing that others do before thread `by` moves, touches these
    // so that the order tells. `but`: an agent whose step it is.
    bool comes_first(const MachineState& s, uint32_t by,
                     const std::vector<Footprint::Range>& ranges, size_t but = ~size_t{0}) const;
    // What the step stores is fenced by its thread before others look; the step is taken as such.
    bool fenced_first(const MachineState& s, uint32_t t, const Ahead& f) const;
    // What the step touches that others may see, if it is known to depend on nothing else.
    std::optional<std::vector<Footprint::Range>> touches(const Ahead& f, uint32_t t) const;

  private:
    const Test& test_;
    const ExploredMachine& machine_;
    SassFetch& fetch_;
    const MachineOperations& does_;
    const SearchBudget& budget_;
    Prospects& prospects_;
};

}  // namespace sassemu::explore
