// SPDX-License-Identifier: Apache-2.0
// See columns.hpp.
#include "columns/columns.hpp"

namespace columns {

std::string range(uint32_t granules) {
    const auto first = static_cast<uint32_t>(std::countr_zero(granules));
    const auto count = static_cast<uint32_t>(std::countr_one(granules >> first));
    return "columns " + std::to_string(first * columns_of_granule) + " to " +
           std::to_string((first + count) * columns_of_granule - 1) + " of tensor memory";
}

std::vector<uint32_t> operands(const sassemu::Plugin& plugin, sassemu_warp warp,
                               sassemu_insn insn) {
    std::vector<uint32_t> out;
    for (uint32_t n = 0; n < plugin.host.insn_operands(insn); ++n) {
        const sassemu_operand o = plugin.operand(insn, n);
        if (o.kind != SASSEMU_OPERAND_UNIFORM_REGISTER || o.is_destination) continue;
        const uint32_t* const at = plugin.host.uniform(warp, o.index);
        out.push_back(at ? *at : 0);
    }
    return out;
}

Change::Change(const sassemu::Plugin& plugin, sassemu_warp warp, sassemu_insn insn,
               const std::vector<uint32_t>& operands) {
    const std::string_view text = plugin.host.insn_text(insn);
    const auto says = [&](std::string_view word) { return text.find(word) != text.npos; };
    uint32_t result = 0;
    bool done = true;  // found, swapped
    for (uint32_t n = 0; n < plugin.host.insn_operands(insn); ++n) {
        const sassemu_operand o = plugin.operand(insn, n);
        if (!o.is_destination) continue;
        if (o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE)
            done = plugin.host.predicate(warp, 8 + o.index) & 1;
        if (const uint32_t* const at = o.kind == SASSEMU_OPERAND_UNIFORM_REGISTER
                                           ? plugin.host.uniform(warp, o.index)
                                           : nullptr)
            result = *at;
    }
    if (!done || operands.empty()) return;
    pair_ = says(".2CTA");
    if (says(".FIND_AND_SET")) set_ = ((1u << operands[0]) - 1) << result & all;
    if (says(".OR")) set_ = operands[0] & all;
    if (says(".AND")) kept_ = operands[0] & all, frees_ = ~operands[0] & all;
    if (says(".CAS")) kept_ = 0, set_ = operands.back() & all;
}

}  // namespace columns
