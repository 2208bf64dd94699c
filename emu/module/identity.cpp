// SPDX-License-Identifier: Apache-2.0
// Which architecture a cubin is for; see identity.hpp.
// Belongs here: e_flags of both ELF layouts, .note.nv.tkinfo and .nv.compat. Does not belong
// here: which architectures exist (arch.cpp).
#include "emu/module/identity.hpp"

#include <algorithm>

#include "emu/module/attributes.hpp"
#include "emu/module/byte_reader.hpp"

namespace sassemu {
namespace {

constexpr std::uint8_t os_abi_old = 0x33, os_abi_new = 0x41;
constexpr std::uint32_t flag_accelerated_old = 0x800;  // 'a'
constexpr std::uint8_t compat_accelerated = 9;         // .nv.compat attribute: 1 for 'a' only

Error bad(const std::string& name, const std::string& field, std::string what) {
    return make_error(ErrorCode::input, name + ": " + field, std::move(what));
}

// EI_OSABI 0x33 with ABI version 7: CUDA up to 12.x; SM in the low byte. EI_OSABI 0x41 with ABI
// version 8: 12.9 for sm_100 and later, 13.x for all; SM in the second byte.
Result<void> read_flags(ModuleData& data, const elf::File& file, const std::string& name) {
    if (file.machine != elf::machine_cuda) {
        return bad(name, "e_machine", std::to_string(file.machine) + " is not CUDA (190)");
    }
    if (file.type != 1 && file.type != 2) {
        return bad(name, "e_type",
                   std::to_string(file.type) +
                       " is neither a relocatable (1) nor an executable (2) cubin");
    }
    unsigned sm = 0;
    if (file.os_abi == os_abi_old) {
        sm = file.flags & 0xffU;
        if ((file.flags & flag_accelerated_old) != 0) data.arch.suffix = 'a';
    } else if (file.os_abi == os_abi_new) {
        sm = (file.flags >> 8U) & 0xffU;
    } else {
        return bad(name, "EI_OSABI",
                   std::to_string(file.os_abi) + " is not one of the CUDA ABIs (51, 65)");
    }
    if (!is_known_sm(sm)) {
        Error error = parse_arch("sm_" + std::to_string(sm)).error();
        return make_error(ErrorCode::unsupported, name + ": e_flags",
                          "architecture sm_" + std::to_string(sm) + " is not supported",
                          std::move(error.hint));
    }
    data.arch.sm = static_cast<std::uint16_t>(sm);
    data.elf_flags = file.flags;
    data.elf_abi_version = file.abi_version;
    data.is_relocatable = file.type == elf::type_relocatable;
    return {};
}

// .note.nv.tkinfo: a note per tool (nvlink's before ptxas's); its description is six words, the
// last four of them offsets into the strings that follow: tool, version, build, options. Notes
// are information only: a malformed one is skipped. Returns the suffix the options name.
char read_notes(ModuleData& data, const elf::File& file) {
    char suffix = 0;
    for (const auto& section : file.sections) {
        if (section.name != ".note.nv.tkinfo") continue;
        ByteReader reader(section.bytes);
        while (!reader.at_end()) {
            const auto name_size = reader.take<std::uint32_t>();
            const auto text_size = reader.take<std::uint32_t>();
            reader.skip(4);
            reader.skip((std::uint64_t{name_size} + 3) & ~std::uint64_t{3});
            const Bytes text = reader.take_bytes(text_size);
            reader.skip(std::min<std::uint64_t>((4 - text_size % 4) % 4, reader.remaining()));
            if (reader.failed()) break;
            const Bytes strings = text.size() >= 24 ? text.subspan(24) : Bytes{};
            const auto string = [&](std::uint64_t word) {
                const auto offset = read_at<std::uint32_t>(text, 4 * word);
                const auto found = offset ? c_string_at(strings, *offset) : std::nullopt;
                return std::string(found.value_or(""));
            };
            const std::string options = string(5);
            if (data.tool_version.empty()) {
                data.tool_version = string(3);
                data.tool_options = options;
            }
            const std::size_t at = options.find("sm_");
            if (suffix != 0 || at == std::string::npos) continue;
            const auto arch =
                parse_arch(std::string_view(options).substr(at, options.find(' ', at) - at));
            if (arch.ok() && arch->sm == data.arch.sm) suffix = arch->suffix;
        }
    }
    return suffix;
}

}  // namespace

Result<void> read_identity(ModuleData& data, const elf::File& file, const std::string& name,
                           char fatbin_suffix) {
    SASSEMU_TRY(read_flags(data, file, name));
    for (const auto& section : file.sections) {
        if (section.name != ".nv.compat") continue;
        SASSEMU_ASSIGN(data.compat, parse_attributes(section.bytes, name + ": .nv.compat", false));
    }
    // e_flags of the newer layout lacks the suffix; of the older one the bit says nothing where
    // there is no such chip (sm_80 with 0x800 is no sm_80a).
    if (!parse_arch(data.arch.name()).ok()) data.arch.suffix = 0;
    const char note_suffix = read_notes(data, file);
    for (const char candidate : {fatbin_suffix, note_suffix}) {
        if (data.arch.suffix == 0 && parse_arch(Arch{data.arch.sm, candidate}.name()).ok())
            data.arch.suffix = candidate;
    }
    for (const auto& attribute : data.compat) {
        if (data.arch.suffix == 0 && attribute.code == compat_accelerated && attribute.value == 1 &&
            parse_arch(Arch{data.arch.sm, 'a'}.name()).ok()) {
            data.arch.suffix = 'a';
        }
    }
    return {};
}

}  // namespace sassemu
