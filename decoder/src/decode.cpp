// SPDX-License-Identifier: Apache-2.0
// Word -> sassdec_insn. Walks the candidates of the word's opcode and fills fields and operands
// from their rows. No instruction is named here: what differs between instructions is in ../isa.
#include <algorithm>
#include <cstring>

#include "decode.hpp"
#include "sassdec/sassdec.h"
#include "tables.hpp"

namespace {
using namespace sassdec::tables;

struct Failure {
    std::uint8_t status = SASSDEC_E_OPCODE;
    std::uint8_t lo = none, hi = none;
};

std::int64_t sign_extend(std::uint64_t v, unsigned len) {
    if (len == 0 || len >= 64) return static_cast<std::int64_t>(v);
    const std::uint64_t top = std::uint64_t{1} << (len - 1);
    return static_cast<std::int64_t>((v ^ top) - top);
}

// Raw register number -> normalised: the highest uniform register is URZ, whatever the field's
// width.
std::uint8_t ureg_index(std::uint64_t raw, unsigned len) {
    return raw == (std::uint64_t{1} << len) - 1 ? SASSDEC_URZ : static_cast<std::uint8_t>(raw);
}

const EnumValueRow* enum_value(std::uint16_t e, std::uint64_t raw) {
    if (raw >= enums[e].count) return nullptr;
    const EnumValueRow* v = &enum_values[enums[e].first + raw];
    return v->text == 0xffff ? nullptr : v;
}

bool read_fields(const FormRow& form, const Word& w, sassdec_insn& insn, Failure& why) {
    for (unsigned i = 0; i < form.field_count; ++i) {
        const FieldRow& f = fields[form.fields + i];
        if (f.enumeration == 0xffff) {
            insn.field[i] = 0;
            continue;
        }
        const std::uint64_t raw = get_pieces(w, f.piece);
        insn.field[i] = static_cast<std::uint16_t>(raw);
        if (!enum_value(f.enumeration, raw)) {
            if (f.when != none && !condition(f.when_mask, insn.field[f.when])) continue;
            why.status = SASSDEC_E_FIELD;
            why.lo = f.piece[0].pos;
            why.hi = static_cast<std::uint8_t>(f.piece[0].pos + f.piece[0].len - 1);
            return false;
        }
    }
    for (unsigned i = 0; i < form.deny_count; ++i) {
        const DenyRow& d = denies[form.denies + i];
        bool all = true;
        for (unsigned k = 0; k < d.count; ++k)
            all = all && condition(d.mask[k], insn.field[d.field[k]]);
        if (all) {
            const FieldRow& f = fields[form.fields + d.field[0]];
            why.status = SASSDEC_E_FIELD;
            why.lo = f.piece[0].pos;
            why.hi = static_cast<std::uint8_t>(f.piece[0].pos + f.piece[0].len - 1);
            return false;
        }
    }
    return true;
}

void read_memory(const OperandRow& o, const Word& w, const sassdec_insn& insn,
                 sassdec_operand& op) {
    if (o.pos != none) {
        const std::uint64_t raw = w.get(o.pos, o.len);
        op.index = o.file == SASSDEC_UR ? ureg_index(raw, o.len) : static_cast<std::uint8_t>(raw);
        if ((o.flags & op_next) && op.index != SASSDEC_RZ) ++op.index;
        op.flags |= SASSDEC_HAS_REG;
    }
    if (o.ureg != none) {
        op.ureg = ureg_index(w.get(o.ureg, o.ureg_len), o.ureg_len);
        op.flags |= SASSDEC_HAS_UREG;
    }
    if (o.desc != none && (o.desc_if == none || insn.field[o.desc_if])) {
        op.desc = ureg_index(w.get(o.desc, o.ureg_len), o.ureg_len);
        if ((o.flags & op_desc_next) && op.desc != SASSDEC_URZ)
            op.desc = ureg_index(op.desc + 1u, o.ureg_len);
        op.flags |= SASSDEC_HAS_DESC;
    }
    if (o.off_len) {
        const std::uint64_t raw = o.piece[0].len ? get_pieces(w, o.piece) : w.get(o.off, o.off_len);
        const std::int64_t v =
            o.flags & op_off_signed ? sign_extend(raw, o.off_len) : static_cast<std::int64_t>(raw);
        op.offset = static_cast<std::int32_t>(v * (std::int64_t{1} << o.scale));
    }
    if (o.bank != none) op.bank = static_cast<std::uint8_t>(w.get(o.bank, o.bank_len));
}

bool read_operand(const OperandRow& o, const FormRow& form, const Word& w, sassdec_insn& insn,
                  sassdec_operand& op, Failure& why) {
    op.kind = o.kind;
    op.file = o.file;
    op.access = static_cast<std::uint8_t>((o.flags & op_read ? SASSDEC_READ : 0) |
                                          (o.flags & op_write ? SASSDEC_WRITE : 0));
    op.width = o.width;
    op.imm_type = o.imm_type;
    op.flags = 0;
    op.index = SASSDEC_RZ;
    op.ureg = op.desc = SASSDEC_URZ;
    op.bank = 0;
    op.skipped = o.flags & op_upper ? op.width / 2 : 0;
    op.spare = 0;
    op.offset = 0;
    op.imm = 0;
    const auto weight = [&](std::uint8_t field) {
        const EnumValueRow* v =
            enum_value(fields[form.fields + field].enumeration, insn.field[field]);
        return v ? unsigned{v->weight} : 1u;
    };
    if (o.width_field != none) op.width = static_cast<std::uint8_t>(weight(o.width_field));
    // Values that no compiler combines may make more registers than there are.
    if (o.width_factor != none)
        op.width = static_cast<std::uint8_t>(std::min(op.width * weight(o.width_factor), 255u));
    if (o.neg != none && w.bit(o.neg)) op.flags |= SASSDEC_NEG;
    if (o.abs != none && w.bit(o.abs)) op.flags |= SASSDEC_ABS;
    if (o.inv != none && w.bit(o.inv)) op.flags |= SASSDEC_INV;
    if (o.reuse != none && w.bit(o.reuse) && (o.reuse < 64 || w.get(105, 5) > 16))
        op.flags |= SASSDEC_REUSE;
    std::int64_t main = 0;
    switch (o.kind) {
        case SASSDEC_OP_REG: {
            const std::uint64_t raw = o.piece[0].len ? get_pieces(w, o.piece) : w.get(o.pos, o.len);
            op.index =
                o.file == SASSDEC_UR ? ureg_index(raw, o.len) : static_cast<std::uint8_t>(raw);
            if (o.scale && op.index != SASSDEC_RZ) {
                if (raw + o.scale >= std::uint64_t{1} << o.len) {
                    why = {SASSDEC_E_REGISTER, o.pos, static_cast<std::uint8_t>(o.pos + o.len - 1)};
                    return false;
                }
                op.index = ureg_index(raw + o.scale, o.len);
            }
            main = op.index;
            if (o.align > 1 && op.index != SASSDEC_RZ && op.index % o.align) {
                why = {SASSDEC_E_REGISTER, o.pos, static_cast<std::uint8_t>(o.pos + o.len - 1)};
                return false;
            }
            break;
        }
        case SASSDEC_OP_PRED:
            op.index = static_cast<std::uint8_t>(w.get(o.pos, o.len));
            if (o.flags & op_complement) op.index ^= 7;
            op.width = 0;
            main = op.index | (op.flags & SASSDEC_INV ? 8 : 0);
            break;
        case SASSDEC_OP_IMM: {
            unsigned len = o.len;
            std::uint64_t raw = 0;
            if (o.piece[0].len) {  // a field in several pieces
                raw = get_pieces(w, o.piece);
                len = 0;
                for (const Piece& p : o.piece) len += p.len;
            } else {
                raw = w.get(o.pos, o.len);
            }
            const bool is_signed = o.imm_type == SASSDEC_IMM_S32 || o.imm_type == SASSDEC_IMM_S32X;
            op.imm = is_signed ? sign_extend(raw, len) : static_cast<std::int64_t>(raw);
            op.imm *= std::int64_t{1} << o.scale;
            main = op.imm;
            break;
        }
        case SASSDEC_OP_FIMM:
            op.imm = static_cast<std::int64_t>(o.piece[0].len ? get_pieces(w, o.piece)
                                                              : w.get(o.pos, o.len));
            if (o.imm_type == SASSDEC_IMM_F64 && o.len == 32)
                op.imm = static_cast<std::int64_t>(static_cast<std::uint64_t>(op.imm) << 32);
            main = op.imm;
            break;
        case SASSDEC_OP_CONST:
        case SASSDEC_OP_MEM:
            read_memory(o, w, insn, op);
            if ((o.flags & op_rejectzero) && op.index == SASSDEC_RZ) {
                why = {SASSDEC_E_REGISTER, o.pos, static_cast<std::uint8_t>(o.pos + o.len - 1)};
                return false;
            }
            break;
        case SASSDEC_OP_LABEL: {
            unsigned len = 0;
            for (const Piece& p : o.piece) len += p.len;
            const std::int64_t rel =
                sign_extend(get_pieces(w, o.piece), len) * (std::int64_t{1} << o.scale);
            const std::uint64_t from = o.flags & op_abs_target ? 0 : insn.pc + SASSDEC_INSN_BYTES;
            op.imm = static_cast<std::int64_t>(from + static_cast<std::uint64_t>(rel));
            break;
        }
        case SASSDEC_OP_ENUM: {
            op.imm = static_cast<std::int64_t>(get_pieces(w, o.piece));
            main = op.imm;
            if (!enum_value(o.enumeration, static_cast<std::uint64_t>(op.imm))) {
                why = {SASSDEC_E_FIELD, o.piece[0].pos,
                       static_cast<std::uint8_t>(o.piece[0].pos + o.piece[0].len - 1)};
                return false;
            }
            break;
        }
        case SASSDEC_OP_TEXT:
            break;
        default:
            op.imm = static_cast<std::int64_t>(w.get(o.pos, o.len));
            op.index = static_cast<std::uint8_t>(op.imm);
            main = op.imm;
            break;
    }
    const bool wanted = o.when == none || condition(o.when_mask, insn.field[o.when]);
    const bool plain = (o.flags & op_optional) && main == o.fallback;
    if (o.flags & op_unless ? plain && !wanted : plain || !wanted) op.flags |= SASSDEC_HIDDEN;
    return true;
}

// Bits [109:105] select the schedule: 0 drains, 1..15 and 17..27 count stall cycles, the rest mean
// nothing. From 17 on bits [124:122] are the reuse flags of fixed-latency instructions; elsewhere
// they are a batch number 0..5.
bool check_control(const FormRow& form, const Word& w, Failure& why) {
    const std::uint64_t schedule = w.get(105, 5), low = w.get(122, 3);
    if (schedule == 16 || schedule > 27) {
        why = {SASSDEC_E_CONTROL, 105, 109};
        return false;
    }
    const bool reusable =
        form.variable || form.reuse_mask;  // batch 3 needs an operand that could be kept
    const bool good = schedule == 0 ? low == 0
                      : schedule > 16 && !form.variable
                          ? (low & ~std::uint64_t{form.reuse_mask}) == 0
                          : low < 6 && (low != 3 || reusable);
    if (!good) {
        why = {SASSDEC_E_CONTROL, 122, 124};
        return false;
    }
    // What delivers no result releases no write barrier; what has read its sources when it issues,
    // no read barrier.
    for (unsigned k = 0; k < 2; ++k)
        if ((form.barred_scoreboards >> k & 1) && w.get(110 + 3 * k, 3) != 7) {
            why = {SASSDEC_E_CONTROL, static_cast<std::uint8_t>(110 + 3 * k),
                   static_cast<std::uint8_t>(112 + 3 * k)};
            return false;
        }
    return true;
}

bool try_form(const FormRow& form, const Word& w, sassdec_insn& insn, Failure& why) {
    if (!check_control(form, w, why) || !read_fields(form, w, insn, why)) return false;
    for (unsigned i = 0; i < form.operand_count; ++i)
        if (!read_operand(operands[form.operands + i], form, w, insn, insn.operand[i], why))
            return false;
    insn.operand_count = form.operand_count;
    insn.field_count = form.field_count;
    return true;
}

// The parts of every word that stand at fixed places: guard and control.
void read_common(sassdec_arch arch, const std::uint64_t* w, std::uint64_t pc, sassdec_insn* insn) {
    insn->status = SASSDEC_E_ARGUMENT;
    insn->arch = static_cast<std::uint8_t>(arch);
    insn->pc = pc;
    insn->word[0] = w ? w[0] : 0;
    insn->word[1] = w ? w[1] : 0;
    insn->operand_count = insn->field_count = 0;
    insn->form = insn->shape = insn->id = 0xffff;
    insn->groups = 0;
    insn->bad_lo = insn->bad_hi = none;
    const Word word{insn->word[0], insn->word[1]};
    insn->guard = static_cast<std::uint8_t>(word.get(12, 3));
    insn->guard_neg = word.bit(15);
    insn->guard_uniform = 0;
    sassdec_control& c = insn->control;
    c.stall = static_cast<std::uint8_t>(word.get(105, 4));
    c.yield = !word.bit(109);
    c.write_barrier = static_cast<std::uint8_t>(word.get(110, 3));
    c.read_barrier = static_cast<std::uint8_t>(word.get(113, 3));
    c.wait_mask = static_cast<std::uint8_t>(word.get(116, 6));
    c.reuse = static_cast<std::uint8_t>(word.get(122, 4));
}

void accept(std::uint16_t row, sassdec_insn* insn) {
    const FormRow& form = forms[row];
    const ShapeRow& shape = shapes[form.shape];
    insn->form = row;
    insn->shape = form.shape;
    insn->id = shape.id;
    insn->groups = shape.groups;
    insn->guard_uniform = form.uniform_guard;
    insn->status = SASSDEC_OK;
}

}  // namespace

namespace sassdec {

bool decode_as(sassdec_arch arch, std::uint16_t row, const std::uint64_t w[2], std::uint64_t pc,
               sassdec_insn* insn) {
    read_common(arch, w, pc, insn);
    const FormRow& form = forms[row];
    const Word word{w[0], w[1]};
    Failure why;
    const bool fits =
        !(((word.lo & form.mask[0]) ^ form.value[0]) | ((word.hi & form.mask[1]) ^ form.value[1]));
    if (fits && try_form(form, word, *insn, why)) {
        accept(row, insn);
        return true;
    }
    insn->status = fits ? why.status : static_cast<std::uint8_t>(SASSDEC_E_ENCODING);
    insn->bad_lo = why.lo;
    insn->bad_hi = why.hi;
    return false;
}

}  // namespace sassdec

extern "C" sassdec_status sassdec_decode(sassdec_arch arch, const uint64_t w[2], uint64_t pc,
                                         sassdec_insn* insn) {
    if (!insn) return SASSDEC_E_ARGUMENT;
    read_common(arch, w, pc, insn);
    if (!w || static_cast<unsigned>(arch) >= SASSDEC_ARCH_COUNT) return SASSDEC_E_ARGUMENT;

    const Word word{w[0], w[1]};
    const FamilyRow& family = families[arch];
    const unsigned opcode =
        static_cast<unsigned>(word.lo & 0xfff) | static_cast<unsigned>(word.bit(91)) << 12;
    Failure why;
    for (unsigned i = family.start[opcode]; i < family.start[opcode + 1]; ++i) {
        const FormRow& form = forms[family.candidates[i]];
        const std::uint64_t d0 = (word.lo & form.mask[0]) ^ form.value[0];
        const std::uint64_t d1 = (word.hi & form.mask[1]) ^ form.value[1];
        if (d0 | d1) {
            if (why.status == SASSDEC_E_OPCODE) {
                why.status = SASSDEC_E_ENCODING;
                why.lo =
                    static_cast<std::uint8_t>(d0 ? __builtin_ctzll(d0) : 64 + __builtin_ctzll(d1));
                why.hi = static_cast<std::uint8_t>(d1 ? 127 - __builtin_clzll(d1)
                                                      : 63 - __builtin_clzll(d0));
            }
            continue;
        }
        if (!try_form(form, word, *insn, why)) continue;
        accept(family.candidates[i], insn);
        return SASSDEC_OK;
    }
    insn->status = why.status;
    insn->bad_lo = why.lo;
    insn->bad_hi = why.hi;
    return static_cast<sassdec_status>(why.status);
}
