// SPDX-License-Identifier: Apache-2.0
// See unsupported.hpp. What is executed, the lowering knows: all code is lowered as for a launch.
#include "emu/schedule/unsupported.hpp"

#include <map>
#include <tuple>

#include "emu/module/link.hpp"
#include "emu/program/code_image.hpp"
#include "emu/schedule/driver_functions.hpp"
#include "emu/schedule/level_choice.hpp"

namespace sassemu {
namespace {

// The opcode with its modifiers, without the guard.
std::string opcode_of(const std::string& sass) {
    const size_t begin = sass.starts_with('@') ? sass.find(' ') + 1 : 0;
    return sass.substr(begin, sass.find_first_of(" ;", begin) - begin);
}

}  // namespace

Result<std::vector<Unsupported>> unsupported_code(std::shared_ptr<const Module> module) {
    constexpr uint64_t code = uint64_t{1} << 40, data = uint64_t{1} << 41;  // places for the linker
    Placement placement;
    placement.code_base = code;
    placement.data_bases.assign(module->data_sections().size(), data);
    placement.undefined = [](const Symbol&) -> Result<uint64_t> { return uint64_t{0}; };
    SASSEMU_ASSIGN(LinkedImage linked, link(*module, placement));
    CodeImage::Options options;
    options.arch = module->arch().name();
    options.base_address = code;
    SASSEMU_ASSIGN(options.level, choose_level(HostLevel::automatic));
    CodeImage image(module, std::move(linked.code), {}, options);

    std::vector<Unsupported> all;
    for (const Kernel& kernel : module->kernels())
        for (const uint32_t index : kernel.externs) {
            const auto& symbol = module->symbols()[index];
            if (const auto no = DriverFunctions::refusal(*module, symbol))
                all.push_back({kernel.name, symbol.name, 0, "", no->brief, 1});
        }
    std::map<std::tuple<std::string, std::string, std::string>, size_t> seen;
    for (const CodeSection& section : module->code_sections())
        for (uint64_t at = 0; at < section.bytes.size(); at += 16) {
            const uint64_t offset = section.code_offset + at;
            image.at(code + offset);
            if (!image.is_gap(offset)) continue;
            const std::string sass = image.sass(offset), function = image.function(offset),
                              why = image.rejection(offset);
            const auto [one, is_new] =
                seen.try_emplace({function, opcode_of(sass), why}, all.size());
            if (is_new)
                all.push_back(
                    {function, sass.empty() ? "a word" : sass, at, image.source(offset), why, 0});
            ++all[one->second].count;
        }
    return all;
}

}  // namespace sassemu
