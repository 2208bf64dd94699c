// SPDX-License-Identifier: Apache-2.0
// The steps of asynchronous operations on a machine: one reads all that it copies, one for each
// receiver writes all of it and reports. A scoped machine is shown them as those of a thread of
// their own; to others they are the memory behind all caches, but for cp.async, which reads as its
// thread does. What does not belong here: what is copied (fetch_copies.cpp).
#pragma once

#include <optional>
#include <vector>

#include "emu/explore/machines/machine_operations.hpp"
#include "emu/explore/machines/machine_state.hpp"

namespace sassemu::explore {

class CopySteps {
  public:
    CopySteps(const ExploredMachine& machine, SassFetch& fetch, const StateMemory& memory,
              const MachineOperations& does)
        : machine_(machine), fetch_(fetch), memory_(memory), does_(does) {}

    // Which agents need to move now: those whose bytes, or whose end, somebody's next step is
    // about, and those in order with them. What the others do may as well come later. `alone`:
    // nobody else can move.
    std::vector<size_t> wanted(const MachineState& s, const std::vector<Footprint>& next,
                               bool alone) const;
    // Whether the order of the agent's steps and of one that touches these tells.
    static bool meets(const CopyAgent& a, const std::vector<Footprint::Range>& ranges);
    // What the agent may touch yet, where that has been said.
    static std::optional<std::vector<Footprint::Range>> touches(const CopyAgent& a);
    // The next of the agent, in every way in which the machine can do it. Nothing where others have
    // to come first.
    void next(const MachineState& s, size_t agent, std::vector<MachineState>& out) const;

  private:
    struct Read {
        uint64_t address;  // 0: zeros
        uint32_t bytes;
    };
    std::vector<Read> reads(const CopyAgent& a) const;
    void read(MachineState s, size_t agent, const std::vector<Read>& all, size_t first,
              std::vector<uint8_t> found, std::vector<MachineState>& out) const;
    bool write(MachineState& s, size_t agent) const;
    MemoryOperation operation(const CopyAgent& a, sassemu_operation_kind kind) const;

    const ExploredMachine& machine_;
    SassFetch& fetch_;
    const StateMemory& memory_;
    const MachineOperations& does_;
};

}  // namespace sassemu::explore
