// SPDX-License-Identifier: Apache-2.0
// The options that several subcommands share, and the program's small services (error text, exit
// codes). What belongs here: their syntax. What does not: what a subcommand does with them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/gpu.hpp"
#include "emu/plan/run_plan.hpp"

namespace sassemu::cli {

struct CommonOptions {
    std::vector<std::string> models, plugins, dumps;
    uint32_t threads = 0;
    uint64_t seed = 0;
    bool deterministic = false, reference = false;
    double time_limit = 0;
    uint64_t max_instructions = 0;
    std::string level, arch, agents, fill;
    bool sandbox = false;
    std::string root;                      // empty: input files may be anywhere
    std::vector<std::string> directories;  // of source files
    std::string stats;                     // empty: not asked for; "-": stdout; else a file
    std::string progress;                  // auto, always, never; empty: auto
};

void add_common_options(CLI::App& app, CommonOptions& options);
// Those of them that say how the GPUs work, without those of plans and their results.
void add_machine_options(CLI::App& app, CommonOptions& options);
// Where files may be read, before the first is.
Result<void> confine_inputs(const CommonOptions& options);
// Errors: a malformed --dump.
Result<plan::RunOptions> run_options(const CommonOptions& options);

// Of an option that takes seconds of a limit, from `least` up. (CLI::Range lets NaN through.)
CLI::Validator limit_in_seconds(double least);
CLI::Validator positive();  // a number

// "4", "4,1" or "4,1,1"; `what` names the option in the error.
Result<Dim3> parse_dim3(const std::string& text, const std::string& what);

// One line on stderr; returns the exit code of the error.
int fail(const Error& error);
// One line on stderr where a limit or a signal has left some of them out.
void tell_partial(uint64_t ran, uint64_t all, const char* what);

}  // namespace sassemu::cli
