// SPDX-License-Identifier: Apache-2.0
// Module's accessors and lookups. Belongs here: questions about a loaded module. Does not belong
// here: anything that reads file bytes.
#include "emu/module/module.hpp"

#include <algorithm>

#include "emu/module/find_name.hpp"
#include "emu/module/module_data.hpp"

namespace sassemu {
namespace {

template <class T>
const T* by_section(const std::vector<T>& list, std::uint32_t section) {
    const auto found = std::ranges::find(list, section, &T::section);
    return found == list.end() ? nullptr : &*found;
}

}  // namespace

const std::string& Module::file_name() const { return data_->file_name; }
Container Module::container() const { return data_->container; }
Arch Module::arch() const { return data_->arch; }
std::uint32_t Module::elf_flags() const { return data_->elf_flags; }
std::uint8_t Module::elf_abi_version() const { return data_->elf_abi_version; }
bool Module::is_relocatable() const { return data_->is_relocatable; }
std::string_view Module::tool_version() const { return data_->tool_version; }
std::string_view Module::tool_options() const { return data_->tool_options; }
Bytes Module::elf() const { return data_->bytes; }
const std::vector<Kernel>& Module::kernels() const { return data_->kernels; }
const std::vector<Function>& Module::functions() const { return data_->functions; }
const std::vector<CodeSection>& Module::code_sections() const { return data_->code_sections; }
std::uint64_t Module::code_image_size() const { return data_->code_image_size; }
const std::vector<DataSection>& Module::data_sections() const { return data_->data_sections; }
const std::vector<ConstantBank>& Module::constant_banks() const { return data_->constant_banks; }
const std::vector<Variable>& Module::variables() const { return data_->variables; }
const std::vector<TextureReference>& Module::texture_references() const {
    return data_->texture_references;
}
const std::vector<Symbol>& Module::symbols() const { return data_->symbols; }
const std::vector<Relocation>& Module::relocations() const { return data_->relocations; }
const std::vector<Attribute>& Module::attributes() const { return data_->attributes; }
const std::vector<Attribute>& Module::compat() const { return data_->compat; }
const std::vector<std::string>& Module::notes() const { return data_->notes; }
const LineTable& Module::lines() const { return data_->lines; }

Result<const Kernel*> Module::kernel(std::string_view name) const {
    const auto& all = data_->kernels;
    if (const auto same = std::ranges::find(all, name, &Kernel::name); same != all.end())
        return &*same;  // the usual case, without a demangler
    std::vector<std::string> symbols;
    for (const Kernel& kernel : all) symbols.push_back(kernel.name);
    SASSEMU_ASSIGN(const size_t found, only_meant(symbols, name, data_->file_name));
    return &all[found];
}

const Variable* Module::variable(std::string_view name) const {
    const auto found = std::ranges::find(data_->variables, name, &Variable::name);
    return found == data_->variables.end() ? nullptr : &*found;
}

// Functions may nest (a device function's symbol lies inside its kernel's): the innermost wins,
// which is the last one that starts at or before the offset and still covers it.
const Function* Module::function_at(std::uint64_t code_offset) const {
    const auto& list = data_->functions;
    auto next = std::ranges::upper_bound(list, code_offset, {}, &Function::code_offset);
    while (next != list.begin()) {
        --next;
        if (code_offset - next->code_offset < next->size) return &*next;
        if (next->is_kernel) break;
    }
    return nullptr;
}

const CodeSection* Module::code_section(std::uint32_t section) const {
    return by_section(data_->code_sections, section);
}
const DataSection* Module::data_section(std::uint32_t section) const {
    return by_section(data_->data_sections, section);
}
const ConstantBank* Module::constant_bank(std::uint32_t section) const {
    return by_section(data_->constant_banks, section);
}

const ConstantBank* Module::constant_bank(std::uint32_t bank, std::string_view kernel) const {
    const ConstantBank* shared = nullptr;
    for (const auto& candidate : data_->constant_banks) {
        if (candidate.bank != bank) continue;
        if (!candidate.kernel.empty() && candidate.kernel == kernel) return &candidate;
        if (candidate.kernel.empty()) shared = &candidate;
    }
    return shared;
}

}  // namespace sassemu
