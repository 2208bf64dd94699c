// SPDX-License-Identifier: Apache-2.0
// What the program says of its own use: the table of exit codes, and what is wrong with a command
// line. What does not belong here: manual pages and completion (manual.cpp).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu::cli {

// Several lines, for the end of every --help.
std::string exit_code_text();

// One line for a command line that was refused: what is unknown or wrong, and what may have been
// meant.
Error usage_error(const CLI::App& app, const CLI::ParseError& error);

// The word that `text` was probably meant to be, "" if none is near: one that it begins, or one
// that a few letters added, left out, changed or swapped make of it.
std::string nearest(std::string_view text, const std::vector<std::string>& words);

// The subcommands and options that are shown, in the order of their definition; an option's names
// with their dashes.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);
std::vector<const CLI::Option*> shown_options(const CLI::App& app);
std::vector<std::string> option_names(const CLI::Option& option);

}  // namespace sassemu::cli
