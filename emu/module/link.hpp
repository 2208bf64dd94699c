// SPDX-License-Identifier: Apache-2.0
// Relocation: a Module plus the addresses the engine chose -> bytes ready to run.
// Belongs here: Placement, link() and the single-relocation helper. Does not belong here:
// choosing addresses (engine), resolving symbols between several modules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emu/module/module.hpp"

namespace sassemu {

// Where the engine put things. Addresses are 64-bit guest addresses.
struct Placement {
    std::uint64_t code_base = 0;            // address of code offset 0
    std::vector<std::uint64_t> data_bases;  // one per Module::data_sections(), same order
    // Variables of global memory that do not lie in their sections, by name.
    std::map<std::string, std::uint64_t, std::less<>> variables;
    // What addresses of functions are, where these do not lie in their sections, by name.
    std::map<std::string, std::uint64_t, std::less<>> functions;
    // Generic addresses of shared address 0 and of offset 0 of constant bank 3; used only for
    // variables whose initialiser is generic(variable).
    std::uint64_t shared_window = 0;
    std::uint64_t constant_window = 0;
    // The address of an undefined function or object: a service ("vprintf", "malloc", "free",
    // "__assertfail", ...) or an extern; for a texture, sampler or surface reference (symbol kind
    // texture) its header index. Weak symbols that stay undefined never get here: they are 0.
    std::function<Result<std::uint64_t>(const Symbol&)> undefined;
};

struct LinkedBank {
    std::uint32_t bank = 0;
    std::uint32_t section = 0;  // equals ConstantBank::section
    std::vector<std::uint8_t> bytes;
};

struct LinkedImage {
    std::vector<std::uint8_t> code;  // the whole code image, gaps zero
    // Per data section: `size` bytes, or none where the section is all zero.
    std::vector<std::vector<std::uint8_t>> data;
    std::vector<LinkedBank> banks;  // per Module::constant_banks(), same order
};

// Applies every relocation of the module. Errors name file, section, offset, type and symbol.
[[nodiscard]] Result<LinkedImage> link(const Module& module, const Placement& placement);

// The value a relocation stores: S + A, and for types that name a constant bank also the bank.
struct RelocationValue {
    std::uint64_t address = 0;  // absolute; for constant symbols the offset in the bank
    std::uint32_t bank = 0;     // constant bank of the symbol, for CONST_FIELD types
};

// Writes one relocation at `offset` of `bytes`. `where` goes into the error. Unknown type or a
// value that does not fit: an Error that names the type.
[[nodiscard]] Result<void> apply_relocation(std::span<std::uint8_t> bytes, std::uint64_t offset,
                                            std::uint32_t type, RelocationValue value,
                                            std::string_view where);
// Whether apply_relocation looks at the value; markers and clearing types do not.
[[nodiscard]] bool relocation_needs_value(std::uint32_t type);
// "R_CUDA_ABS32_LO_32"; empty when the number is not known.
[[nodiscard]] std::string_view relocation_name(std::uint32_t type);

}  // namespace sassemu
