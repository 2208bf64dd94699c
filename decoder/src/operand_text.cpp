// SPDX-License-Identifier: Apache-2.0
// The inverse of put_operand() in format.cpp, by the same rows. See operand_text.hpp.
#include "operand_text.hpp"

#include "scan.hpp"

namespace sassdec {
namespace {
using namespace tables;

// Raw register field of `len` bits: the highest value is RZ or URZ.
bool set_register(Draft& draft, unsigned pos, unsigned len, unsigned index) {
    const unsigned top = (1u << len) - 1;
    if (index == SASSDEC_RZ) return draft.set(pos, len, top);
    return index < top && draft.set(pos, len, index);
}

bool set_register(Draft& draft, const OperandRow& o, unsigned index) {
    if (index != SASSDEC_RZ && o.scale) {  // the text shows a register behind the encoded one
        if (index < o.scale) return false;
        index -= o.scale;
    }
    if (!o.piece[0].len) return set_register(draft, o.pos, o.len, index);
    return draft.set_pieces(o.piece, index == SASSDEC_RZ ? (1u << o.len) - 1 : index);
}

bool set_integer(const OperandRow& o, std::uint64_t raw, Draft& draft) {
    return o.piece[0].len ? draft.set_pieces(o.piece, raw) : draft.set(o.pos, o.len, raw);
}

unsigned length(const OperandRow& o) {
    if (!o.piece[0].len) return o.len;
    unsigned n = 0;
    for (const Piece& p : o.piece) n += p.len;
    return n;
}

// With `next` the text shows the register after the encoded one; what follows the last but one is
// the zero register too.
bool set_register_before(Draft& draft, unsigned pos, unsigned len, unsigned index, bool next) {
    if (!next) return set_register(draft, pos, len, index);
    if (index != SASSDEC_RZ) return index != 0 && set_register(draft, pos, len, index - 1);
    return set_register(draft, pos, len, index) || draft.set(pos, len, (1u << len) - 2);
}

std::uint64_t ones(unsigned len) {
    return len >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << len) - 1;
}

}  // namespace

ValueSet match_enum(std::uint16_t e, ValueSet allowed, const char*& p) {
    const EnumRow& row = enums[e];
    std::size_t best = 0;
    std::uint16_t found = 0xffff;
    ValueSet values = 0;
    for (unsigned v = 0; v < row.count; ++v) {
        if (v < 128 && !(allowed >> v & 1)) continue;
        const std::uint16_t t = enum_values[row.first + v].text;
        if (t == 0xffff) continue;
        if (t != found) {
            const char* q = p;
            if (!scan::literal(q, text(t))) continue;
            const std::size_t n = static_cast<std::size_t>(q - p);
            if ((n && (scan::is_word(*q) || *q == '?')) || (found != 0xffff && n <= best)) continue;
            best = n;
            found = t;
            values = 0;
        }
        if (v < 128) values |= ValueSet{1} << v;
    }
    if (found != 0xffff) p += best;
    return values;
}

bool OperandReader::suffix(std::uint8_t field, const char*& p) {
    if (field == none) return true;
    // A suffix under a condition: the modifiers, which stand before the operands, have decided it.
    const FieldRow& f = fields[form.fields + field];
    if (f.when != none && !(sets[f.when] & f.when_mask)) return true;
    const ValueSet values = match_enum(fields[form.fields + field].enumeration, sets[field], p);
    if (!values) return complaint.say(p, "expected a suffix of this operand");
    sets[field] = values;
    return true;
}

namespace {

// ???255: the highest number of a field, where the zero register or PT has no name.
bool unknown(const char*& p, unsigned len) {
    const char* q = p;
    unsigned n = 0;
    if (!scan::literal(q, "???") || !scan::decimal(q, n) || n != ones(len)) return false;
    p = q;
    return true;
}

}  // namespace

bool OperandReader::reg(const OperandRow& o, const char*& p, Draft& draft) {
    const bool uniform = o.file == SASSDEC_UR;
    if ((o.flags & op_nozero) && unknown(p, o.len))
        return draft.set(o.pos, o.len, ones(o.len)) ||
               complaint.unfit(p, "this operand cannot hold that register");
    const char* prefix = text(o.text);
    if (*prefix && (!scan::literal(p, prefix) || !scan::literal(p, "[")))
        return complaint.say(p, "expected a prefixed register");
    unsigned index;
    const char* at = p;
    if (!scan::reg(p, uniform, index))
        return complaint.say(p, uniform ? "expected a uniform register" : "expected a register");
    if (!set_register(draft, o, index))
        return complaint.unfit(at, "this operand cannot hold that register");
    if (*prefix && !scan::literal(p, "]")) return complaint.say(p, "expected ']'");
    return true;
}

bool OperandReader::offset(const OperandRow& o, std::int64_t v, bool absolute, Draft& draft) {
    const std::int64_t unit = std::int64_t{1} << o.scale;
    const bool is_signed = o.flags & op_off_signed;
    const std::uint64_t mask = ones(o.off_len);
    std::int64_t raw = v / unit;
    const std::int64_t low = is_signed ? -static_cast<std::int64_t>(mask / 2) - 1 : 0;
    const std::int64_t high =
        is_signed ? static_cast<std::int64_t>(mask / 2) : static_cast<std::int64_t>(mask);
    if (raw < low || raw > high) {
        // An address without registers prints as wide as its field, whatever its sign.
        if (!absolute || !is_signed || v < 0 || static_cast<std::uint64_t>(v) > mask) return false;
        const std::int64_t top = std::int64_t{1} << (o.off_len - 1);
        v = (v ^ top) - top;
        raw = v / unit;
    }
    if (v % unit || o.off_len == 0) return v == 0;
    const std::uint64_t bits = static_cast<std::uint64_t>(raw) & mask;
    return o.piece[0].len ? draft.set_pieces(o.piece, bits) : draft.set(o.off, o.off_len, bits);
}

bool OperandReader::address(const OperandRow& o, const char*& p, Draft& draft) {
    if (!scan::literal(p, "[")) return complaint.say(p, "expected '['");
    const bool has_base = o.pos != none, has_ureg = o.ureg != none && o.kind == SASSDEC_OP_MEM;
    bool base = false, ureg = false, number = false, first = true;
    std::int64_t bytes = 0;
    const char* offset_at = p;
    for (;; first = false) {
        p = scan::skip(p);
        const char* at = p;
        unsigned index;
        if (first && *p == ']') break;
        if (has_base && !base && !ureg && !number && (has_ureg || (o.flags & op_nozero)) &&
            unknown(p, o.len)) {
            base = true;
            if (!set_register_before(draft, o.pos, o.len, SASSDEC_RZ, o.flags & op_next))
                return complaint.unfit(at, "this address cannot hold that register");
            if (!suffix(o.ext, p)) return false;
        } else if (has_base && !base && !ureg && !number &&
                   scan::reg(p, o.file == SASSDEC_UR, index)) {
            base = true;
            if (!set_register_before(draft, o.pos, o.len, index, o.flags & op_next))
                return complaint.unfit(at, "this address cannot hold that register");
            if (!suffix(o.ext, p)) return false;
        } else if (has_ureg && !ureg && !number && scan::reg(p, true, index)) {
            ureg = true;
            if (!set_register(draft, o.ureg, o.ureg_len, index))
                return complaint.unfit(at, "this address cannot hold that uniform register");
        } else {
            scan::Integer v;
            if (number || !scan::integer(p, v) || v.magnitude >> 40)
                return complaint.say(p, number ? "expected ']'"
                                        : has_base || has_ureg
                                            ? "expected a register of this address, or an offset"
                                            : "expected an offset");
            number = true;
            offset_at = at;
            bytes = static_cast<std::int64_t>(v.bits());
        }
        p = scan::skip(p);
        if (*p == '+')
            ++p;
        else if (*p != '-')
            break;
    }
    if (!scan::literal(p, "]")) return complaint.say(p, "expected '+', '-' or ']'");
    // Several forms may differ in whether they print a zero base.
    const bool unprinted = base && o.ext == none && draft.value.get(o.pos, o.len) == ones(o.len) &&
                           (ureg || bytes) && !(o.flags & (op_keepzero | op_nozero));
    if (unprinted && !statement.lenient)
        return complaint.unfit(offset_at, "a zero register is not written in this address");
    if (has_base && !base) {
        if (!set_register(draft, o.pos, o.len, SASSDEC_RZ))
            return complaint.unfit(offset_at, "this address needs a register");
        // Without a base its extension does not show; see put_address() in format.cpp.
        if (o.ext != none) {
            const EnumRow& e = enums[fields[form.fields + o.ext].enumeration];
            ValueSet hidden = 0;
            for (unsigned v = 0; v < e.count; ++v) {
                const EnumValueRow& row = enum_values[e.first + v];
                if (row.text == 0xffff) continue;
                const bool plain = o.flags & op_plainzero;
                bool hides = !*text(row.text);
                if (o.width_field != o.ext)
                    hides = hides || !has_ureg;
                else if (row.weight == 2)
                    hides = has_ureg ? plain : bytes != 0;
                else
                    hides = hides || plain;
                if (hides) hidden |= ValueSet{1} << v;
            }
            sets[o.ext] &= hidden;
            if (!sets[o.ext]) return complaint.unfit(offset_at, "this address needs a register");
        }
    }
    if (has_ureg && !ureg) {
        if (!(o.flags & op_ur_optional))
            return complaint.say(p - 1, "expected a uniform register in this address");
        if (!set_register(draft, o.ureg, o.ureg_len, SASSDEC_URZ))
            return complaint.say(p - 1, "expected a uniform register in this address");
    }
    if (!offset(o, bytes, !base && !ureg, draft))
        return complaint.unfit(offset_at, "the offset does not fit this address");
    return true;
}

bool OperandReader::constant(const OperandRow& o, const char*& p, Draft& draft) {
    if (o.ureg != none) {
        if (!scan::literal(p, "cx[")) return complaint.say(p, "expected cx[UR]");
        unsigned index;
        const char* at = p;
        if (!scan::reg(p, true, index)) return complaint.say(p, "expected a uniform register");
        if (!set_register(draft, o.ureg, o.ureg_len, index))
            return complaint.unfit(at, "this operand cannot hold that uniform register");
    } else {
        if (!scan::literal(p, "c[")) return complaint.say(p, "expected a constant c[bank][offset]");
        scan::Integer bank;
        const char* at = p;
        if (!scan::integer(p, bank) || bank.negative ||
            !draft.set(o.bank, o.bank_len, bank.magnitude))
            return complaint.say(at, "expected a constant bank");
    }
    if (!scan::literal(p, "]")) return complaint.say(p, "expected ']'");
    p = scan::skip(p);
    return address(o, p, draft);
}

bool OperandReader::integer(const OperandRow& o, const char*& p, Draft& draft) {
    const char* at = p;
    scan::Integer v;
    if (!scan::integer(p, v)) return complaint.say(p, "expected an integer");
    const unsigned len = length(o);
    const bool is_signed = o.imm_type == SASSDEC_IMM_S32 || o.imm_type == SASSDEC_IMM_S32X;
    const std::uint64_t unit = std::uint64_t{1} << o.scale;
    if (v.magnitude % unit)
        return complaint.unfit(at, "the number is not a multiple of this operand's unit");
    const std::uint64_t m = v.magnitude >> o.scale;
    // A signed field holds its range; a field of 32 or 64 bits takes any number of that width.
    const std::uint64_t half = ones(len) / 2 + 1;
    const bool both = len == 32 || len == 64;
    const bool fits = v.negative ? (is_signed || both) && m <= half
                                 : m <= (is_signed && !both ? half - 1 : ones(len));
    const std::uint64_t raw = (v.negative ? 0 - m : m) & ones(len);
    if (!fits || !set_integer(o, raw, draft))
        return complaint.unfit(at, "the number does not fit this operand");
    return true;
}

bool OperandReader::floating(const OperandRow& o, const char*& p, Draft& draft) {
    const char* at = p;
    std::uint64_t bits = 0;
    bool ok;
    switch (o.imm_type) {
        case SASSDEC_IMM_F64: {
            ok = scan::floating(p, scan::Float::f64, bits);
            if (ok && o.len == 32) {
                if (bits & 0xffffffff)
                    return complaint.unfit(
                        at, "only doubles whose lower 32 bits are zero fit this operand");
                bits >>= 32;
            }
            break;
        }
        case SASSDEC_IMM_F16:
            ok = scan::floating(p, scan::Float::f16, bits);
            break;
        case SASSDEC_IMM_BF16:
            ok = scan::floating(p, scan::Float::bf16, bits);
            break;
        case SASSDEC_IMM_F16X2:
        case SASSDEC_IMM_BF16X2: {
            const scan::Float f =
                o.imm_type == SASSDEC_IMM_F16X2 ? scan::Float::f16 : scan::Float::bf16;
            std::uint64_t low = 0;
            ok = scan::floating(p, f, bits);
            if (!ok) break;
            p = scan::skip(p);
            if (!scan::literal(p, ",")) return complaint.say(p, "expected ',' and the lower half");
            p = scan::skip(p);
            ok = scan::floating(p, f, low);
            bits = bits << 16 | low;
            break;
        }
        default:
            ok = scan::floating(p, scan::Float::f32, bits);
            break;
    }
    if (!ok) return complaint.say(p, "expected a floating-point number");
    if (!set_integer(o, bits, draft))
        return complaint.unfit(at, "the number does not fit this operand");
    return true;
}

bool OperandReader::label(const OperandRow& o, const char*& p, Draft& draft) {
    const char* at = p;
    std::uint64_t target = 0;
    scan::Integer v;
    if (scan::integer(p, v)) {
        target = v.bits();
    } else {
        const bool quoted = scan::literal(p, "`(");
        const char* name = p;
        while (scan::is_word(*p) || *p == '.' || *p == '$') ++p;
        const std::size_t n = static_cast<std::size_t>(p - name);
        if (!n || (quoted && !scan::literal(p, ")")))
            return complaint.say(p, "expected a code address or a label");
        const sassdec_asm_options* opts = statement.options;
        if (!opts || !opts->symbol || !opts->symbol(opts->user, name, n, &target))
            return complaint.unfit(name, "unknown label");
    }
    const std::uint64_t from = o.flags & op_abs_target ? 0 : statement.pc + SASSDEC_INSN_BYTES;
    const std::int64_t rel = static_cast<std::int64_t>(target - from);
    const unsigned len = length(o);
    if (rel & ((std::int64_t{1} << o.scale) - 1))
        return complaint.unfit(at, "the target is not a multiple of the unit of jumps");
    const std::int64_t raw = rel >> o.scale;
    if (len < 64 && (raw >> (len - 1)) != 0 && (raw >> (len - 1)) != -1)
        return complaint.unfit(at, "the target is too far");
    if (!set_integer(o, static_cast<std::uint64_t>(raw) & ones(len), draft))
        return complaint.unfit(at, "the target does not fit");
    return true;
}

bool OperandReader::list(const OperandRow& o, const char*& p, Draft& draft) {
    if (!scan::literal(p, "{")) return complaint.say(p, "expected '{' and scoreboards");
    std::uint64_t mask = 0;
    for (p = scan::skip(p); *p != '}';) {
        if (*p < '0' || *p > '7') return complaint.say(p, "expected a scoreboard number");
        mask |= std::uint64_t{1} << (*p++ - '0');
        p = scan::skip(p);
        if (*p == ',')
            p = scan::skip(p + 1);
        else if (*p != '}')
            return complaint.say(p, "expected ',' or '}'");
    }
    if (!draft.set(o.pos, o.len, mask)) return complaint.say(p, "no such scoreboard in this list");
    ++p;
    return true;
}

bool OperandReader::read(const OperandRow& o, const char*& p, Draft& draft) {
    const char* at = p;
    switch (o.kind) {
        case SASSDEC_OP_REG:
        case SASSDEC_OP_CONST: {
            const bool constant_kind = o.kind == SASSDEC_OP_CONST;
            // A sign belongs to the operand where the row has a bit for it.
            const bool neg = o.neg != none && scan::literal(p, "-");
            const bool inv = o.inv != none && scan::literal(p, "~");
            const bool abs = o.abs != none && scan::literal(p, "|");
            if (!(constant_kind ? constant(o, p, draft) : reg(o, p, draft))) return false;
            const bool inside = (o.flags & op_inside) || constant_kind || o.file == SASSDEC_UR;
            if (inside && !suffix(o.suffix, p)) return false;
            if (abs && !scan::literal(p, "|")) return complaint.say(p, "expected '|'");
            bool again = scan::word(p, ".reuse");
            if (!inside && !suffix(o.suffix, p)) return false;
            if (!again) again = scan::word(p, ".reuse");
            if (again && o.reuse == none)
                return complaint.unfit(p, "this operand has no reuse flag");
            if (again && o.reuse >= 64) reuse = true;
            // Flags that share a bit with one that is not there are zero.
            return ((o.neg == none || draft.set(o.neg, 1, neg)) &&
                    (o.inv == none || draft.set(o.inv, 1, inv)) &&
                    (o.abs == none || draft.set(o.abs, 1, abs)) &&
                    (o.reuse == none || draft.set(o.reuse, 1, again))) ||
                   complaint.unfit(at, "this sign has no bit in this form");
        }
        case SASSDEC_OP_PRED: {
            const bool inv = o.inv != none && scan::literal(p, "!");
            unsigned index;
            if ((o.flags & op_nozero) && unknown(p, o.len))
                index = SASSDEC_PT;
            else if (!scan::pred(p, o.file == SASSDEC_UP, index))
                return complaint.say(p, o.file == SASSDEC_UP ? "expected a uniform predicate"
                                                             : "expected a predicate");
            const unsigned raw = o.flags & op_complement ? index ^ 7 : index;
            return (draft.set(o.pos, o.len, raw) && (o.inv == none || draft.set(o.inv, 1, inv))) ||
                   complaint.unfit(at, "this predicate does not fit here");
        }
        case SASSDEC_OP_IMM:
            return integer(o, p, draft);
        case SASSDEC_OP_FIMM: {
            if (!floating(o, p, draft)) return false;
            if (o.suffix == none) return true;
            p = scan::skip(p);  // infinities and NaNs print a blank
            return suffix(o.suffix, p);
        }
        case SASSDEC_OP_MEM: {
            if (!scan::literal(p, text(o.text)))
                return complaint.say(p, "expected a descriptor or address");
            bool described = o.desc != none;
            if (o.desc_if != none) {
                const char* q = p;
                described = scan::literal(q, "desc[");
                sets[o.desc_if] &= described ? ~ValueSet{1} : ValueSet{1};
            }
            if (described) {
                unsigned index;
                if (!scan::literal(p, "desc[")) return complaint.say(p, "expected desc[UR]");
                const char* reg_at = p;
                if (!scan::reg(p, true, index))
                    return complaint.say(p, "expected a uniform register");
                if (!set_register_before(draft, o.desc, o.ureg_len, index, o.flags & op_desc_next))
                    return complaint.unfit(reg_at, "this descriptor cannot be that register");
                if (!scan::literal(p, "]")) return complaint.say(p, "expected ']'");
            }
            return address(o, p, draft) && suffix(o.suffix, p);
        }
        case SASSDEC_OP_LABEL:
            return label(o, p, draft);
        case SASSDEC_OP_ENUM: {
            // Operand enums may be larger than a set of values: the lowest value with the longest
            // text.
            const EnumRow& e = enums[o.enumeration];
            int found = -1;
            std::size_t best = 0;
            for (unsigned v = 0; v < e.count; ++v) {
                const std::uint16_t t = enum_values[e.first + v].text;
                if (t == 0xffff) continue;
                const char* q = p;
                if (!scan::literal(q, text(t)) ||
                    (!(o.flags & op_glued) && (scan::is_word(*q) || *q == '?')))
                    continue;
                const std::size_t n = static_cast<std::size_t>(q - p);
                if (found >= 0 && n <= best) continue;
                found = static_cast<int>(v);
                best = n;
            }
            if (found < 0) return complaint.say(p, "expected a name that this operand knows");
            p += best;
            return draft.set_pieces(o.piece, static_cast<std::uint64_t>(found)) ||
                   complaint.unfit(at, "this name does not fit here");
        }
        case SASSDEC_OP_TEXT:
            return scan::word(p, text(o.text)) ||
                   complaint.say(p, "expected the operand's fixed text");
        case SASSDEC_OP_BARRIER:
        case SASSDEC_OP_SCOREBOARD: {
            unsigned n;
            if (!scan::literal(p, o.kind == SASSDEC_OP_BARRIER ? "B" : "SB") ||
                !scan::decimal(p, n) || scan::is_word(*p))
                return complaint.say(at, o.kind == SASSDEC_OP_BARRIER
                                             ? "expected a convergence barrier B0 to B15"
                                             : "expected a scoreboard SB0 to SB5");
            return draft.set(o.pos, o.len, n) ||
                   complaint.unfit(at, "there is no barrier of that number");
        }
        case SASSDEC_OP_SB_LIST:
            return list(o, p, draft);
        default:
            return complaint.unfit(p, "this operand cannot be written");
    }
}

bool OperandReader::set_default(const OperandRow& o, Draft& draft) {
    switch (o.kind) {
        case SASSDEC_OP_REG:
            return set_register(draft, o.pos, o.len, o.fallback) &&
                   (o.neg == none || draft.set(o.neg, 1, 0));
        case SASSDEC_OP_PRED: {
            const unsigned index = o.fallback & 7;
            return draft.set(o.pos, o.len, o.flags & op_complement ? index ^ 7 : index) &&
                   (o.inv == none || draft.set(o.inv, 1, o.fallback >> 3 & 1));
        }
        case SASSDEC_OP_IMM:
        case SASSDEC_OP_FIMM:
            return set_integer(o, static_cast<std::uint64_t>(o.fallback) >> o.scale, draft);
        case SASSDEC_OP_ENUM:
            return draft.set_pieces(o.piece, o.fallback);
        case SASSDEC_OP_BARRIER:
        case SASSDEC_OP_SCOREBOARD:
        case SASSDEC_OP_SB_LIST:
            return draft.set(o.pos, o.len, o.fallback);
        default:
            return false;
    }
}

void OperandReader::set_hidden(const OperandRow& o, Draft& draft) {
    switch (o.kind) {
        case SASSDEC_OP_REG:
            if (draft.free(o.pos, o.len)) set_register(draft, o.pos, o.len, SASSDEC_RZ);
            break;
        case SASSDEC_OP_PRED:
            if (draft.free(o.pos, o.len))
                draft.set(o.pos, o.len, o.flags & op_complement ? 0 : SASSDEC_PT);
            break;
        case SASSDEC_OP_MEM:
            if (o.pos != none && draft.free(o.pos, o.len))
                set_register(draft, o.pos, o.len, SASSDEC_RZ);
            if (o.ureg != none && draft.free(o.ureg, o.ureg_len))
                set_register(draft, o.ureg, o.ureg_len, SASSDEC_URZ);
            break;
        default:
            break;  // zero
    }
}

}  // namespace sassdec
