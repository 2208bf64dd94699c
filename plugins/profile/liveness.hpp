// SPDX-License-Identifier: Apache-2.0
// Registers that hold a value somebody needs, at each instruction of a function. Nothing else
// belongs here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace profiling {

using Registers = std::array<uint64_t, 4>;  // bit r of word r / 64

struct Step {
    Registers read{}, written{};
    bool always = true;             // no guard: what it writes was not needed before
    bool falls_through = true;      // the next instruction may follow
    bool anywhere = false;          // an indirect branch: any target of the function
    std::vector<uint32_t> targets;  // indices
};

// Of each instruction: registers that are read by it or later, or that it writes.
std::vector<uint32_t> live_registers(const std::vector<Step>& function);

}  // namespace profiling
