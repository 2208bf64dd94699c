// SPDX-License-Identifier: Apache-2.0
// The memory models of the emulator's own.
#pragma once

#include <memory>
#include <string_view>

#include "emu/base/result.hpp"
#include "emu/machine/port.hpp"

namespace sassemu {

// A built-in model by name and options ("delay:steps=3"), or an error that lists the names.
Result<std::unique_ptr<MemoryModel>> make_model(std::string_view spec, uint64_t seed);

}  // namespace sassemu
