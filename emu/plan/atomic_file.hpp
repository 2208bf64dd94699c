// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all. Nothing else belongs here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "emu/base/result.hpp"

namespace sassemu::plan {

// Writes a temporary file beside `path` and renames it. On any error `path` is as it was, and no
// temporary file stays. A path that exists and is no regular file is an error.
Result<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace sassemu::plan
