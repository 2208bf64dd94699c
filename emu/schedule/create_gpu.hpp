// SPDX-License-Identifier: Apache-2.0
// The GPU of emu/gpu.hpp with what its own options do not have.
#pragma once

#include <memory>

#include "emu/gpu.hpp"
#include "emu/machine/state_fill.hpp"

namespace sassemu {

class Hooks;
class Stepper;

// A GPU with these plugins (null: none), which outlive its launches: finish() and findings() are
// the caller's. `fill`: what kernels find where nobody has written. `stepper`: a debugger (null:
// none), for options that say `deterministic`.
Result<std::unique_ptr<Gpu>> create_gpu(GpuOptions options, std::shared_ptr<Hooks> hooks,
                                        const StateFill& fill = {}, Stepper* stepper = nullptr);

}  // namespace sassemu
