// SPDX-License-Identifier: Apache-2.0
// Questions about a decoded instruction and about architecture names; no decoding and no operand
// printing.
#include <cstring>

#include "sassdec/architectures.hpp"
#include "sassdec/sassdec.h"
#include "tables.hpp"
#include "text.hpp"

namespace {
using namespace sassdec::tables;

void add(std::uint64_t (&set)[4], unsigned first, unsigned count) {
    if (first == SASSDEC_RZ) return;
    for (unsigned i = first; i < first + count && i < 255; ++i)
        set[i / 64] |= std::uint64_t{1} << i % 64;
}

void add_operand(const sassdec_operand& op, sassdec_regset& set) {
    switch (op.kind) {
        case SASSDEC_OP_REG:
            add(op.file == SASSDEC_UR ? set.ur : set.r, op.index, op.width ? op.width : 1);
            break;
        case SASSDEC_OP_PRED:
            if (op.index < 7)
                (op.file == SASSDEC_UP ? set.up : set.p) |=
                    static_cast<std::uint8_t>(1u << op.index);
            break;
        default:
            break;
    }
}

// "PR" and "UPR": the predicates that the mask names, which comes last; in a register it may name
// any.
void add_predicates(const sassdec_insn& insn, const sassdec_operand& op, sassdec_regset& set) {
    if (op.file != SASSDEC_P && op.file != SASSDEC_UP) return;
    const sassdec_operand& mask = insn.operand[insn.operand_count - 1];
    const auto named = mask.kind == SASSDEC_OP_IMM ? static_cast<unsigned>(mask.imm) : ~0u;
    (op.file == SASSDEC_UP ? set.up : set.p) |= static_cast<std::uint8_t>(named & 0x7f);
}

void add_address(const sassdec_operand& op, sassdec_regset& read) {
    if (op.kind != SASSDEC_OP_MEM && op.kind != SASSDEC_OP_CONST) return;
    if (op.flags & SASSDEC_HAS_REG && op.index != SASSDEC_RZ)
        add(op.file == SASSDEC_UR ? read.ur : read.r, op.index + op.skipped,
            (op.width ? op.width : 1) - op.skipped);
    if (op.flags & SASSDEC_HAS_UREG) add(read.ur, op.ureg, op.kind == SASSDEC_OP_CONST ? 2 : 1);
    if (op.flags & SASSDEC_HAS_DESC) add(read.ur, op.desc, 2);
}

}  // namespace

extern "C" {

sassdec_arch sassdec_arch_from_name(const char* name) {
    const sassdec::Architecture* found = name ? sassdec::find_architecture(name) : nullptr;
    return found ? found->family->id : SASSDEC_ARCH_UNKNOWN;
}

const char* sassdec_arch_name(sassdec_arch arch) {
    return static_cast<unsigned>(arch) < SASSDEC_ARCH_COUNT ? sassdec::families[arch].name
                                                            : "unknown";
}

int sassdec_next(sassdec_cursor* cursor, sassdec_insn* insn) {
    if (!cursor || !insn || !cursor->code || cursor->offset > cursor->bytes) return 0;
    if (cursor->bytes - cursor->offset < SASSDEC_INSN_BYTES) return 0;
    std::uint64_t w[2];  // little-endian in memory, like the hosts that this is built for
    std::memcpy(w, static_cast<const unsigned char*>(cursor->code) + cursor->offset, sizeof w);
    sassdec_decode(cursor->arch, w, cursor->address + cursor->offset, insn);
    cursor->offset += SASSDEC_INSN_BYTES;
    return 1;
}

int sassdec_reason(const sassdec_insn* insn, char* out, size_t size) {
    if (!insn || !out) return -1;
    sassdec::Text t(out, size);
    switch (insn->status) {
        case SASSDEC_OK:
            break;
        case SASSDEC_E_ARGUMENT:
            t.put("unknown architecture");
            break;
        case SASSDEC_E_OPCODE: {
            const sassdec::tables::Word w{insn->word[0], insn->word[1]};
            t.put("no instruction with opcode ");
            t.hex((w.lo & 0xfff) | static_cast<std::uint64_t>(w.bit(91)) << 12);
            t.put(" on ");
            t.put(sassdec_arch_name(static_cast<sassdec_arch>(insn->arch)));
            break;
        }
        case SASSDEC_E_ENCODING:
            t.put("no variant of this opcode");
            break;
        case SASSDEC_E_FIELD:
            t.put("invalid modifier value");
            break;
        case SASSDEC_E_REGISTER:
            t.put("misaligned register");
            break;
        case SASSDEC_E_CONTROL:
            t.put("invalid scheduling bits");
            break;
        default:
            t.put("unknown reason");
            break;
    }
    if (insn->bad_lo != none && insn->status != SASSDEC_OK) {
        t.put(" in bits ");
        t.dec(insn->bad_lo);
        t.put("..");
        t.dec(insn->bad_hi);
    }
    return t.finish();
}

const char* sassdec_mnemonic(const sassdec_insn* insn) {
    return insn && insn->status == SASSDEC_OK ? text(shapes[insn->shape].mnemonic) : "";
}

void sassdec_registers(const sassdec_insn* insn, sassdec_regset* read, sassdec_regset* written) {
    sassdec_regset r{}, w{};
    if (insn && insn->status == SASSDEC_OK) {
        if (insn->guard < 7)
            (insn->guard_uniform ? r.up : r.p) |= static_cast<std::uint8_t>(1u << insn->guard);
        for (unsigned i = 0; i < insn->operand_count; ++i) {
            const sassdec_operand& op = insn->operand[i];
            if (op.flags & SASSDEC_HIDDEN) continue;  // not there in this form, or RZ, or PT
            if (op.kind == SASSDEC_OP_TEXT)
                add_predicates(*insn, op, op.access & SASSDEC_WRITE ? w : r);
            if (op.access & SASSDEC_READ) add_operand(op, r);
            if (op.access & SASSDEC_WRITE) add_operand(op, w);
            add_address(op, r);
        }
    }
    if (read) *read = r;
    if (written) *written = w;
}

int sassdec_branch_target(const sassdec_insn* insn, uint64_t* target) {
    if (!insn || insn->status != SASSDEC_OK) return 0;
    for (unsigned i = 0; i < insn->operand_count; ++i)
        if (insn->operand[i].kind == SASSDEC_OP_LABEL) {
            if (target) *target = static_cast<std::uint64_t>(insn->operand[i].imm);
            return 1;
        }
    return 0;
}

const char* sassdec_field_name(const sassdec_insn* insn, unsigned i) {
    if (!insn || insn->status != SASSDEC_OK || i >= insn->field_count) return "";
    return text(fields[forms[insn->form].fields + i].name);
}

const char* sassdec_field_text(const sassdec_insn* insn, unsigned i) {
    if (!insn || insn->status != SASSDEC_OK || i >= insn->field_count) return "";
    const FieldRow& f = fields[forms[insn->form].fields + i];
    if (f.enumeration == 0xffff) return text(f.text);
    if (insn->field[i] >= enums[f.enumeration].count) return "";
    const EnumValueRow& v = enum_values[enums[f.enumeration].first + insn->field[i]];
    return v.text == 0xffff ? "" : text(v.text);
}

const char* sassdec_operand_name(const sassdec_insn* insn, unsigned i) {
    if (!insn || insn->status != SASSDEC_OK || i >= insn->operand_count) return "";
    return text(operands[forms[insn->form].operands + i].name);
}

}  // extern "C"
