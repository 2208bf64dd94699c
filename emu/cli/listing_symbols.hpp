// SPDX-License-Identifier: Apache-2.0
// The end of a listing: symbols that a file names and does not define, or leaves to the linker to
// merge.
#pragma once

#include <cstdint>
#include <string>

#include "emu/module/module.hpp"

namespace sassemu::cli {

// "DEFAULT" of "STV_DEFAULT": bits [1:0] of st_other.
[[nodiscard]] const char* visibility_name(uint8_t other);

// Empty when there are none.
[[nodiscard]] std::string undefined_symbols(const Module& module);

}  // namespace sassemu::cli
