// SPDX-License-Identifier: Apache-2.0
// What the operations of a test's text, and a host's, ask of a machine. Nothing here knows a state
// of memory.
#pragma once

#include <vector>

#include "emu/explore/machines/memory_operation.hpp"
#include "emu/explore/machines/runner.hpp"
#include "emu/explore/machines/test_memory.hpp"

namespace sassemu::explore {

class MachineOperations {
  public:
    MachineOperations(const Test& test, const TestMemory& memory, bool symmetric)
        : test_(test), memory_(memory), symmetric_(symmetric) {}

    sassemu_place place(uint32_t thread) const;
    static MemoryOperation system_fence();
    // What a host does, in a machine whose words are not PTX's: each in order, at once, of system
    // scope.
    std::vector<MemoryOperation> of_host(const Runner& r, const Operation& what) const;
    // An operation of sections 6 and 7 of docs/litmus.md.
    MemoryOperation of_text(const Runner& r, uint32_t thread, const op::OnMachine& form) const;

  private:
    MemoryOperation of_host(sassemu_operation_kind kind, const op::Access& a) const;

    const Test& test_;
    const TestMemory& memory_;
    const bool symmetric_;
};

}  // namespace sassemu::explore
