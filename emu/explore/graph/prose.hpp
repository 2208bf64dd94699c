// SPDX-License-Identifier: Apache-2.0
// The clauses in prose that a verdict rests on where chapter 8's axioms are silent: asynchronous
// operations and tensor memory. What belongs here: which operations come under which section.
#pragma once

#include <string>
#include <vector>

#include "emu/explore/litmus/test.hpp"

namespace sassemu::explore {

std::vector<std::string> prose_clauses(const Test& test);

}  // namespace sassemu::explore
