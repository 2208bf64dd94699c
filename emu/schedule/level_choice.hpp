// SPDX-License-Identifier: Apache-2.0
// Which host level runs the handlers.
#pragma once

#include "emu/gpu.hpp"
#include "emu/isa/level.hpp"

namespace sassemu {

// The best level this CPU has, or the one asked for if it has that.
Result<const LevelTable*> choose_level(HostLevel wanted);

}  // namespace sassemu
