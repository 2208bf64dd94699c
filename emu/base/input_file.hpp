// SPDX-License-Identifier: Apache-2.0
// Opening the files that a command reads, and keeping them inside of one folder (--root); source
// files, whose names stand in modules. Nothing else belongs here: what is in them is their readers'
// business.
#pragma once

#include <optional>
#include <string>

#include "emu/base/result.hpp"
#include "sdk/sources/folder.hpp"

namespace sassemu {

// From now on open_input() opens only what lies inside of this folder, for the whole process: a
// reader that nobody thought of is kept in too. Before the first file is read. Errors: no
// such folder, or a kernel without openat2().
Result<void> keep_inputs_inside(const std::string& folder);

// A descriptor for reading, closed by exec. Errors name the path. Inside of a folder neither `..`
// nor an absolute path nor a symbolic link on the way leads out of it; the kernel sees to that
// while it opens, so nobody can exchange a link in between. A pipe that nobody writes to is opened
// all the same: its reader waits, and looks at the limits (read_file()).
Result<int> open_input(const std::string& path);

// Source files may be read below this folder too (--directory), for the whole process; the one that
// was named last is looked into first. Without one, and without --root, none is read: a module may
// name any file. Errors: no such folder.
Result<void> add_source_folder(const std::string& folder);

// See sdk/sources/folder.hpp.
std::optional<sources::File> read_source(const std::string& name, size_t most);

}  // namespace sassemu
