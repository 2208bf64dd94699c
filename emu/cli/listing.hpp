// SPDX-License-Identifier: Apache-2.0
// The listing of a module's code in the layout of `nvdisasm -c`: section headers, symbols, labels,
// columns. What does not belong here: the text of an instruction (decoder/) and the command line
// (disasm_command.cpp).
#pragma once

#include <cstddef>
#include <string>

#include "emu/base/result.hpp"
#include "emu/module/module.hpp"
#include "sassdec/sassdec.h"

namespace sassemu::cli {

constexpr size_t instruction_bytes = SASSDEC_INSN_BYTES;

struct ListingOptions {
    bool hex = false, control = false, source = false;
    bool exact = false;  // instructions with all that their text does not say; the assembler makes
                         // the same bits of them
    std::string function;  // only the section that holds it; "": all
};

// Whether a section holds the code of the function; "" is in all.
[[nodiscard]] bool in_section(const Module& module, const CodeSection& section,
                              const std::string& function);

// Instruction at `offset` of a section's bytes, decoded at that address.
[[nodiscard]] sassdec_insn decode_at(sassdec_arch arch, Bytes code, uint64_t offset);

// "B0-2--:R-:W1:Y:S04": scoreboards waited for, read and write barrier, yield, stall cycles.
[[nodiscard]] std::string control_text(const sassdec_control& control);

[[nodiscard]] Result<std::string> listing(const Module& module, sassdec_arch arch,
                                          const ListingOptions& options);

}  // namespace sassemu::cli
