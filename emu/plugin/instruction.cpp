// SPDX-License-Identifier: Apache-2.0
// What plugins may ask of modules and instructions: the cold half of the host table. Nothing here
// is called unless a plugin asks.
#include "emu/plugin/instruction.hpp"

#include <algorithm>
#include <cstring>

#include "emu/evidence/evidence.hpp"
#include "emu/gpu.hpp"
#include "emu/memory/event.hpp"
#include "emu/module/line_table.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/program/code_image.hpp"
#include "sassdec/sassdec.h"

namespace sassemu {

bool decode(const HookedInstruction& i, sassdec_insn& out) {
    const CodeImage& image = *i.image;
    uint64_t word[2];
    std::memcpy(word, image.words().data() + uint64_t{i.index} * 16, 16);
    return sassdec_decode(sassdec_arch_from_name(image.options().arch.c_str()), word,
                          image.section_offset(uint64_t{i.index} * 16), &out) == SASSDEC_OK;
}

namespace {

InstructionText* make_text(const HookedInstruction& i) {
    auto* t = new InstructionText;
    const CodeImage& image = *i.image;
    const uint64_t offset = uint64_t{i.index} * 16;
    sassdec_insn decoded;
    if (decode(i, decoded)) t->opcode = sassdec_mnemonic(&decoded);
    t->text = image.sass(offset);
    t->function = image.function(offset);
    t->place = image.source(offset);
    const Module* module = image.module();
    const auto info = module ? module->lines().find(offset) : std::nullopt;
    if (!info) return t;
    const auto add = [&](const SourceLocation& at) {
        t->sources.push_back({std::string(at.file), std::string(at.function), at.line, at.column});
    };
    if (info->source) add(*info->source);
    for (const SourceLocation& at : info->inlined_at) add(at);
    t->ptx_line = info->ptx_line;
    t->ptx = info->ptx_text;
    if (info->ptx_line && !info->ptx_text.empty())
        if (auto intent = read_intent(info->ptx_text)) {
            t->intent = std::move(*intent);
            t->has_intent = true;
        }
    return t;
}

uint8_t operand_kind(const sassdec_operand& o) {
    switch (o.kind) {
        case SASSDEC_OP_REG:
            return o.file == SASSDEC_UR ? SASSEMU_OPERAND_UNIFORM_REGISTER
                                        : SASSEMU_OPERAND_REGISTER;
        case SASSDEC_OP_PRED:
            return o.file == SASSDEC_UP ? SASSEMU_OPERAND_UNIFORM_PREDICATE
                                        : SASSEMU_OPERAND_PREDICATE;
        case SASSDEC_OP_IMM:
        case SASSDEC_OP_FIMM:
        case SASSDEC_OP_LABEL:
            return SASSEMU_OPERAND_IMMEDIATE;
        case SASSDEC_OP_CONST:
            return SASSEMU_OPERAND_CONSTANT;
        case SASSDEC_OP_MEM:
            return SASSEMU_OPERAND_MEMORY;
        default:
            return SASSEMU_OPERAND_OTHER;
    }
}

const char* module_name(sassemu_module m) {
    const Module* module = image(m).module();
    return module ? module->file_name().c_str() : "";
}
const char* module_arch(sassemu_module m) { return image(m).options().arch.c_str(); }
uint32_t module_has_ptx(sassemu_module m) {
    const Module* module = image(m).module();
    return module && module->lines().has_ptx();
}
uint64_t module_code_bytes(sassemu_module m) { return image(m).words().size(); }
sassemu_insn module_insn(sassemu_module m, uint64_t offset) {
    const CodeImage& code = image(m);
    if (offset % 16 || offset + 16 > code.words().size()) return nullptr;
    return handle(first(m) + offset / 16);
}

uint64_t code_offset(sassemu_insn i) { return uint64_t{instruction(i).index} * 16; }
uint64_t pc(sassemu_insn i) { return instruction(i).image->section_offset(code_offset(i)); }
sassemu_module module_of(sassemu_insn i) {
    return module_handle(&instruction(i) - instruction(i).index);
}
const char* function(sassemu_insn i) { return text_of(instruction(i)).function.c_str(); }
const char* opcode(sassemu_insn i) { return text_of(instruction(i)).opcode.c_str(); }
const char* text(sassemu_insn i) { return text_of(instruction(i)).text.c_str(); }
const char* place(sassemu_insn i) { return text_of(instruction(i)).place.c_str(); }
void words(sassemu_insn i, uint64_t word[2]) {
    std::memcpy(word, instruction(i).image->words().data() + code_offset(i), 16);
}
void control(sassemu_insn i, sassemu_control* out) {
    sassdec_insn d;
    sassemu_control c{};
    c.write_barrier = c.read_barrier = 7;
    if (decode(instruction(i), d)) {
        c.stall = d.control.stall;
        c.yield = d.control.yield;
        c.write_barrier = d.control.write_barrier;
        c.read_barrier = d.control.read_barrier;
        c.wait = d.control.wait_mask;
        c.reuse = d.control.reuse;
    }
    give(out, c);
}
uint32_t operands(sassemu_insn i) {
    sassdec_insn d;
    return decode(instruction(i), d) ? d.operand_count : 0;
}
int32_t operand(sassemu_insn i, uint32_t index, sassemu_operand* out) {
    sassdec_insn d;
    if (!decode(instruction(i), d) || index >= d.operand_count) return -1;
    const sassdec_operand& o = d.operand[index];
    sassemu_operand r{};
    r.kind = operand_kind(o);
    r.negated = (o.flags & SASSDEC_NEG) != 0;
    r.absolute = (o.flags & SASSDEC_ABS) != 0;
    r.inverted = (o.flags & SASSDEC_INV) != 0;
    r.is_destination = (o.access & SASSDEC_WRITE) != 0;
    r.has_uniform = (o.flags & SASSDEC_HAS_UREG) != 0;
    r.bank = o.bank;
    r.registers = o.width;
    r.index = o.index;
    r.uniform = o.ureg;
    r.value =
        r.kind == SASSEMU_OPERAND_MEMORY || r.kind == SASSEMU_OPERAND_CONSTANT ? o.offset : o.imm;
    give(out, r);
    return 0;
}
void registers(sassemu_insn i, uint64_t read[4], uint64_t written[4]) {
    sassdec_insn d;
    sassdec_regset r{}, w{};
    if (decode(instruction(i), d)) sassdec_registers(&d, &r, &w);
    std::memcpy(read, r.r, sizeof r.r);
    std::memcpy(written, w.r, sizeof w.r);
}
void register_sets(sassemu_insn i, sassemu_register_set* read, sassemu_register_set* written) {
    sassdec_insn d;
    sassdec_regset sets[2] = {};
    if (decode(instruction(i), d)) sassdec_registers(&d, &sets[0], &sets[1]);
    for (const bool writes : {false, true}) {
        sassemu_register_set r{};
        r.p = sets[writes].p;
        r.up = sets[writes].up;
        std::memcpy(r.r, sets[writes].r, sizeof r.r);
        std::memcpy(r.ur, sets[writes].ur, sizeof r.ur);
        give(writes ? written : read, r);
    }
}
int32_t source(sassemu_insn i, uint32_t depth, sassemu_source* out) {
    const InstructionText& t = text_of(instruction(i));
    if (depth >= t.sources.size()) return -1;
    const auto& s = t.sources[depth];
    sassemu_source r{};
    r.line = s.line;
    r.column = s.column;
    r.file = s.file.c_str();
    r.function = s.function.c_str();
    give(out, r);
    return 0;
}
const char* ptx(sassemu_insn i, uint32_t* line) {
    const InstructionText& t = text_of(instruction(i));
    if (line) *line = t.ptx_line;
    return t.ptx.empty() ? nullptr : t.ptx.c_str();
}
int32_t intent(sassemu_insn i, sassemu_intent* out) {
    const InstructionText& t = text_of(instruction(i));
    if (!t.has_intent) return -1;
    const Intent& n = t.intent;
    sassemu_intent r{};
    r.kind = static_cast<uint8_t>(n.kind);
    r.ordering = static_cast<uint8_t>(n.ordering);
    r.scope = static_cast<uint8_t>(n.scope);
    r.restriction = static_cast<uint8_t>(n.restriction);
    r.from_proxy = static_cast<uint8_t>(n.from_proxy);
    r.to_proxy = static_cast<uint8_t>(n.to_proxy);
    r.both_ways = n.both_ways;
    r.aligned = n.aligned;
    r.spaces = n.spaces;
    r.ptx_line = t.ptx_line;
    r.opcode = n.opcode.c_str();
    r.text = n.line.c_str();
    give(out, r);
    return 0;
}
// The numbers of the ABI are the decoder's, but for the spaces.
static_assert(int(SASSEMU_EFFECT_CONTROL) == SASSDEC_KIND_CONTROL &&
              int(SASSEMU_ACTION_ALLOCATE) == SASSDEC_ACTION_ALLOCATE);

void effect(sassemu_insn i, sassemu_effect* out) {
    sassemu_effect r{};
    r.space = SASSEMU_NO_SPACE;
    sassdec_insn d;
    if (decode(instruction(i), d)) {
        const Event e = event_of(d);
        r.kind = e.kind;
        r.action = e.action;
        r.in_cluster = e.space == SASSDEC_SPACE_CLUSTER;
        if (e.space >= SASSDEC_SPACE_GLOBAL && e.space <= SASSDEC_SPACE_TENSOR)
            r.space = static_cast<uint8_t>(e.space - SASSDEC_SPACE_GLOBAL);
        if (r.in_cluster) r.space = SASSEMU_SHARED;
        r.ordering = e.order;
        r.scope = e.scope;
        r.proxy = e.proxy;
        r.atomic = e.atomic;
        r.bytes = e.bytes;
        r.cache = e.cache;
    }
    give(out, r);
}

static_assert(int(SASSEMU_EVIDENCE_ASSUMED) == int(EvidenceClass::assumed) &&
              int(SASSEMU_EVIDENCE_VECTORS) == int(EvidenceClass::vectors));

void evidence(sassemu_insn i, sassemu_evidence* out) {
    sassdec_insn d;
    const Evidence e = decode(instruction(i), d) ? evidence_of(d) : Evidence{};
    sassemu_evidence r{};
    r.kind = static_cast<uint32_t>(e.kind);
    r.behaviour = e.behaviour;
    r.source = e.source;
    give(out, r);
}

}  // namespace

const InstructionText& text_of(const HookedInstruction& i) {
    InstructionText* t = i.text.load(std::memory_order_acquire);
    if (t) return *t;
    InstructionText* made = make_text(i);
    auto& slot = const_cast<HookedInstruction&>(i).text;
    if (slot.compare_exchange_strong(t, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *t;
}

void add_instruction_functions(sassemu_host& h) {
    h.module_name = module_name;
    h.module_arch = module_arch;
    h.module_has_ptx = module_has_ptx;
    h.module_code_bytes = module_code_bytes;
    h.module_insn = module_insn;
    h.insn_pc = pc;
    h.insn_code_offset = code_offset;
    h.insn_module = module_of;
    h.insn_function = function;
    h.insn_opcode = opcode;
    h.insn_text = text;
    h.insn_words = words;
    h.insn_control = control;
    h.insn_operands = operands;
    h.insn_operand = operand;
    h.insn_registers = registers;
    h.insn_register_sets = register_sets;
    h.insn_source = source;
    h.insn_ptx = ptx;
    h.insn_intent = intent;
    h.insn_effect = effect;
    h.insn_evidence = evidence;
    h.insn_place = place;
}

}  // namespace sassemu
