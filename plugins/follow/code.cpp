// SPDX-License-Identifier: Apache-2.0
// See code.hpp.
#include "follow/code.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace follow {

namespace {

RowSet rows_of(const sassemu_register_set& s) {
    RowSet rows{};
    for (uint32_t k = 0; k < 4; ++k) {
        rows[k] = s.r[k];
        rows[4 + k] = s.ur[k];
    }
    rows[predicate_rows / 64] |= uint64_t{s.p} | uint64_t{s.up} << 8;
    return rows;
}

// The bits of a register that its only use in the text looks at: R5.H1_H1, R5.B2.
uint32_t looked_at(std::string_view text, uint32_t row) {
    if (row >= uniform_rows) return ~0u;
    const std::string name = "R" + std::to_string(row);
    uint32_t mask = 0;
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
        const size_t end = at + name.size();
        if (at && std::isalnum(static_cast<unsigned char>(text[at - 1]))) continue;
        if (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) continue;
        const std::string_view rest = text.substr(end);
        if (rest.starts_with(".H0"))
            mask |= 0xffff;
        else if (rest.starts_with(".H1"))
            mask |= 0xffff0000;
        else if (rest.starts_with(".B") && rest.size() > 2 && rest[2] >= '0' && rest[2] <= '3')
            mask |= 0xffu << 8 * (rest[2] - '0');
        else if (at > 8)  // not the destination
            return ~0u;
    }
    return mask ? mask : ~0u;
}

// [R5], [R5.64+0x10]: what is address and data at once decides.
bool is_base(std::string_view text, uint32_t row) {
    const std::string name = "[R" + std::to_string(row);
    const size_t at = text.find(name), end = at + name.size();
    return at != text.npos && !std::isdigit(static_cast<unsigned char>(text[end]));
}

}  // namespace

Instruction& Code::add(const sassemu::Plugin& plugin, sassemu_insn insn, Doubt doubt) {
    const sassemu_host& host = plugin.host;
    const uint64_t index = host.insn_code_offset(insn) / 16;
    if (all_.size() <= index) {
        all_.resize(index + 1);
        recent_.resize(2 * (index + 1));
    }
    Instruction& i = all_[index];
    i = {};
    i.insn = insn;
    i.effect = plugin.effect(insn);
    sassemu_register_set sets[2] = {};
    for (auto& s : sets) s.size = sizeof s;
    host.insn_register_sets(insn, &sets[0], &sets[1]);
    i.reads = rows_of(sets[0]);
    i.writes = rows_of(sets[1]);
    const std::string_view text = host.insn_text(insn), name = host.insn_opcode(insn),
                           opcode = name.substr(0, name.find('.'));
    if (text.starts_with('@')) {
        const size_t p = text.find('P');
        const bool uniform = text[p - 1] == 'U';
        i.guard_inverted = text[1] == '!';
        if (text[p + 1] != 'T')
            i.guard = (uniform ? uniform_predicate_rows : predicate_rows) +
                      static_cast<uint32_t>(text[p + 1] - '0');
    }
    std::vector<sassemu_operand>& sources = i.operands;
    sassemu_operand destination{};
    for (uint32_t k = 0; k < host.insn_operands(insn); ++k) {
        const sassemu_operand o = plugin.operand(insn, k);
        if (!o.is_destination)
            sources.push_back(o);
        else if (o.kind == SASSEMU_OPERAND_REGISTER)
            destination = o;
        if (o.is_destination) i.named.push_back(row_of(o));
        if (o.kind == SASSEMU_OPERAND_CONSTANT) i.table = o.bank;
    }
    const bool wgmma = opcode.ends_with("GMMA");
    // What decides wherever it is executed.
    const uint8_t kind = i.effect.kind;
    const bool memory = kind >= SASSEMU_EFFECT_LOAD && kind <= SASSEMU_EFFECT_REDUCE;
    i.meets = opcode == "WARPSYNC";
    if (i.effect.space == SASSEMU_TENSOR_MEMORY) {
        i.reads_tensor = kind == SASSEMU_EFFECT_LOAD;
        i.writes_tensor = kind == SASSEMU_EFFECT_STORE || kind == SASSEMU_EFFECT_ASYNC;
    }
    i.guards_much = kind != SASSEMU_EFFECT_NONE;
    i.by_values = doubt == Doubt::values && goes_by_values(plugin, insn);
    if (memory) {
        i.transfer = Transfer::memory;
        i.control = i.reads;
        // Of coordinates the description gives the most registers that there may be: the first of
        // each operand is looked at.
        if (i.effect.space == SASSEMU_TEXTURE || i.effect.space == SASSEMU_SURFACE) {
            std::fill_n(i.control.begin(), 4, 0);
            for (const sassemu_operand& o : sources)
                if ((o.kind == SASSEMU_OPERAND_REGISTER || o.kind == SASSEMU_OPERAND_MEMORY) &&
                    has(i.reads, o.index))
                    follow::add(i.control, o.index);
        }
        const uint32_t words = std::max(1, i.effect.bytes / 4);
        // Registers that are no part of an address are data.
        if (kind != SASSEMU_EFFECT_LOAD)
            for (const sassemu_operand& o : sources)
                if (o.kind == SASSEMU_OPERAND_REGISTER && o.index != SASSEMU_RZ)
                    for (uint32_t r = o.index; r < o.index + (i.effect.bytes ? words : 4); ++r)
                        if (has(i.reads, r) && !is_base(text, r))
                            i.control[r / 64] &= ~(uint64_t{1} << r % 64);
    } else if (kind == SASSEMU_EFFECT_ASYNC) {
        each_row(i.reads, [&](uint32_t row) {
            if (row >= uniform_rows || i.effect.action == SASSEMU_ACTION_COPY)
                follow::add(i.control, row);
        });
    } else if (kind != SASSEMU_EFFECT_NONE) {
        i.control = i.reads;
        // Arrivals that say themselves how many they are have a register that nothing reads.
        if (text.find(".ACT0") != text.npos || text.find(".A1T0") != text.npos)
            for (const sassemu_operand& o : sources)
                if (o.kind == SASSEMU_OPERAND_UNIFORM_REGISTER) {
                    const uint32_t row = uniform_rows + (o.index & 255);
                    i.control[row / 64] &= ~(uint64_t{1} << row % 64);
                }
    }
    // Whether something is loaded nobody sees, where what it is loaded to is followed.
    if (i.guard != no_row && doubt == Doubt::values && kind == SASSEMU_EFFECT_LOAD)
        i.control[i.guard / 64] &= ~(uint64_t{1} << i.guard % 64);
    else if (i.guards_much && i.guard != no_row)
        follow::add(i.control, i.guard);
    // Whether a product of wgmma is added to what was there, a predicate says, whose value is not
    // known here.
    const bool may_add =
        doubt == Doubt::clears && wgmma &&
        std::any_of(sources.begin(), sources.end(), [](const sassemu_operand& o) {
            return o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE && o.index != SASSEMU_PT;
        });
    each_row(i.reads, [&](uint32_t row) {
        if (has(i.control, row) || row == i.guard || (may_add && has(i.writes, row))) return;
        i.data.push_back(static_cast<uint16_t>(row));
        i.masks.push_back(looked_at(text, row));
    });
    each_row(i.writes, [&](uint32_t row) { i.results.push_back(static_cast<uint16_t>(row)); });
    if (memory) {
        find_form(i, name, text, &destination, doubt);
        return i;
    }
    const bool moves = is_any(opcode, {"MOV", "UMOV"}) || text.find("IMAD.MOV") != text.npos;
    if (moves && i.data.size() == i.results.size()) i.transfer = Transfer::copy;
    if (is_any(opcode, {"SEL", "FSEL", "USEL", "SEL64", "FSEL64"})) i.transfer = Transfer::select;
    if (is_any(opcode, {"VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX"}))
        i.transfer = Transfer::gather;
    if (opcode == "SHFL") i.transfer = Transfer::shuffle;
    if (is_any(opcode, {"R2UR", "R2UR64"})) i.transfer = Transfer::first;
    // A warp's rows of the result are made of its lanes' rows of A.
    if (wgmma && doubt == Doubt::marks) i.transfer = Transfer::gather;
    const auto take = [&](uint32_t to, const sassemu_operand& o) {
        Instruction::Source& s = i.source[to];
        s = {};
        if (o.kind == SASSEMU_OPERAND_REGISTER && o.index != SASSEMU_RZ)
            s.row = o.index;
        else if (o.kind == SASSEMU_OPERAND_UNIFORM_REGISTER && has(i.reads, uniform_rows + o.index))
            s.row = uniform_rows + o.index;
        else if (o.kind != SASSEMU_OPERAND_CONSTANT)
            s.known = true;
        if (o.kind == SASSEMU_OPERAND_IMMEDIATE) s.value = static_cast<uint32_t>(o.value);
        if (o.inverted) s.value = ~s.value;
        return s.row != no_row || s.known || o.kind == SASSEMU_OPERAND_CONSTANT;
    };
    // One result: bits, or whether any is set.
    const bool joined = sources.size() > 4 && row_of(sources[4]) != no_row;
    if (is_any(opcode, {"LOP3", "ULOP3"}) && sources.size() >= 4 && i.results.size() == 1 &&
        !joined && sources[3].kind == SASSEMU_OPERAND_IMMEDIATE && take(0, sources[0]) &&
        take(1, sources[1]) && take(2, sources[2])) {
        i.transfer = Transfer::logic;
        i.table = static_cast<uint32_t>(sources[3].value);
    }
    if (is_any(opcode, {"PRMT", "UPRMT"}) && text.find("PRMT ") != text.npos &&
        sources.size() >= 3 && sources[1].kind == SASSEMU_OPERAND_IMMEDIATE &&
        take(0, sources[0]) && take(1, sources[2])) {
        i.transfer = Transfer::permute;
        i.table = static_cast<uint32_t>(sources[1].value);
    }
    if (i.transfer == Transfer::shuffle && sources.size() >= 3 &&
        sources[1].kind == SASSEMU_OPERAND_IMMEDIATE &&
        sources[2].kind == SASSEMU_OPERAND_IMMEDIATE && sources[2].value % 256 == 0x1f) {
        const uint32_t mode = text.find(".UP") != text.npos     ? 1
                              : text.find(".DOWN") != text.npos ? 2
                              : text.find(".BFLY") != text.npos ? 3
                                                                : 0;
        i.shuffle = mode | (static_cast<uint32_t>(sources[1].value) & 31) << 8;
    }
    find_form(i, name, text, &destination, doubt);
    return i;
}

Run& Code::find(uint64_t key, uint32_t first, uint32_t count, bool executed) {
    const auto [at, fresh] = runs_.try_emplace(key);
    Run& run = at->second;
    if (!fresh) return run;
    for (uint32_t k = first; k < first + count; ++k) {
        const Instruction& i = all_[k];
        if (i.guard != no_row && !has(run.writes, i.guard)) follow::add(run.exposed, i.guard);
        for (size_t w = 0; w < run.results.size(); ++w) run.results[w] |= i.writes[w];
        if (!executed) continue;
        run.makes |= i.makes != unnamed;
        run.reads_tensor |= i.reads_tensor;
        for (size_t w = 0; w < run.exposed.size(); ++w) {
            run.exposed[w] |= i.reads[w] & ~run.writes[w];
            run.writes[w] |= i.writes[w];
        }
    }
    return run;
}

}  // namespace follow
