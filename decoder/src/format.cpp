// SPDX-License-Identifier: Apache-2.0
// sassdec_insn -> text, byte for byte as nvdisasm 13.0 prints it. Follows the rows of the form; no
// instruction is named here, and nothing is printed that an assembler could not read back.
#include "decode.hpp"
#include "sassdec/architectures.hpp"
#include "sassdec/sassdec.h"
#include "tables.hpp"
#include "text.hpp"

namespace {
using namespace sassdec::tables;
using sassdec::Text;

const char* value_text(std::uint16_t e, std::uint64_t raw) {
    if (raw >= enums[e].count) return "?";
    const EnumValueRow& v = enum_values[enums[e].first + raw];
    return v.text == 0xffff ? "?" : text(v.text);
}

void put_reg(Text& t, unsigned file, unsigned index) {
    if (file == SASSDEC_UR) t.put('U');
    t.put('R');
    if (index == SASSDEC_RZ)
        t.put('Z');
    else
        t.dec(index);
}

void put_pred(Text& t, bool uniform, unsigned index) {
    if (uniform) t.put('U');
    t.put('P');
    if (index == SASSDEC_PT)
        t.put('T');
    else
        t.dec(index);
}

void put_unknown(Text& t, unsigned number) {
    t.put("???");
    t.dec(number);
}

void put_suffix(Text& t, const OperandRow& o, const FormRow& form, const sassdec_insn& insn) {
    if (o.suffix == none) return;
    const FieldRow& f = fields[form.fields + o.suffix];
    if (f.when == none || condition(f.when_mask, insn.field[f.when]))
        t.put(value_text(f.enumeration, insn.field[o.suffix]));
}

void open_sign(Text& t, const sassdec_operand& op) {
    if (op.flags & SASSDEC_NEG) t.put('-');
    if (op.flags & SASSDEC_INV) t.put('~');
    if (op.flags & SASSDEC_ABS) t.put('|');
}

// The suffix of a scalar stands inside the bars, that of a register outside (but see `inside`).
bool suffix_inside(const OperandRow& o, const sassdec_operand& op) {
    return (o.flags & op_inside) || op.kind != SASSDEC_OP_REG || op.file == SASSDEC_UR;
}

void close_sign(Text& t, const sassdec_operand& op) {
    if (op.flags & SASSDEC_ABS) t.put('|');
    if (op.flags & SASSDEC_REUSE) t.put(".reuse");
}

// The bracket part of a memory or constant address: [base.ext+ureg+offset].
void put_address(Text& t, const OperandRow& o, const FormRow& form, const sassdec_insn& insn,
                 const sassdec_operand& op) {
    const bool always = o.flags & (op_keepzero | op_nozero);
    const bool base = (op.flags & SASSDEC_HAS_REG) && (op.index != SASSDEC_RZ || always);
    const char* ext = "";
    if (o.ext != none) ext = value_text(fields[form.fields + o.ext].enumeration, insn.field[o.ext]);
    // A zero base: scaled, it shows beside a uniform register only; up to sm_89 an extended one is
    // left out like a plain one, later ones cannot encode 64 bits of zero beside a uniform
    // register.
    bool unknown = (o.flags & op_nozero) && op.index == SASSDEC_RZ;
    if (o.ext != none && op.index == SASSDEC_RZ && !always) {
        const bool beside = op.flags & SASSDEC_HAS_UREG;
        if (o.width_field == none) {
            if (!beside) ext = "";
        } else if (op.width == 2) {
            unknown = beside && !(o.flags & op_plainzero);
            if ((beside && !unknown) || (op.offset && !beside)) ext = "";
        } else if (o.flags & op_plainzero) {
            ext = "";
        }
    }
    const bool show_base = base || ((op.flags & SASSDEC_HAS_REG) &&
                                    (*ext || (!(op.flags & SASSDEC_HAS_UREG) && op.offset == 0)));
    bool any = false;
    t.put('[');
    if (show_base) {
        if (unknown)
            put_unknown(t, (1u << o.len) - 1);
        else
            put_reg(t, op.file, op.index);
        t.put(ext);
        any = true;
    }
    if ((op.flags & SASSDEC_HAS_UREG) && o.kind == SASSDEC_OP_MEM &&
        !((o.flags & op_ur_optional) && op.ureg == SASSDEC_URZ)) {
        if (any) t.put('+');
        put_reg(t, SASSDEC_UR, op.ureg);
        any = true;
    }
    if (op.offset != 0 || !any) {
        if (any) t.put('+');
        if (!any && (o.kind == SASSDEC_OP_MEM) != ((o.flags & op_abs_other) !=
                                                   0))  // an absolute address, as wide as its field
            t.hex(static_cast<std::uint64_t>(op.offset) &
                  ((std::uint64_t{1} << (o.off_len + o.scale)) - 1));
        else if (o.flags & op_off_signed)
            t.signed_hex(op.offset);
        else
            t.hex(static_cast<std::uint32_t>(op.offset));
    }
    t.put(']');
}

void put_float(Text& t, const sassdec_insn& insn, const sassdec_operand& op) {
    const std::uint64_t v = static_cast<std::uint64_t>(op.imm);
    switch (op.imm_type) {
        case SASSDEC_IMM_F64:
            t.float64(v);
            break;
        case SASSDEC_IMM_F16:
            t.float16(static_cast<std::uint16_t>(v));
            break;
        case SASSDEC_IMM_BF16:
            t.bfloat16(static_cast<std::uint16_t>(v));
            break;
        case SASSDEC_IMM_F16X2:
            t.float16(static_cast<std::uint16_t>(v >> 16));
            t.put(", ");
            t.float16(static_cast<std::uint16_t>(v));
            break;
        case SASSDEC_IMM_BF16X2:
            t.bfloat16(static_cast<std::uint16_t>(v >> 16));
            t.put(", ");
            t.bfloat16(static_cast<std::uint16_t>(v));
            break;
        default:
            t.float32(static_cast<std::uint32_t>(v), sassdec::families[insn.arch].snan);
            break;
    }
}

void put_integer(Text& t, const sassdec_operand& op) {
    switch (op.imm_type) {
        case SASSDEC_IMM_S32:
        case SASSDEC_IMM_S32X:
            t.signed_hex(op.imm);
            break;
        case SASSDEC_IMM_DEC:
            t.dec(static_cast<std::uint64_t>(op.imm));
            break;
        default:
            t.hex(static_cast<std::uint64_t>(op.imm));
            break;
    }
}

// Text from a hook; false when it declined.
template <class Ask>
bool put_answer(Text& t, Ask&& ask) {
    char buf[256];
    const int n = ask(buf, sizeof buf);
    if (n < 0) return false;
    t.put(buf, static_cast<std::size_t>(n) < sizeof buf ? static_cast<std::size_t>(n) : sizeof buf);
    return true;
}

void put_label(Text& t, const sassdec_insn& insn, const sassdec_operand& op,
               const sassdec_format_options* opts) {
    const auto ask = [&](char* out, std::size_t size) {
        return opts->label(opts->user, &insn, static_cast<std::uint64_t>(op.imm), out, size);
    };
    if (opts && opts->label && put_answer(t, ask)) return;
    t.signed_hex(op.imm);
}

// A caller built against an older header has a shorter struct.
bool has_operand_hook(const sassdec_format_options* opts) {
    return opts && opts->size >= sizeof(sassdec_format_options) && opts->operand;
}

void put_operand(Text& t, const OperandRow& o, const FormRow& form, const sassdec_insn& insn,
                 const sassdec_operand& op, const sassdec_format_options* opts) {
    switch (op.kind) {
        case SASSDEC_OP_REG:
            open_sign(t, op);
            if ((o.flags & op_nozero) &&
                op.index == SASSDEC_RZ) {  // the zero register has no name here
                put_unknown(t, (1u << o.len) - 1);
                close_sign(t, op);
                break;
            }
            t.put(text(o.text));
            if (*text(o.text)) t.put('[');
            put_reg(t, op.file, op.index);
            if (*text(o.text)) t.put(']');
            if (suffix_inside(o, op)) put_suffix(t, o, form, insn);
            close_sign(t, op);
            if (!suffix_inside(o, op)) put_suffix(t, o, form, insn);
            break;
        case SASSDEC_OP_PRED:
            if (op.flags & SASSDEC_INV) t.put('!');
            if ((o.flags & op_nozero) && op.index == SASSDEC_PT)
                put_unknown(t, SASSDEC_PT);
            else
                put_pred(t, op.file == SASSDEC_UP, op.index);
            break;
        case SASSDEC_OP_IMM:
            put_integer(t, op);
            break;
        case SASSDEC_OP_FIMM:
            put_float(t, insn, op);
            put_suffix(t, o, form, insn);
            break;
        case SASSDEC_OP_CONST:
            open_sign(t, op);
            if (op.flags & SASSDEC_HAS_UREG) {
                t.put("cx[");
                put_reg(t, SASSDEC_UR, op.ureg);
                t.put(']');
            } else {
                t.put("c[");
                t.hex(op.bank);
                t.put(']');
            }
            if (o.flags & op_spaced) t.put(' ');
            put_address(t, o, form, insn, op);
            put_suffix(t, o, form, insn);
            close_sign(t, op);
            break;
        case SASSDEC_OP_MEM:
            t.put(text(o.text));
            if (op.flags & SASSDEC_HAS_DESC) {
                t.put("desc[");
                put_reg(t, SASSDEC_UR, op.desc);
                t.put(']');
            }
            put_address(t, o, form, insn, op);
            put_suffix(t, o, form, insn);
            break;
        case SASSDEC_OP_LABEL:
            put_label(t, insn, op, opts);
            break;
        case SASSDEC_OP_ENUM:
            t.put(value_text(o.enumeration, static_cast<std::uint64_t>(op.imm)));
            break;
        case SASSDEC_OP_TEXT:
            t.put(text(o.text));
            break;
        case SASSDEC_OP_BARRIER:
            t.put('B');
            t.dec(op.index);
            break;
        case SASSDEC_OP_SCOREBOARD:
            t.put("SB");
            t.dec(op.index);
            break;
        case SASSDEC_OP_SB_LIST: {
            t.put('{');
            bool any = false;
            for (int i = 7; i >= 0; --i)
                if (op.imm >> i & 1) {
                    if (any) t.put(',');
                    t.put(static_cast<char>('0' + i));
                    any = true;
                }
            t.put('}');
            break;
        }
        default:
            break;
    }
}

// Pseudo names (IMAD.MOV) are chosen by operand values; they carry no bits of their own.
bool pseudo_holds(const FieldRow& f, const sassdec_insn& insn) {
    for (unsigned k = 0; k + 2 < f.printed; ++k) {
        const sassdec_operand& op = insn.operand[f.piece[k].pos];
        const bool imm = op.kind == SASSDEC_OP_IMM;
        bool holds = false;
        switch (f.piece[k].len) {
            case pseudo_zero:
                holds = imm ? op.imm == 0 : op.kind == SASSDEC_OP_REG && op.index == SASSDEC_RZ;
                break;
            case pseudo_one:
                holds = imm && op.imm == 1;
                break;
            default:
                holds = imm && op.imm > 1 && op.imm != 0x10000 && (op.imm & (op.imm - 1)) == 0;
                break;
        }
        if (!holds) return false;
    }
    return true;
}

}  // namespace

namespace sassdec {

int pseudo_name(const sassdec_insn& insn) {
    const FormRow& form = forms[insn.form];
    const Word word{insn.word[0], insn.word[1]};
    if (word.get(105, 5) <= 16 && word.get(122, 3) == 3)
        return -1;  // batch 3: the plain name (probed)
    for (unsigned i = 0; i < form.field_count; ++i)
        if (fields[form.fields + i].printed >= 2 && pseudo_holds(fields[form.fields + i], insn))
            return static_cast<int>(i);
    return -1;
}

}  // namespace sassdec

extern "C" int sassdec_format(const sassdec_insn* insn, const sassdec_format_options* opts,
                              char* out, size_t size) {
    if (!insn || !out) return -1;
    Text t(out, size);
    if (insn->status != SASSDEC_OK) {
        char why[160];
        sassdec_reason(insn, why, sizeof why);
        t.put("<undecodable: ");
        t.put(why);
        t.put('>');
        return t.finish();
    }
    const FormRow& form = forms[insn->form];
    if (insn->guard != SASSDEC_PT || insn->guard_neg) {
        t.put('@');
        if (insn->guard_neg) t.put('!');
        put_pred(t, insn->guard_uniform, insn->guard);
        t.put(' ');
    }
    t.put(text(shapes[form.shape].mnemonic));
    int pseudo = -2;  // not asked yet
    for (unsigned i = 0; i < form.field_count; ++i) {
        const FieldRow& f = fields[form.fields + i];
        if (!f.printed) continue;
        if (f.printed >= 2) {
            if (pseudo == -2) pseudo = sassdec::pseudo_name(*insn);
            if (pseudo != static_cast<int>(i)) continue;
        }
        if (f.when != none && !condition(f.when_mask, insn->field[f.when])) continue;
        t.put(f.enumeration == 0xffff ? text(f.text) : value_text(f.enumeration, insn->field[i]));
    }
    bool any = false;
    for (unsigned i = 0; i < form.operand_count; ++i) {
        const sassdec_operand& op = insn->operand[i];
        if (op.flags & SASSDEC_HIDDEN) continue;
        const OperandRow& o = operands[form.operands + i];
        t.put(any ? text(o.separator) : " ");
        any = true;
        const auto ask = [&](char* buf, std::size_t room) {
            return opts->operand(opts->user, insn, i, buf, room);
        };
        if (has_operand_hook(opts) && put_answer(t, ask)) continue;
        put_operand(t, o, form, *insn, op, opts);
    }
    t.trim();
    return t.finish();
}
