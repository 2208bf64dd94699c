// SPDX-License-Identifier: Apache-2.0
// The program of `sassemu exec`, before it is started: where it lies, and whether the dynamic
// linker will give it our libraries. What does not belong here: starting it.
#pragma once

#include <string>

#include "emu/base/result.hpp"

namespace sassemu::cli {

// `name` as a shell looks it up. Errors: it is not there, cannot be executed, or is one that the
// dynamic linker does not redirect: linked statically, with a set-user-id bit or capabilities, of
// another machine or C library. Of a script its interpreter counts.
Result<std::string> find_program(const std::string& name);

}  // namespace sassemu::cli
