// SPDX-License-Identifier: Apache-2.0
// What a Module holds. Private to the loader.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emu/module/line_table.hpp"
#include "emu/module/module.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {

// Bytes at shared address 0 that the compiler leaves to the system.
[[nodiscard]] constexpr std::uint32_t reserved_shared(Arch arch) {
    return sassdec::architecture(arch.sm).family->reserved_shared;
}

// 256 KiB: more than any GPU has in a CTA.
constexpr std::uint64_t max_shared = std::uint64_t{1} << 18U;

// Where a shared-memory section of a relocatable file was put; see shared_layout.cpp.
struct SharedSection {
    std::uint32_t section = 0;
    std::string name;
    std::uint32_t owner = 0;  // the code section it belongs to; 0: every kernel
    std::uint64_t size = 0;
    std::uint64_t alignment = 1;
    std::uint64_t address = 0;
};

struct ModuleData {
    std::string file_name;
    Container container = Container::cubin;
    std::vector<std::uint8_t> bytes;  // the cubin; everything below points into it
    Arch arch;
    std::uint32_t elf_flags = 0;
    std::uint8_t elf_abi_version = 0;
    bool is_relocatable = false;
    std::string tool_version;
    std::string tool_options;

    std::vector<Kernel> kernels;
    std::vector<Function> functions;
    std::vector<CodeSection> code_sections;
    std::uint64_t code_image_size = 0;
    std::vector<DataSection> data_sections;
    std::vector<ConstantBank> constant_banks;
    std::vector<Variable> variables;
    std::vector<TextureReference> texture_references;
    std::vector<Symbol> symbols;
    std::vector<Relocation> relocations;
    std::vector<Attribute> attributes;
    std::vector<Attribute> compat;
    std::vector<std::string> notes;
    std::vector<SharedSection> shared_sections;
    // Address of `extern __shared__` memory as code in a section sees it; other code sections
    // (device functions) see dynamic_shared_address.
    std::map<std::uint32_t, std::uint64_t> dynamic_shared_by_section;
    std::uint64_t dynamic_shared_address = 0;
    LineTable lines;

    static Module wrap(std::shared_ptr<const ModuleData> data) { return Module(std::move(data)); }
    static const ModuleData& of(const Module& module) { return *module.data_; }
};

// A cubin's bytes -> ModuleData. `fatbin_suffix` is what the fatbin entry says about the
// architecture ('a', 'f' or 0). cubin.cpp.
[[nodiscard]] Result<Module> parse_cubin(std::vector<std::uint8_t> bytes, const std::string& name,
                                         Container container, char fatbin_suffix);

// Fills functions' shared-memory needs and shared symbols' values of a relocatable file, and
// raises register and stack needs along the call graph. shared_layout.cpp.
[[nodiscard]] Result<void> lay_out_relocatable(ModuleData& data, Bytes call_graph);

}  // namespace sassemu
