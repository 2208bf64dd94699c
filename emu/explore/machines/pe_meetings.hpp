// SPDX-License-Identifier: Apache-2.0
// Whom threads of PEs wait for on a symmetric machine (docs/litmus.md, section 6).
#pragma once

#include "emu/explore/machines/machine_operations.hpp"
#include "emu/explore/machines/machine_state.hpp"

namespace sassemu::explore {

class PeMeetings {
  public:
    PeMeetings(const Test& test, const TestMemory& memory, const StateMemory& bytes,
               const MachineOperations& does)
        : test_(test), memory_(memory), bytes_(bytes), does_(does) {}

    // Nothing that the thread has sent is on its way.
    bool quiet(MachineState& n, uint32_t t) const;
    // What the thread has stored in its own PE's memory is there: a barrier of its CTA shows it to
    // the other threads. What it has sent to other PEs is no matter of that.
    bool stored_at_home(MachineState& n, uint32_t t) const;
    // nvshmem_barrier_all: a quiet and a meeting of all threads that call it, `last` among them.
    bool meet(MachineState& n, uint32_t last) const;

  private:
    const Test& test_;
    const TestMemory& memory_;
    const StateMemory& bytes_;
    const MachineOperations& does_;
};

}  // namespace sassemu::explore
