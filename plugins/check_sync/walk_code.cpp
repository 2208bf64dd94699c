// SPDX-License-Identifier: Apache-2.0
// What the walk of walk.cpp knows of an instruction, and of functions that are called.
#include "walk.hpp"

#include <algorithm>
#include <initializer_list>

namespace check_sync {

namespace {

bool is(std::string_view word, std::initializer_list<std::string_view> all) {
    return std::find(all.begin(), all.end(), word) != all.end();
}

std::vector<std::string_view> parts_of(std::string_view name) {  // ISETP.LT.AND
    std::vector<std::string_view> parts;
    for (size_t at = 0; at <= name.size();) {
        const size_t dot = std::min(name.find('.', at), name.size());
        parts.push_back(name.substr(at, dot - at));
        at = dot + 1;
    }
    return parts;
}

}  // namespace

const Walks::Op& Walks::op(sassemu_insn insn) {
    const auto known = ops_.find(insn);
    return known != ops_.end() ? known->second : ops_.emplace(insn, read(insn)).first->second;
}

Walks::Op Walks::read(sassemu_insn insn) const {
    const sassemu_host& host = plugin_.host;
    Op o;
    sassemu_register_set sets[2]{};
    for (auto& set : sets) set.size = sizeof set;
    host.insn_register_sets(insn, &sets[0], &sets[1]);
    std::string_view text = host.insn_text(insn);
    if (text.starts_with('@')) {
        const size_t p = text.find('P');
        o.guard_inverted = text[1] == '!';
        if (text[p + 1] != 'T') o.guard = text[p + 1] - '0' + (text[p - 1] == 'U' ? 8 : 0);
        if (text[p + 1] == 'T' && o.guard_inverted) o.does = Does::bails;
        text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    }
    for (const bool writes : {false, true}) {
        auto& all = writes ? o.results : o.reads;
        for (uint32_t r = 0; r < 255; ++r) {
            if (sets[writes].r[r / 64] >> r % 64 & 1) all.push_back(r);
            if (sets[writes].ur[r / 64] >> r % 64 & 1) all.push_back(uniform_rows + r);
        }
        for (uint32_t p = 0; p < 16; ++p) {
            const uint32_t bits = uint32_t{sets[writes].p} | uint32_t{sets[writes].up} << 8;
            if (bits >> p & 1 && (writes || static_cast<int>(p) != o.guard))
                all.push_back(predicate_rows + p);
        }
    }
    for (uint32_t k = 0; k < host.insn_operands(insn); ++k) {
        const sassemu_operand operand = plugin_.operand(insn, k);
        if (!operand.is_destination) {
            o.sources.push_back(operand);
            continue;
        }
        uint32_t row = no_row;
        if (operand.kind == SASSEMU_OPERAND_REGISTER && operand.index != SASSEMU_RZ)
            row = operand.index;
        if (operand.kind == SASSEMU_OPERAND_PREDICATE && operand.index != SASSEMU_PT)
            row = predicate_rows + operand.index;
        if (operand.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE && operand.index != SASSEMU_PT)
            row = predicate_rows + 8 + operand.index;
        if (operand.kind == SASSEMU_OPERAND_UNIFORM_REGISTER)
            row = uniform_rows + (operand.index & 255);
        o.named.push_back(row);
    }
    const sassemu_effect e = plugin_.effect(insn);
    o.has_effect = e.kind != SASSEMU_EFFECT_NONE;
    const std::string_view name = text.substr(0, text.find_first_of(" ;"));
    if (e.kind == SASSEMU_EFFECT_CONTROL) {
        const uint64_t start = host.insn_code_offset(insn) - host.insn_pc(insn);
        if (e.action == SASSEMU_ACTION_BRANCH && (name == "BRA" || name.starts_with("BRA."))) {
            o.does = Does::branches;
            o.forks = name != "BRA" && name != "BRA.U";
            for (const sassemu_operand& operand : o.sources) {
                if (operand.kind == SASSEMU_OPERAND_IMMEDIATE) {
                    o.target = start + static_cast<uint64_t>(operand.value);
                    o.has_target = true;
                } else if (operand.kind != SASSEMU_OPERAND_PREDICATE ||
                           operand.index != SASSEMU_PT || operand.inverted) {
                    o.forks = true;
                }
            }
        } else if (name == "EXIT") {
            o.does = Does::ends;
        } else if (name.starts_with("CALL.REL.NOINC") || name.starts_with("RET.REL.NODEC")) {
            const bool calls = e.action == SASSEMU_ACTION_CALL;
            o.does = calls ? Does::calls : Does::returns;
            for (const sassemu_operand& operand : o.sources)
                if (operand.kind == SASSEMU_OPERAND_IMMEDIATE) {
                    o.target = start + static_cast<uint64_t>(operand.value);
                    o.has_target = host.module_insn(host.insn_module(insn), o.target) != nullptr;
                } else if (operand.kind == SASSEMU_OPERAND_PREDICATE
                               ? operand.index != SASSEMU_PT || operand.inverted
                               : calls) {
                    o.does = Does::bails;
                }
            if (!o.has_target || (!calls && (o.reads.size() != 2 || o.reads[1] >= uniform_rows)))
                o.does = Does::bails;
        } else if (e.action != SASSEMU_ACTION_ALLOCATE) {
            o.does = Does::bails;
        }
        return o;
    }
    // Which predicates these read and write, their mask says.
    const auto masked = [&](std::vector<uint32_t>& to, uint64_t mask) {
        for (uint32_t p = 0; p < 7; ++p)
            if (mask >> p & 1) to.push_back(predicate_rows + p);
    };
    if (name.starts_with("UR2UP") || name.starts_with("UP2UR")) o.does = Does::bails;
    const size_t byte = text.find(".B");
    sassemu_operand shift{};
    shift.kind = SASSEMU_OPERAND_IMMEDIATE;
    shift.value = byte == text.npos ? 0 : 8 * (text[byte + 2] - '0');
    if (name.starts_with("P2R") && o.does != Does::bails) {
        const bool given = o.sources.size() == 3 && o.sources[1].kind == SASSEMU_OPERAND_REGISTER &&
                           o.sources[2].kind == SASSEMU_OPERAND_IMMEDIATE;
        masked(o.reads, given ? static_cast<uint64_t>(o.sources[2].value) : ~uint64_t{0});
        if (!given) return o;
        o.sources = {o.sources[1], o.sources[2], shift};
        o.form = Form::predicates;
        return o;
    }
    if (name == "R2P" && o.does != Does::bails) {
        const bool given = o.sources.size() == 3 && o.sources[1].kind == SASSEMU_OPERAND_REGISTER &&
                           o.sources[2].kind == SASSEMU_OPERAND_IMMEDIATE;
        masked(o.results, given ? static_cast<uint64_t>(o.sources[2].value) : ~uint64_t{0});
        if (!given) return o;
        o.sources = {o.sources[1], shift, o.sources[1]};
        o.form = Form::shift;
        o.right = true;
        o.is_signed = false;
        return o;
    }
    if (o.does != Does::bails) classify(o, name);
    return o;
}

// The forms that are computed. What is none of them passes the value on if it stays in its lane.
void Walks::classify(Op& o, std::string_view name) const {
    const std::vector<std::string_view> parts = parts_of(name);
    const std::string_view opcode = parts[0];
    const auto only = [&](std::initializer_list<std::string_view> allowed) {
        return std::all_of(parts.begin() + 1, parts.end(),
                           [&](std::string_view part) { return is(part, allowed); });
    };
    const auto says = [&](std::string_view part) {
        return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
    };
    const size_t n = o.sources.size();
    const auto predicates = static_cast<size_t>(
        std::count_if(o.sources.begin(), o.sources.end(), [](const sassemu_operand& x) {
            return x.kind == SASSEMU_OPERAND_PREDICATE ||
                   x.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE;
        }));
    o.is_signed = !says("U32");
    // An asynchronous product may change registers later; what waits for it is met before they are
    // used.
    if (opcode == "WARPGROUP" || opcode.ends_with("GMMA") || opcode.starts_with("UTC") ||
        opcode == "LDTM") {
        o.does = Does::bails;
        return;
    }
    if (o.has_effect) return;
    if (opcode == "SEL" && only({}) && n == 3 && predicates == 1) {
        o.does = Does::selects;
    } else if (is(opcode, {"ISETP", "FSETP", "DSETP"}) && n >= 3 && predicates >= 1) {
        o.does = Does::compares;
        for (const std::string_view part : parts) {
            if (is(part, {"AND", "OR", "XOR"}))
                o.joins = part == "AND" ? '&' : part == "OR" ? '|' : '^';
            if (opcode != "ISETP" ||
                !only({"LT", "LE", "EQ", "NE", "GE", "GT", "U32", "S32", "AND", "OR", "XOR"}))
                continue;
            if (is(part, {"LT", "LE", "EQ", "NE", "GE", "GT"}))
                o.compares = part == "LT"   ? 'L'
                             : part == "LE" ? 'l'
                             : part == "EQ" ? 'E'
                             : part == "NE" ? 'N'
                             : part == "GE" ? 'g'
                                            : 'G';
        }
        if (!o.joins) o.does = Does::computes;
    } else if (opcode == "PLOP3" && n == 5 && predicates == 3 &&
               o.sources[4].kind == SASSEMU_OPERAND_IMMEDIATE) {
        o.does = Does::combines;
    } else if (opcode == "MOV" && predicates == 0 &&
               (n == 1 || (n == 2 && o.sources[1].kind == SASSEMU_OPERAND_IMMEDIATE &&
                           o.sources[1].value == 0xf))) {  // all bytes
        o.sources.resize(1);
        o.form = Form::add;
    } else if (predicates == 0 && is(opcode, {"IADD3", "IADD", "VIADD"}) && only({}) &&
               (n == 2 || n == 3)) {
        o.form = Form::add;
    } else if (predicates == 0 && opcode == "IMAD" && n == 3 &&
               only({"MOV", "IADD", "SHL", "U32"})) {
        o.form = Form::multiply;
    } else if (predicates == 0 && opcode == "LEA" && n == 3 && only({})) {
        o.form = Form::shift_add;
    } else if (predicates == 0 && opcode == "SHF" && n == 3 &&
               ((says("L") && only({"L", "U32"}) && o.sources[2].index == SASSEMU_RZ) ||
                (says("R") && says("HI") && only({"R", "U32", "S32", "HI"}) &&
                 o.sources[0].index == SASSEMU_RZ))) {
        o.form = Form::shift;
        o.right = says("R");
    } else if (predicates == 1 && n == 3 && is(opcode, {"IMNMX", "VIMNMX"}) &&
               only({"U32", "S32"})) {
        o.form = Form::minmax;
    } else if (predicates == 1 && n == 4 && opcode == "VIADDMNMX" && only({"U32"})) {
        o.form = Form::add_minmax;
    } else if (predicates == 1 && n == 5 && opcode == "LOP3" && only({"LUT"}) &&
               o.sources[3].kind == SASSEMU_OPERAND_IMMEDIATE) {
        o.form = Form::logic;
    } else if (!is(opcode, {"MOV",   "IMAD",   "IADD3", "IADD",  "VIADD", "LEA",   "SHF",
                            "IMNMX", "VIMNMX", "LOP3",  "PRMT",  "SEL",   "FSEL",  "FADD",
                            "FMUL",  "FFMA",   "FMNMX", "DADD",  "DMUL",  "DFMA",  "ISETP",
                            "FSETP", "DSETP",  "PLOP3", "I2F",   "I2I",   "F2F",   "F2I",
                            "I2FP",  "SGXT",   "BMSK",  "POPC",  "FLO",   "LOP",   "SHL",
                            "SHR",   "IABS",   "MUFU",  "HADD2", "HMUL2", "HFMA2", "VIADDMNMX"})) {
        o.does = Does::crosses;  // perhaps
    }
}

}  // namespace check_sync
