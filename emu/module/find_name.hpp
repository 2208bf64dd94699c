// SPDX-License-Identifier: Apache-2.0
// The one kernel that a user's words mean (sassemu/names.hpp says how), or an error that lists what
// there is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu {

// An index into `symbols`. Errors, with `where` before them: not_found where none is meant; usage
// where several are. Both list candidates, demangled.
[[nodiscard]] Result<size_t> only_meant(const std::vector<std::string>& symbols,
                                        std::string_view wanted, const std::string& where);

}  // namespace sassemu
