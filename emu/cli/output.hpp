// SPDX-License-Identifier: Apache-2.0
// Standard output, so that nothing written to it is lost without a word. What does not belong here:
// files (emu/plan/atomic_file.hpp).
#pragma once

#include <string_view>

#include "emu/base/result.hpp"

namespace sassemu::cli {

// A standard stream that is closed becomes one that refuses: no file that is opened later gets its
// number and with it what was meant for the terminal. Once, first of all.
void occupy_standard_streams();

// To standard output, as it is. A failure is remembered for finish_output().
void print(std::string_view text);
// Everything printed so far has reached the system; an error: some of it has not.
[[nodiscard]] Result<void> finish_output();

}  // namespace sassemu::cli
