// SPDX-License-Identifier: Apache-2.0
// What `sassemu run FILE` says where it is not told which kernel: the kernels, their parameters,
// and a command line to start from.
#pragma once

#include <string>

#include "emu/base/result.hpp"

namespace sassemu::cli {

// The symbol of the only kernel, or an error, after a list of all on standard error.
Result<std::string> only_kernel(const std::string& path);

}  // namespace sassemu::cli
