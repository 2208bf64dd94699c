// SPDX-License-Identifier: Apache-2.0
// How much of each constant bank the launches of a module have.
#pragma once

#include "emu/machine/op.hpp"
#include "emu/module/link.hpp"
#include "emu/module/module.hpp"

namespace sassemu {

// Banks 0, 2 and 4. Kernels may share code, which is lowered once: every launch has as much of a
// bank as any kernel of the module needs. Pads the linked banks 2 and 4 with zeros to that size.
BankBytes level_banks(const Module& module, LinkedImage& linked);

}  // namespace sassemu
