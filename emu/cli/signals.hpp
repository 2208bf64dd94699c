// SPDX-License-Identifier: Apache-2.0
// What Ctrl-C, SIGTERM and SIGHUP do: the program ends with 130 and leaves no temporary file. Where
// work is under way that ends in order (Budget::begin_work), the first signal asks for that, and a
// second one ends the program at once. Nothing else belongs here.
#pragma once

namespace sassemu::cli {

// Once, first of all. Writes to a pipe that nobody reads, or beyond a limit of the size of files,
// become errors of the write.
void handle_signals();

// As they were before, for a program that takes this one's place. Safe after fork().
void restore_signals();

// One of these signals has come: whatever else has happened, the exit code says so.
[[nodiscard]] bool interrupted();

}  // namespace sassemu::cli
