// SPDX-License-Identifier: Apache-2.0
// A machine some of whose memory other processes reach, or that has host processes of its own. What
// belongs here: what the link asks of it. Nothing else does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emu/base/result.hpp"
#include "emu/machine.hpp"
#include "emu/machine/port.hpp"

namespace sassemu {

// Does in the scheduler's turns what processes outside ask for. Both are asked with the machine's
// lock held, as ready() is.
class OutsideAgent : public MachineAgent {
  public:
    // One of them may still act: then nothing is a deadlock.
    virtual bool may_act() = 0;
    // For the report of a deadlock: lines, each with its end; empty: there is nothing to say.
    virtual std::string waits() = 0;
};

class OutsideMemory {
  public:
    virtual ~OutsideMemory() = default;
    // The bytes of an allocation are from now on those of the file (a memfd), whose size is set if
    // it is empty; what was in them is gone. Where they are in this process. Before anything runs.
    virtual Result<std::byte*> back(uint64_t address, int descriptor) = 0;
    // Whether somebody outside may change memory: as long as one may, no deadlock is declared.
    virtual void outside_may_act(bool may) = 0;
    struct Progress {
        bool parked = false;  // nothing can go on, unless somebody outside changes memory
        uint64_t epoch = 0;   // changes whenever something has run
        uint64_t looks = 0;   // how often, in this epoch, all that is waited for was looked at
    };
    virtual Progress progress() = 0;

    // ---- host processes. As Machine::add_agent() and remove_agent().
    virtual void add_outside(OutsideAgent& agent) = 0;
    virtual void remove_outside(OutsideAgent& agent) = 0;
    // It has become ready: who sleeps looks again.
    virtual void wake() = 0;
    // From its step(). An atomic of the host's as kernels have them: 2, 4, 8 or 16 bytes, aligned.
    struct Atomic {
        AtomicOp op = AtomicOp::add;
        AtomicType type = AtomicType::u32;
        uint32_t bytes = 4;
        uint64_t operand[2] = {}, swap[2] = {};  // swap: what cas puts there
    };
    virtual Result<void> update(uint64_t address, const Atomic& what, uint64_t old[2]) = 0;
    // From its ready() or step(). One look of the host's; where the condition holds it has waited.
    virtual Result<bool> look(const ValueCondition& condition) = 0;
    virtual std::string text(const ValueCondition& condition) = 0;
};

}  // namespace sassemu
