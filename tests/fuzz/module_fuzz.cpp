// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes -> Module, link, line lookups, descriptions.
// Build: cmake --preset fuzz && cmake --build --preset fuzz
// Run:   module_fuzz -max_len=24000 -max_total_time=600 corpus/ tests/module/data/
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "emu/module/describe.hpp"
#include "emu/module/line_table.hpp"
#include "emu/module/link.hpp"
#include "emu/module/module.hpp"

using namespace sassemu;

namespace {

void exercise(const Module& module) {
    Placement placement;
    placement.code_base = 0x7f0000000000;
    for (std::size_t i = 0; i < module.data_sections().size(); ++i) {
        placement.data_bases.push_back(0x7f1000000000 + (std::uint64_t{i} << 32U));
    }
    placement.undefined = [](const Symbol& symbol) -> Result<std::uint64_t> {
        if (symbol.name.empty()) return make_error(ErrorCode::not_found, "symbol", "no name");
        return 0x100;
    };
    (void)link(module, placement).ok();
    if (describe(module).empty()) __builtin_trap();
    if (describe_json(module).dump().empty()) __builtin_trap();
    for (std::uint64_t at = 0; at < module.code_image_size(); at += 16) {
        (void)module.lines().find(at);
        (void)module.function_at(at);
    }
    for (const auto& kernel : module.kernels()) {
        // Facts the engine relies on. A kernel that uses no register may say 0.
        if (kernel.registers > 256 || kernel.barriers > 16) __builtin_trap();
        if (kernel.code_offset + kernel.code_size > module.code_image_size()) __builtin_trap();
        if (kernel.param_base + kernel.param_size > 65536) __builtin_trap();
        (void)module.constant_bank(2, kernel.name);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes(data, size);
    const auto images = list_images(bytes, "input");
    if (!images.ok() && images.error().message().empty()) __builtin_trap();
    const auto modules = load_all_modules(bytes, "input");
    if (!modules.ok()) {
        if (modules.error().what.empty() || modules.error().where.empty()) __builtin_trap();
        return 0;
    }
    for (const auto& module : *modules) exercise(module);
    return 0;
}
