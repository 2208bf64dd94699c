// SPDX-License-Identifier: Apache-2.0
// --time-limit and --memory-limit, which every subcommand has, and who holds it to them. What does
// not belong here: what is counted (emu/base/limits.hpp).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "emu/base/limits.hpp"

namespace sassemu::cli {

class CommandLimits {
  public:
    // Adds the options. They hold from when the command line has been read. A subcommand with a
    // --time-limit of its own sets it itself.
    void add_to(CLI::App& sub);

  private:
    void begin(const CLI::App& sub);

    uint64_t memory_ = 0;
    double seconds_ = 0;
    std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace sassemu::cli
