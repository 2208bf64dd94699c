// SPDX-License-Identifier: Apache-2.0
// Variables and inlined functions out of the sections that a compiler for hosts would write, too.
// Damaged sections give fewer of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emu/debug/debug_info.hpp"

namespace sassemu::debug {

struct DwarfSections {
    Bytes info, abbreviations, locations, strings;
};
// By function.
void read_dwarf(const DwarfSections& sections,
                std::map<std::string, std::vector<SourceVariable>>& variables,
                std::map<std::string, std::vector<InlinedCall>>& inlined);

}  // namespace sassemu::debug
