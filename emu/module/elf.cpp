// SPDX-License-Identifier: Apache-2.0
// ELF64 reading; see elf.hpp for what belongs here.
#include "emu/module/elf.hpp"

#include <algorithm>

#include "emu/module/byte_reader.hpp"

namespace sassemu::elf {
namespace {

constexpr std::uint64_t header_size = 64, section_header_size = 64, symbol_size = 24;
// A cubin with one kernel per section needs a few sections per kernel; the ELF field itself ends
// at 0xff00. More than that (e_shnum == 0 and the count in section 0) no CUDA tool writes.
constexpr std::uint32_t max_sections = 0xff00;

Error bad(const std::string& name, const std::string& field, std::string what) {
    return make_error(ErrorCode::input, name + ": " + field, std::move(what));
}

std::string section_label(const File& file, std::size_t index) {
    return "section " + std::to_string(index) + " (" + std::string(file.sections[index].name) + ")";
}

}  // namespace

bool is_elf(Bytes bytes) {
    return bytes.size() >= 4 && bytes[0] == 0x7f && bytes[1] == 'E' && bytes[2] == 'L' &&
           bytes[3] == 'F';
}

Result<File> parse(Bytes bytes, const std::string& name,
                   std::span<const std::uint32_t> no_file_space) {
    if (!is_elf(bytes)) return bad(name, "e_ident", "no ELF magic number");
    if (bytes.size() < header_size) {
        return bad(name, "ELF header",
                   "truncated: " + std::to_string(bytes.size()) + " of 64 bytes");
    }
    if (bytes[4] != 2) return bad(name, "EI_CLASS", "not a 64-bit ELF file");
    if (bytes[5] != 1) return bad(name, "EI_DATA", "not a little-endian ELF file");
    File file;
    file.os_abi = bytes[7];
    file.abi_version = bytes[8];
    ByteReader reader(bytes, 16);
    file.type = reader.take<std::uint16_t>();
    file.machine = reader.take<std::uint16_t>();
    reader.skip(4 + 8 + 8);  // e_version, e_entry, e_phoff
    const auto section_offset = reader.take<std::uint64_t>();
    file.flags = reader.take<std::uint32_t>();
    reader.skip(2 + 2 + 2);  // e_ehsize, e_phentsize, e_phnum
    const auto entry_size = reader.take<std::uint16_t>();
    const auto count = reader.take<std::uint16_t>();
    const auto names_index = reader.take<std::uint16_t>();

    if (section_offset == 0 || count == 0) return file;  // a stripped host executable
    if (entry_size != section_header_size) {
        return bad(name, "e_shentsize",
                   "section headers of " + std::to_string(entry_size) + " bytes, expected 64");
    }
    if (count >= max_sections) {
        return bad(name, "e_shnum", "too many sections: " + std::to_string(count));
    }
    const auto table = slice(bytes, section_offset, std::uint64_t{count} * section_header_size);
    if (!table) {
        return bad(name, "e_shoff",
                   "the section headers (" + std::to_string(count) + " at offset " +
                       std::to_string(section_offset) + ") leave the file of " +
                       std::to_string(bytes.size()) + " bytes");
    }
    if (names_index >= count) {
        return bad(name, "e_shstrndx",
                   "section " + std::to_string(names_index) + " of " + std::to_string(count) +
                       " does not exist");
    }
    std::vector<std::uint32_t> name_offsets;
    for (std::size_t i = 0; i < count; ++i) {
        ByteReader header(*table, i * section_header_size);
        Section section;
        name_offsets.push_back(header.take<std::uint32_t>());
        section.type = header.take<std::uint32_t>();
        section.flags = header.take<std::uint64_t>();
        header.skip(8);  // sh_addr
        const auto offset = header.take<std::uint64_t>();
        section.size = header.take<std::uint64_t>();
        section.link = header.take<std::uint32_t>();
        section.info = header.take<std::uint32_t>();
        section.alignment = header.take<std::uint64_t>();
        section.entry_size = header.take<std::uint64_t>();
        const bool has_bytes =
            section.type != sht_null && section.type != sht_nobits &&
            std::ranges::find(no_file_space, section.type) == no_file_space.end();
        if (has_bytes) {
            const auto part = slice(bytes, offset, section.size);
            if (!part) {
                return bad(name, "section " + std::to_string(i) + " sh_offset/sh_size",
                           std::to_string(section.size) + " bytes at offset " +
                               std::to_string(offset) + " leave the file of " +
                               std::to_string(bytes.size()) + " bytes");
            }
            section.bytes = *part;
        }
        file.sections.push_back(section);
    }
    const Bytes names = file.sections[names_index].bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const auto text = c_string_at(names, name_offsets[i]);
        if (!text) {
            return bad(
                name, "section " + std::to_string(i) + " sh_name",
                "offset " + std::to_string(name_offsets[i]) + " is outside the section name table");
        }
        file.sections[i].name = *text;
    }
    return file;
}

Result<std::vector<RawSymbol>> symbols(const File& file, std::size_t table,
                                       const std::string& name) {
    const Section& section = file.sections[table];
    const std::string label = section_label(file, table);
    if (section.bytes.size() % symbol_size != 0) {
        return bad(name, label + " sh_size",
                   std::to_string(section.bytes.size()) + " is not a multiple of 24");
    }
    if (section.link >= file.sections.size()) {
        return bad(name, label + " sh_link",
                   "string table " + std::to_string(section.link) + " does not exist");
    }
    const Bytes strings = file.sections[section.link].bytes;
    std::vector<RawSymbol> result;
    result.reserve(section.bytes.size() / symbol_size);
    for (ByteReader reader(section.bytes); !reader.at_end();) {
        RawSymbol symbol;
        const auto name_offset = reader.take<std::uint32_t>();
        symbol.info = reader.take<std::uint8_t>();
        symbol.other = reader.take<std::uint8_t>();
        symbol.section = reader.take<std::uint16_t>();
        symbol.value = reader.take<std::uint64_t>();
        symbol.size = reader.take<std::uint64_t>();
        const std::string field = "symbol " + std::to_string(result.size());
        const auto text = c_string_at(strings, name_offset);
        if (!text) {
            return bad(name, field + " st_name",
                       "offset " + std::to_string(name_offset) + " is outside the string table");
        }
        symbol.name = *text;
        // 0xff00 and above are reserved indices (absolute, common).
        if (symbol.section < 0xff00 && symbol.section >= file.sections.size()) {
            return bad(name, field + " (" + std::string(symbol.name) + ") st_shndx",
                       "section " + std::to_string(symbol.section) + " does not exist");
        }
        result.push_back(symbol);
    }
    return result;
}

Result<std::vector<Relocation>> relocations(const File& file, std::size_t index,
                                            std::size_t symbol_count, const std::string& name) {
    const Section& section = file.sections[index];
    const std::string label = section_label(file, index);
    const bool with_addend = section.type == sht_rela;
    const std::uint64_t record = with_addend ? 24 : 16;
    if (section.bytes.size() % record != 0) {
        return bad(name, label + " sh_size",
                   std::to_string(section.bytes.size()) + " is not a multiple of " +
                       std::to_string(record));
    }
    if (section.info >= file.sections.size() || section.info == 0) {
        return bad(name, label + " sh_info",
                   "target section " + std::to_string(section.info) + " does not exist");
    }
    std::vector<Relocation> result;
    result.reserve(section.bytes.size() / record);
    for (ByteReader reader(section.bytes); !reader.at_end();) {
        Relocation relocation;
        relocation.section = section.info;
        relocation.offset = reader.take<std::uint64_t>();
        relocation.type = reader.take<std::uint32_t>();
        relocation.symbol = reader.take<std::uint32_t>();
        relocation.has_addend = with_addend;
        if (with_addend) relocation.addend = reader.take<std::int64_t>();
        if (relocation.symbol >= symbol_count) {
            return bad(name, label + " entry " + std::to_string(result.size()) + " r_info",
                       "symbol " + std::to_string(relocation.symbol) + " of " +
                           std::to_string(symbol_count) + " does not exist");
        }
        result.push_back(relocation);
    }
    return result;
}

}  // namespace sassemu::elf
