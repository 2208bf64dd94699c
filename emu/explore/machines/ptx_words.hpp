// SPDX-License-Identifier: Apache-2.0
// Tests in PTX's words (docs/litmus.md, section 2) on a scoped machine (machine.h): what one line
// of a thread asks of the machine, and the barriers and mbarriers that it waits at. What belongs
// here: reading lines, and who waits for whom. What does not: any state of memory.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "emu/explore/machines/memory_operation.hpp"
#include "emu/explore/machines/runner.hpp"
#include "emu/explore/machines/test_memory.hpp"
#include "emu/machine/mbarrier.hpp"

namespace sassemu::explore {

uint8_t level_of(uint32_t scope);  // SASSEMU_SCOPE_* as SASSEMU_LEVEL_*
MemoryOperation fence_on_machine(const op::Fence& o);
MemoryOperation fence_on_machine(const op::ProxyFence& o);
MemoryOperation meeting(sassemu_operation_kind kind, uint64_t object, uint64_t phase,
                        uint32_t order, uint32_t scope);

class PtxWords {
  public:
    struct State {
        struct OfThread {
            std::map<uint64_t, uint64_t> met;  // barrier -> how often
            uint64_t cluster_arrivals = 0, cluster_waits = 0;
            bool arrived = false;  // at the barrier that it stands at
            bool ended = false;
        };
        std::vector<OfThread> threads;
        std::map<std::array<uint64_t, 3>, uint64_t> lanes;  // (CTA, barrier, instance) -> arrived
        struct Object {
            Mbarrier state;
            uint64_t phase = 0;  // from 0; the object itself knows its parity
        };
        std::map<uint32_t, Object> objects;  // by location
    };

    PtxWords(const Test& test, const TestMemory& memory) : test_(test), memory_(memory) {}

    static bool understands(const Test& test, const Operation& o);
    State start() const;
    void key(const State& s, std::string& out) const;

    enum class What : uint8_t { blocked, stays, past };
    // What the thread does now: `out` goes to the machine. `stays`: and is still at the line.
    // `alone`: nobody else can tell when.
    What step(State& s, uint32_t thread, Runner& r, const Operation& o,
              std::vector<MemoryOperation>& out) const;

  private:
    What barrier(State& s, uint32_t thread, Runner& r, const op::Barrier& o,
                 std::vector<MemoryOperation>& out) const;
    bool cluster_over(const State& s, uint32_t thread) const;
    MemoryOperation access(sassemu_operation_kind kind, uint32_t thread, const op::Access& a) const;
    uint64_t object(const Place& at) const;

    const Test& test_;
    const TestMemory& memory_;
};

}  // namespace sassemu::explore
