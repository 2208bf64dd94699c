// SPDX-License-Identifier: Apache-2.0
// The exit codes of the programs, and which of several counts. What belongs here: the one table.
// What does not: which situation has which code (the runner and the subcommands know).
#pragma once

#include <array>

namespace sassemu {

namespace exit_with {
inline constexpr int success = 0, differs = 1, bad_input = 2, faulted = 3, limit = 4,
                     not_executed = 5, finding = 6, internal = 7, interrupted = 130;
}

struct ExitCode {
    int code;
    const char* meaning;
};

// In the order of precedence: of several, the first of this list is the program's.
inline constexpr std::array exit_codes = {
    ExitCode{exit_with::interrupted, "interrupted (Ctrl-C, SIGTERM or SIGHUP)"},
    ExitCode{exit_with::internal, "internal error: a bug of the emulator"},
    ExitCode{exit_with::faulted, "the kernel faulted, trapped or failed an assertion"},
    ExitCode{exit_with::limit, "deadlock, livelock, or a limit of time, instructions or memory"},
    ExitCode{exit_with::not_executed,
             "an instruction or feature (it is named) that is not executed on this architecture"},
    ExitCode{exit_with::finding, "a checker or another plugin found something"},
    ExitCode{exit_with::bad_input, "bad usage or input, or output that could not be written"},
    ExitCode{exit_with::differs, "results or verdicts differ from what is expected"},
    ExitCode{exit_with::success, "all is as expected (an expected fault too)"},
};

// Of two exit codes of the table the one that counts.
[[nodiscard]] constexpr int worse(int a, int b) {
    for (const ExitCode& one : exit_codes)
        if (a == one.code || b == one.code) return one.code;
    return exit_with::internal;
}

}  // namespace sassemu
