// SPDX-License-Identifier: Apache-2.0
// Reading line number programs into a module's LineTable. Private to the loader.
#pragma once

#include <string>

#include "emu/module/elf.hpp"
#include "emu/module/module_data.hpp"

namespace sassemu {

// Reads .debug_line and .nv_debug_line_sass of `file` into data.lines; files without them leave
// it empty. data.symbols and data.code_sections must be there.
[[nodiscard]] Result<void> read_line_tables(ModuleData& data, const elf::File& file,
                                            const std::string& name);

}  // namespace sassemu
