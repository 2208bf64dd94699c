// SPDX-License-Identifier: Apache-2.0
// Which columns of tensor memory a CTA has allocated, and by which instruction: those that it
// leaves behind when it ends, and those that are freed without being allocated (PTX ISA,
// "tcgen05.alloc"). Accesses to what is not allocated end the launch by themselves.
#include <bit>

#include "checker.hpp"

namespace check_mem {

namespace {

constexpr uint32_t columns = 32;  // of a granule

std::string range(uint32_t granules) {
    const auto first = static_cast<uint32_t>(std::countr_zero(granules));
    const auto count = static_cast<uint32_t>(std::countr_one(granules >> first));
    return "columns " + std::to_string(first * columns) + " to " +
           std::to_string((first + count) * columns - 1) + " of tensor memory";
}

}  // namespace

bool Checker::allocates_tensor_memory(sassemu_insn insn) const {
    const sassemu_effect e = effect(insn);
    return e.kind == SASSEMU_EFFECT_CONTROL && e.action == SASSEMU_ACTION_ALLOCATE &&
           e.space == SASSEMU_TENSOR_MEMORY;
}

// The result may take an operand's place.
void Checker::before_granules(Cta& c, sassemu_warp handle, uint32_t warp, sassemu_insn insn) {
    Watched::OfWarp& w = watched(c).warps[warp];
    w.granules.clear();
    for (uint32_t n = 0; n < host.insn_operands(insn); ++n) {
        sassemu_operand o{};
        o.size = sizeof o;
        host.insn_operand(insn, n, &o);
        const uint32_t* const at = o.kind == SASSEMU_OPERAND_UNIFORM_REGISTER && !o.is_destination
                                       ? host.uniform(handle, o.index)
                                       : nullptr;
        if (o.kind == SASSEMU_OPERAND_UNIFORM_REGISTER && !o.is_destination)
            w.granules.push_back(at ? *at : 0);
    }
}

void Checker::after_granules(Cta& c, sassemu_warp handle, uint32_t warp, sassemu_insn insn,
                             uint32_t lanes) {
    const std::vector<uint32_t>& operands = watched(c).warps[warp].granules;
    if (operands.empty()) return;
    const std::string_view text = host.insn_text(insn);
    const auto says = [&](std::string_view word) { return text.find(word) != text.npos; };
    uint32_t result = 0;
    bool done = true;
    for (uint32_t n = 0; n < host.insn_operands(insn); ++n) {
        sassemu_operand o{};
        o.size = sizeof o;
        host.insn_operand(insn, n, &o);
        if (!o.is_destination) continue;
        if (o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE)
            done = host.predicate(handle, 8 + o.index) & 1;
        if (const uint32_t* const at = o.kind == SASSEMU_OPERAND_UNIFORM_REGISTER
                                           ? host.uniform(handle, o.index)
                                           : nullptr)
            result = *at;
    }
    if (!done) return;
    const std::string thread = thread_text(c, warp, static_cast<uint32_t>(std::countr_zero(lanes)));
    const auto change = [&](Watched& of) {
        uint32_t after = of.granules;
        if (says(".FIND_AND_SET")) after |= ((1u << operands[0]) - 1) << result;
        if (says(".OR")) after |= operands[0];
        if (says(".AND")) after &= operands[0];
        if (says(".CAS")) after = operands.back();
        after &= 0xffff;
        // What the complement of an AND frees is the compiler's code for tcgen05.dealloc.
        const uint32_t freed = says(".AND") ? ~operands[0] & 0xffff : 0;
        if (const uint32_t wrong = freed & ~of.granules)
            if (Finding* const f = found(Kind::invalid_free, insn)) {
                f->thread = thread;
                f->what = range(wrong) + ", which are not allocated";
            }
        for (uint32_t fresh = after & ~of.granules; fresh; fresh &= fresh - 1)
            of.allocated[std::countr_zero(fresh)] = {insn, thread};
        of.granules = after;
    };
    change(watched(c));
    if (!says(".2CTA")) return;
    const auto peer = ctas_.find(host.cta_of_rank(c.handle, c.rank ^ 1));
    if (peer != ctas_.end()) change(watched(peer->second));
}

void Checker::left_granules(Cta& in) {
    const Watched& c = watched(in);
    for (uint32_t left = c.granules; left;) {
        const auto first = static_cast<uint32_t>(std::countr_zero(left));
        const Watched::Granule& by = c.allocated[first];
        uint32_t alike = 0;
        for (uint32_t k = first; k < 16 && left >> k & 1 && c.allocated[k].insn == by.insn; ++k)
            alike |= 1u << k;
        left &= ~alike;
        if (Finding* const f = found(Kind::leak, by.insn)) {
            f->thread = by.thread;
            f->what = range(alike) + " are allocated when the CTA ends";
        }
    }
}

}  // namespace check_mem
