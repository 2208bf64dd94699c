// SPDX-License-Identifier: Apache-2.0
// Rows of "info" that tell what there is: kernels, CTAs, memory, functions, files.
#pragma once

#include <string>

#include "emu/debug/debuggee.hpp"

namespace sassemu::debug {

// Adds them to `rows`; `focus` may be null. False: there is nothing of that name.
bool list(const Debuggee& d, const Warp* focus, const std::string& what, Json& rows);

}  // namespace sassemu::debug
