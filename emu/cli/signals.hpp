// SPDX-License-Identifier: Apache-2.0
// What Ctrl-C, SIGTERM and SIGHUP do: the program ends with 130 and leaves no temporary file. While
// something is under way that can stop by itself, the first signal asks for that, and a second one
// ends the program at once. Nothing else belongs here.
#pragma once

#include "emu/gpu.hpp"

namespace sassemu::cli {

// Once, first of all. Writes to a pipe that nobody reads, or beyond a limit of the size of files,
// become errors of the write.
void handle_signals();

// From here on the first signal only asks: the GPU's launch is interrupted if there is one, and
// stop_requested() says so. nullptr: no launch runs now.
void under_way(Gpu* gpu);
[[nodiscard]] bool stop_requested();

}  // namespace sassemu::cli
