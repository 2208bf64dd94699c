// SPDX-License-Identifier: Apache-2.0
// Exploring a test under a machine: docs/litmus.md, sections 6, 7 and 9.
#pragma once

#include "emu/explore/graph/explorer.hpp"
#include "emu/explore/machines/explored_machine.hpp"

namespace sassemu::explore {

Result<Report> explore_machine(const Test& test, const ExploredMachine& machine,
                               const Limits& limits, const Sampling& sampling = {});
// The same with a machine that is opened for it, by its name.
Result<Report> explore_machine(const Test& test, const std::string& machine, const Limits& limits,
                               const Sampling& sampling = {});

}  // namespace sassemu::explore
