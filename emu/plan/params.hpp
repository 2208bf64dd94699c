// SPDX-License-Identifier: Apache-2.0
// Builds a kernel's parameter block from a launch's arguments. What belongs here: the checks of
// count and size, and where each argument goes. What does not: where buffers and textures live.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu::plan {

// How a parameter block learns addresses and handles; each may fail with an Error.
struct ParameterSources {
    std::function<Result<uint64_t>(const std::string& buffer)> buffer_address;
    std::function<Result<uint64_t>(const std::string& symbol)> symbol_address;
    std::function<Result<uint64_t>(const TextureArg&)> texture_handle;
};

// Errors name the launch's or argument's place in the plan, the kernel and the argument.
Result<std::vector<std::byte>> build_parameters(const Launch& launch, const Kernel& kernel,
                                                const ParameterSources& sources);

}  // namespace sassemu::plan
