// SPDX-License-Identifier: Apache-2.0
#include "emu/cli/listing_symbols.hpp"

#include <array>

#include "emu/base/text.hpp"
#include "emu/module/elf.hpp"

namespace sassemu::cli {
namespace {

constexpr uint8_t cuda_object = 13;          // a variable
constexpr uint32_t common_section = 0xfff2;  // SHN_COMMON: the symbol's value is its alignment

// nullptr: types that are not shown.
const char* type_name(uint8_t type) {
    switch (type) {
        case elf::stt_object:
            return "object";
        case elf::stt_func:
            return "function";
        case 10:
            return "\"STT_CUDA_TEXTURE\"";
        case 11:
            return "\"STT_CUDA_SAMPLER\"";
        case 12:
            return "\"STT_CUDA_SURFACE\"";
        case cuda_object:
            return "\"STT_CUDA_OBJECT\"";
        default:
            return nullptr;
    }
}

// "GLOBAL" of "STO_CUDA_GLOBAL": bits [7:5] of st_other.
const char* space_name(uint8_t other) {
    constexpr std::array<const char*, 8> names = {"OBJECT",   "GLOBAL",          "SHARED", "LOCAL",
                                                  "CONSTANT", "RESERVED_SHARED", "",       ""};
    return names[other >> 5U];
}

}  // namespace

const char* visibility_name(uint8_t other) {
    constexpr std::array<const char*, 4> names = {"DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED"};
    return names[other & 3U];
}

std::string undefined_symbols(const Module& module) {
    std::string common, undefined;
    for (const Symbol& symbol : module.symbols()) {
        const char* type = type_name(symbol.type);
        const bool is_common = symbol.section == common_section;
        if ((symbol.section != 0 && !is_common) || symbol.name.empty() || type == nullptr) continue;
        const std::string name = shown(symbol.name);
        std::string& out = is_common ? common : undefined;
        if (is_common) {
            out += "\t.comm\t\t" + name + ", " + std::to_string(symbol.size) + ", " +
                   std::to_string(symbol.value) + "\n";
        }
        out += "\t.type\t\t" + name + ",@" + type + "\n";
        if (symbol.type == cuda_object) {
            out += "\t.other\t\t" + name + ",@\"STO_CUDA_" + space_name(symbol.other) + " STV_" +
                   visibility_name(symbol.other) + "\"\n";
        }
        if (!is_common && symbol.size != 0)
            out += "\t.size\t\t" + name + "," + hex(symbol.size) + "\n";
    }
    const std::string all = common + undefined;
    return all.empty() ? all
                       : "\n//--------------------- SYMBOLS --------------------------\n\n" + all;
}

}  // namespace sassemu::cli
