// SPDX-License-Identifier: Apache-2.0
// See image.hpp. The layout is that of the ELF specification, as <elf.h> has it.
#include "image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sassemu::capture {
namespace {

template <class T>
bool take(std::span<const std::byte> from, uint64_t at, T& to) {
    if (at > from.size() || from.size() - at < sizeof(T)) return false;
    std::memcpy(&to, from.data() + at, sizeof(T));
    return true;
}

std::span<const std::byte> bytes_of(std::span<const std::byte> file, const Elf64_Shdr& section) {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > file.size() ||
        file.size() - section.sh_offset < section.sh_size)
        return {};
    return file.subspan(section.sh_offset, section.sh_size);
}

std::string text_at(std::span<const std::byte> strings, uint64_t at) {
    if (at >= strings.size()) return {};
    const char* const first = reinterpret_cast<const char*>(strings.data()) + at;
    return {first, strnlen(first, strings.size() - at)};
}

bool has_variables(const std::string& section) {
    return section.starts_with(".nv.global") || section == ".nv.constant3";
}

// Of relocations of one section that put whole addresses of functions into its variables.
void find_function_words(std::span<const std::byte> cubin, std::span<const Elf64_Shdr> sections,
                         const Elf64_Shdr& relocations, const std::string& target,
                         ImageSymbols& found) {
    constexpr uint64_t whole_address = 2;  // R_CUDA_64
    if (!has_variables(target) || relocations.sh_link >= sections.size()) return;
    const Elf64_Shdr& table = sections[relocations.sh_link];
    if (table.sh_link >= sections.size()) return;
    const auto symbols = bytes_of(cubin, table), strings = bytes_of(cubin, sections[table.sh_link]),
               entries = bytes_of(cubin, relocations);
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= entries.size(); at += sizeof(Elf64_Rela)) {
        Elf64_Rela entry;
        Elf64_Sym function, variable;
        take(entries, at, entry);
        if (ELF64_R_TYPE(entry.r_info) != whole_address || entry.r_addend ||
            !take(symbols, ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym), function) ||
            ELF64_ST_TYPE(function.st_info) != STT_FUNC || function.st_shndx == SHN_UNDEF)
            continue;
        for (uint64_t s = 0; take(symbols, s, variable); s += sizeof(Elf64_Sym))
            if (variable.st_shndx == relocations.sh_info &&
                ELF64_ST_TYPE(variable.st_info) == STT_OBJECT &&
                entry.r_offset - variable.st_value < variable.st_size)
                found.function_words.push_back({text_at(strings, variable.st_name),
                                                entry.r_offset - variable.st_value,
                                                text_at(strings, function.st_name)});
    }
}

}  // namespace

ImageSymbols symbols_of(std::span<const std::byte> cubin) {
    ImageSymbols found;
    Elf64_Ehdr head;
    if (!take(cubin, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_shentsize != sizeof(Elf64_Shdr))
        return found;
    std::vector<Elf64_Shdr> sections(head.e_shnum);
    for (size_t i = 0; i < sections.size(); ++i)
        if (!take(cubin, head.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) return found;
    const auto names = head.e_shstrndx < sections.size()
                           ? bytes_of(cubin, sections[head.e_shstrndx])
                           : std::span<const std::byte>();
    const auto section_name = [&](size_t index) {
        return index < sections.size() ? text_at(names, sections[index].sh_name) : std::string();
    };
    for (const Elf64_Shdr& table : sections) {
        if (table.sh_type == SHT_RELA)
            find_function_words(cubin, sections, table, section_name(table.sh_info), found);
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
        const auto symbols = bytes_of(cubin, table),
                   strings = bytes_of(cubin, sections[table.sh_link]);
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            take(symbols, at, symbol);
            const std::string name = text_at(strings, symbol.st_name);
            if (symbol.st_shndx == SHN_UNDEF) found.heap |= name == "malloc" || name == "free";
            if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size()) continue;
            const unsigned type = ELF64_ST_TYPE(symbol.st_info);
            const std::string section = section_name(symbol.st_shndx);
            if (type == STT_FUNC && section.starts_with(".text."))
                found.functions.insert(name);
            else if (type == STT_OBJECT && symbol.st_size && has_variables(section))
                found.variables.push_back(name);
        }
    }
    return found;
}

uint64_t hash_of(std::span<const std::byte> bytes) {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace sassemu::capture
