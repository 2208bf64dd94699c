// SPDX-License-Identifier: Apache-2.0
// What the files of the step machine for machine code share. Nothing else includes this.
#pragma once

#include "emu/explore/graph/stepper.hpp"

namespace sassemu::explore {

// One instruction of one thread, being executed.
struct Machine::Sass {
    uint32_t thread, pc;
    const SassProgram& p;
    const SassCode& code;
    const SassInstruction& i;
    std::vector<uint64_t> in;         // of its inputs, in the order of `reads`; 0 while open
    Events guard_reads, input_reads;  // what they depend on; of stored values not
    bool known = true;                // the inputs are
    bool open_guard = false;
    uint32_t unknown = 0;  // the first that is not
    std::vector<uint32_t> fresh;

    const SassEffects& run(SassLane& lane) const;
};

uint32_t scope_of(MemScope s);

}  // namespace sassemu::explore
