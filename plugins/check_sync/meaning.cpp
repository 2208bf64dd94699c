// SPDX-License-Identifier: Apache-2.0
// Where the value of a load goes: whether a branch behind it depends on it, and whether anything
// reads it. What belongs here: those walks over the code, once per load that is asked about.
#include "meaning.hpp"

#include <bit>
#include <bitset>

#include "code_paths.hpp"

namespace check_sync {

bool Meanings::find_branch(sassemu_insn insn) const {
    const sassemu_host& host = plugin_.host;
    const sassemu_module module = host.insn_module(insn);
    // What depends on it: registers, uniform registers, predicates and uniform predicates.
    std::bitset<256> tainted[4];
    const auto kind_of = [](const sassemu_operand& o) {
        return o.kind == SASSEMU_OPERAND_REGISTER            ? 0
               : o.kind == SASSEMU_OPERAND_UNIFORM_REGISTER  ? 1
               : o.kind == SASSEMU_OPERAND_PREDICATE         ? 2
               : o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE ? 3
                                                             : 4;
    };
    const auto registers = [&](sassemu_insn i, auto&& visit) {  // all words of a wide operand
        uint64_t read[4], written[4];
        host.insn_registers(i, read, written);
        for (uint32_t r = 0; r < 255; ++r)
            visit(r, read[r / 64] >> r % 64 & 1, written[r / 64] >> r % 64 & 1);
    };
    registers(insn, [&](uint32_t r, bool, bool written) { tainted[0][r] = written; });
    uint64_t at = host.insn_code_offset(insn);
    const std::string_view function = host.insn_function(insn);
    for (int n = 0; n < 256; ++n) {
        at += 16;
        const sassemu_insn i =
            at < host.module_code_bytes(module) ? host.module_insn(module, at) : nullptr;
        if (!i || host.insn_function(i) != function) return false;
        const std::string_view text = host.insn_text(i);
        bool depends = false;
        const bool guarded = text.starts_with('@');
        if (guarded) {
            const size_t p = text.find('P');
            const bool uniform = p && text[p - 1] == 'U';
            depends = p + 1 < text.size() && tainted[2 + uniform][(text[p + 1] - '0') & 7];
        }
        registers(i, [&](uint32_t r, bool read, bool) { depends |= read && tainted[0][r]; });
        const uint32_t operands = host.insn_operands(i);
        for (uint32_t k = 0; k < operands; ++k) {
            sassemu_operand o{};
            o.size = sizeof o;
            if (host.insn_operand(i, k, &o)) continue;
            if (o.kind == SASSEMU_OPERAND_MEMORY)
                depends |= o.has_uniform && tainted[1][o.uniform & 255];
            else if (const int kind = kind_of(o); kind < 4 && !o.is_destination)
                depends |= tainted[kind][o.index & 255];
        }
        const sassemu_effect e = plugin_.effect(i);
        if (e.kind == SASSEMU_EFFECT_CONTROL) {
            if (depends) return true;
            if (!guarded && e.action != SASSEMU_ACTION_BRANCH) return false;
            continue;
        }
        if (!depends && guarded) continue;
        registers(i, [&](uint32_t r, bool, bool written) {
            if (written) tainted[0][r] = depends;
        });
        for (uint32_t k = 0; k < operands; ++k) {
            sassemu_operand o{};
            o.size = sizeof o;
            if (host.insn_operand(i, k, &o) || !o.is_destination) continue;
            if (const int kind = kind_of(o); kind < 4) tainted[kind][o.index & 255] = depends;
        }
        for (auto& t : tainted) t[255] = false;
        tainted[2][7] = tainted[3][7] = false;
        if (tainted[0].none() && tainted[1].none() && tainted[2].none() && tainted[3].none())
            return false;
    }
    return false;
}

// Compilers join loads of neighbours, and what lies between them is loaded along, into registers
// that nobody reads.
uint32_t Meanings::find_dropped(sassemu_insn insn) const {
    uint64_t read[4], written[4];
    plugin_.host.insn_registers(insn, read, written);
    std::vector<uint32_t> words;
    for (uint32_t r = 0; r < 255; ++r)
        if (written[r / 64] >> r % 64 & 1) words.push_back(r);
    uint32_t dropped = 0;
    for (uint32_t k = 0; words.size() > 1 && k < words.size(); ++k)
        dropped |= uint32_t{!is_read_behind(insn, words[k])} << k;
    // All of them: the load itself is what was wanted.
    return dropped + 1 == 1u << words.size() ? 0 : dropped;
}

// Whether the value that `insn` leaves in a register may be read. BSYNC goes on behind itself,
// where compilers put the target of its BSSY; what leaves the function may read all.
bool Meanings::is_read_behind(sassemu_insn insn, uint32_t r) const {
    const sassemu_host& host = plugin_.host;
    const sassemu_module module = host.insn_module(insn);
    const std::string_view function = host.insn_function(insn);
    const uint64_t start = section_of(host, insn);
    CodePaths paths(host.insn_code_offset(insn) + 16);
    for (uint64_t at; paths.next(at);) {
        const sassemu_insn i = instruction_at(host, module, at);
        if (!i || host.insn_function(i) != function) return true;
        uint64_t read[4], written[4];
        host.insn_registers(i, read, written);
        if (read[r / 64] >> r % 64 & 1) return true;
        const bool guarded = std::string_view(host.insn_text(i)).starts_with('@');
        if (written[r / 64] >> r % 64 & 1 && !guarded) continue;
        bool goes_on = true;
        if (const sassemu_effect e = plugin_.effect(i); e.kind == SASSEMU_EFFECT_CONTROL) {
            if (e.action == SASSEMU_ACTION_CALL || e.action == SASSEMU_ACTION_RETURN) return true;
            goes_on = guarded || e.action == SASSEMU_ACTION_ALLOCATE;
            bool has_target = e.action != SASSEMU_ACTION_BRANCH;
            for (uint32_t k = 0; k < host.insn_operands(i) && !has_target; ++k) {
                sassemu_operand o{};
                o.size = sizeof o;
                if (host.insn_operand(i, k, &o)) continue;
                const bool predicate = o.kind == SASSEMU_OPERAND_PREDICATE ||
                                       o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE;
                goes_on |= o.kind != SASSEMU_OPERAND_IMMEDIATE &&
                           !(predicate && o.index == SASSEMU_PT && !o.inverted);
                if (o.kind != SASSEMU_OPERAND_IMMEDIATE) continue;
                paths.add(start + static_cast<uint64_t>(o.value));
                has_target = true;
            }
            if (!has_target) return true;
        }
        if (goes_on) paths.add(at + 16);
    }
    return false;
}

}  // namespace check_sync
