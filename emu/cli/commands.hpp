// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each adds itself to the program and, if chosen, runs and sets the exit code.
// What does not belong here: the subcommands' work, which has a file each.
#pragma once

#include <CLI/CLI.hpp>

namespace sassemu::cli {

void add_run_command(CLI::App& app, int& exit_code);
void add_exec_command(CLI::App& app, int& exit_code);
void add_disasm_command(CLI::App& app, int& exit_code);
void add_info_command(CLI::App& app, int& exit_code);
void add_asm_command(CLI::App& app, int& exit_code);
void add_isa_command(CLI::App& app, int& exit_code);
void add_check_commands(CLI::App& app, int& exit_code);  // check-sync, check-mem
void add_debug_command(CLI::App& app, int& exit_code);
void add_litmus_command(CLI::App& app, int& exit_code);
void add_trace_command(CLI::App& app, int& exit_code);
void add_plugins_command(CLI::App& app, int& exit_code);
void add_help_command(CLI::App& app, int& exit_code);
void add_completion_command(CLI::App& app, int& exit_code);

}  // namespace sassemu::cli
