// SPDX-License-Identifier: Apache-2.0
// ELF64 little-endian, as far as cubins and host executables need it.
// Belongs here: headers, sections, symbols, relocation records, each checked against the file's
// size. Does not belong here: what a CUDA section means (cubin.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emu/module/module.hpp"

namespace sassemu::elf {

// ELF constants (System V gABI, chapter 4).
inline constexpr std::uint16_t machine_cuda = 190;  // EM_CUDA
inline constexpr std::uint16_t type_relocatable = 1;
inline constexpr std::uint32_t sht_null = 0, sht_progbits = 1, sht_symtab = 2, sht_strtab = 3,
                               sht_rela = 4, sht_nobits = 8, sht_rel = 9;
inline constexpr std::uint8_t stt_notype = 0, stt_object = 1, stt_func = 2, stt_section = 3;
inline constexpr std::uint8_t stb_local = 0, stb_global = 1, stb_weak = 2;

struct Section {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint64_t flags = 0;
    std::uint64_t size = 0;
    std::uint32_t link = 0;
    std::uint32_t info = 0;
    std::uint64_t alignment = 0;
    std::uint64_t entry_size = 0;
    Bytes bytes;  // empty for types that occupy no file space
};

struct RawSymbol {
    std::string_view name;
    std::uint8_t info = 0;
    std::uint8_t other = 0;
    std::uint16_t section = 0;
    std::uint64_t value = 0;
    std::uint64_t size = 0;

    [[nodiscard]] std::uint8_t type() const { return info & 0xfU; }
    [[nodiscard]] std::uint8_t binding() const { return info >> 4U; }
};

struct File {
    std::uint8_t os_abi = 0;
    std::uint8_t abi_version = 0;
    std::uint16_t type = 0;
    std::uint16_t machine = 0;
    std::uint32_t flags = 0;
    std::vector<Section> sections;  // index 0 is the null section
};

[[nodiscard]] bool is_elf(Bytes bytes);

// The views point into `bytes`. `name` is the file's name for messages. Section types in
// `no_file_space` occupy no bytes besides SHT_NOBITS (CUDA has several such types).
[[nodiscard]] Result<File> parse(Bytes bytes, const std::string& name,
                                 std::span<const std::uint32_t> no_file_space = {});

// The records of one symbol table section.
[[nodiscard]] Result<std::vector<RawSymbol>> symbols(const File& file, std::size_t table,
                                                     const std::string& name);

// The records of one SHT_REL or SHT_RELA section. Symbol indices are checked below
// `symbol_count`; offsets are not checked here.
[[nodiscard]] Result<std::vector<Relocation>> relocations(const File& file, std::size_t section,
                                                          std::size_t symbol_count,
                                                          const std::string& name);

}  // namespace sassemu::elf
