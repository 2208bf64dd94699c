// SPDX-License-Identifier: Apache-2.0
// Which architecture a cubin is for and what made it. Private to the loader.
#pragma once

#include <string>

#include "emu/module/elf.hpp"
#include "emu/module/module_data.hpp"

namespace sassemu {

// Fills arch, elf_flags, elf_abi_version, is_relocatable, tool_* and compat. `fatbin_suffix` is
// what the fatbin entry says ('a', 'f' or 0).
[[nodiscard]] Result<void> read_identity(ModuleData& data, const elf::File& file,
                                         const std::string& name, char fatbin_suffix);

}  // namespace sassemu
