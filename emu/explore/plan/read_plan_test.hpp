// SPDX-License-Identifier: Apache-2.0
// Launch plans with a condition as tests: docs/litmus.md, section 10.
#pragma once

#include <string>

#include "emu/explore/litmus/test.hpp"

namespace sassemu::explore {

// A launch plan. Its launches are prepared, none is run.
// `arch`: which of the plan's architectures; empty: the first.
Result<Test> read_plan_test(const std::string& path, const std::string& arch = {});
bool is_plan(const std::string& text);

}  // namespace sassemu::explore
