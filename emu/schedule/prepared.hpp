// SPDX-License-Identifier: Apache-2.0
// A launch that is ready to run: constant banks filled, code lowered. For who executes it in
// another way than the engine does (emu/explore). What does not belong here: running it.
#pragma once

#include <memory>
#include <vector>

#include "emu/async/warpgroup_core.hpp"
#include "emu/gpu.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu {

struct PreparedLaunch {
    HookedLaunch launch;
    std::vector<std::byte> bank0;     // what `launch` refers to
    std::shared_ptr<void> workspace;  // of a cooperative grid: nobody else has it meanwhile
    const Op* entry = nullptr;
    const Kernel* kernel = nullptr;   // of the module, which lives as long as the GPU
    lanes::MatrixSums matrix_sums{};  // of tensor cores that work beside the warps
    lanes::WarpgroupSums warpgroup_sums = nullptr;
};

// `gpu` outlives the result. Errors as of Gpu::launch().
Result<std::unique_ptr<PreparedLaunch>> prepare_launch(Gpu& gpu, const LaunchRequest& request);

}  // namespace sassemu
