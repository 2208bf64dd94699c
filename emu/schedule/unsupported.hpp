// SPDX-License-Identifier: Apache-2.0
// What of a module's code would end a launch with exit code 5, found without running it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/module/module.hpp"

namespace sassemu {

// Instructions of one function that have one name and are not executed for one reason, or a call
// of what nobody provides.
struct Unsupported {
    std::string function;      // the kernel or device function
    std::string what;          // the text of the first one, or the function called
    std::uint64_t offset = 0;  // of the first one, from the start of its section
    std::string source;        // its line, where there is a line table
    std::string why;           // may be empty: it decodes, and has no behaviour
    std::uint64_t count = 0;
};

// In the order of the code.
[[nodiscard]] Result<std::vector<Unsupported>> unsupported_code(
    std::shared_ptr<const Module> module);

}  // namespace sassemu
