// SPDX-License-Identifier: Apache-2.0
// An execution as a person reads it: text, and Graphviz. Nothing else belongs here.
#pragma once

#include "emu/explore/graph/explorer.hpp"

namespace sassemu::explore {

std::string witness_text(const Test& test, const Report& report);
std::string witness_graphviz(const Test& test, const Report& report);

}  // namespace sassemu::explore
