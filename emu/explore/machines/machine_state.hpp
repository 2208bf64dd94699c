// SPDX-License-Identifier: Apache-2.0
// A state of a test on a machine of the SDK, its memory as that machine reaches it, and what one
// operation does to both. What belongs here: no thread's program, no choice of what comes next.
#pragma once

#include <array>
#include <vector>

#include "emu/explore/machines/explored_machine.hpp"
#include "emu/explore/machines/memory_operation.hpp"
#include "emu/explore/machines/ptx_words.hpp"
#include "emu/explore/machines/runner.hpp"
#include "emu/explore/machines/sass_fetch.hpp"
#include "emu/explore/machines/test_memory.hpp"

namespace sassemu::explore {

struct MachineState {
    struct OfThread : Runner {
        std::vector<MemoryOperation> window;  // loads that are not performed yet
        bool started = true;                  // of a thread of operations
    };
    std::vector<OfThread> threads;
    ExploredMachine::State machine;
    std::vector<uint8_t> memory;
    SassState sass;
    PtxWords::State words;  // of a scoped machine
};

// What has been loaded, or was there before an atomic operation, goes to the thread's registers.
void put_result(std::vector<uint64_t>& registers, const MemoryOperation& o,
                const std::array<uint8_t, 16>& value);

class StateMemory {
  public:
    // `fetch`: of threads in machine code, else null.
    StateMemory(const Test& test, const TestMemory& memory, const SassFetch* fetch);
    StateMemory(const StateMemory&) = delete;

    // Of the state, for the calls that follow at once.
    const sassemu_bytes& of(MachineState& s) const {
        reached_ = {this, &s};
        return bytes_;
    }
    // Performs it, an atomic's change included. What was loaded, or was there.
    std::array<uint8_t, 16> perform(MachineState& s, const MemoryOperation& o, uint32_t way) const;
    // A load or store of the thread without the machine, which would show nobody anything else.
    void access(MachineState& s, uint32_t thread, const MemoryOperation& o) const;

  private:
    struct Reached {
        const StateMemory* self = nullptr;
        MachineState* state = nullptr;
        std::byte* find(uint64_t address, uint32_t count) const;  // null: not all of it is there
    };

    const TestMemory& memory_;
    const SassFetch* const fetch_;
    mutable Reached reached_;
    sassemu_bytes bytes_{};
};

}  // namespace sassemu::explore
