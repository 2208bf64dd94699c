// SPDX-License-Identifier: Apache-2.0
// Goes through a form's fields and operands in print order, with backtracking where the text allows
// several readings, then chooses values for what the text leaves open. See match.hpp.
#include "match.hpp"

#include <cstring>

#include "decode.hpp"
#include "operand_text.hpp"
#include "scan.hpp"

namespace sassdec {
namespace {
using namespace tables;

constexpr unsigned max_tries = 64;  // choices of open fields per reading of the text

class Matcher {
  public:
    Matcher(const Statement& s, std::uint16_t row, Complaint& complaint)
        : s_(s),
          row_(row),
          form_(forms[row]),
          complaint_(complaint),
          reader_{s, form_, sets_, complaint} {
        draft_.known = {form_.mask[0], form_.mask[1]};
        draft_.value = {form_.value[0], form_.value[1]};
        for (unsigned i = 0; i < form_.field_count; ++i) {
            const std::uint16_t e = fields[form_.fields + i].enumeration;
            sets_[i] = e == 0xffff             ? 0
                       : enums[e].count >= 128 ? ~ValueSet{0}
                                               : (ValueSet{1} << enums[e].count) - 1;
        }
    }

    bool run(std::uint64_t (&word)[2]) {
        const char* p = s_.mnemonic;
        if (!scan::literal(p, text(shapes[form_.shape].mnemonic)))
            return complaint_.say(p, "no instruction of this name with these modifiers");
        if (s_.guard_given && s_.guard_uniform != (form_.uniform_guard != 0))
            return complaint_.unfit(
                s_.guard_at, form_.uniform_guard
                                 ? "the guard of this instruction is a uniform predicate"
                                 : "the guard of this instruction is a predicate P0 to P6 or PT");
        if (!match_field(0, p)) return false;
        word[0] = word_[0];
        word[1] = word_[1];
        return true;
    }

  private:
    const FieldRow& field(unsigned i) const { return fields[form_.fields + i]; }

    // Narrows a field's set while `next` runs; restores it when that fails.
    template <typename Next>
    bool narrow(unsigned f, ValueSet values, Next next) {
        const ValueSet saved = sets_[f];
        sets_[f] &= values;
        if (sets_[f] && next()) return true;
        sets_[f] = saved;
        return false;
    }

    bool match_field(unsigned i, const char* p) {
        while (i < form_.field_count && !field(i).printed) ++i;
        if (i == form_.field_count) {
            if (*p && *p != ';' && !scan::is_blank(*p))
                return complaint_.say(p, "no such modifier here");
            return match_operand(0, p, false);
        }
        const FieldRow& f = field(i);
        if (f.printed >=
            2) {  // a pseudo name carries no bits; whether it may stand here shows at the end
            const char* q = p;
            if (pseudo_ < 0 && scan::word(q, text(f.text))) {
                pseudo_ = static_cast<int>(i);
                if (match_field(i + 1, q)) return true;
                pseudo_ = -1;
            }
            return match_field(i + 1, p);
        }
        if (f.when == none) return match_shown(i, p);
        return narrow(f.when, f.when_mask, [&] { return match_shown(i, p); }) ||
               narrow(f.when, ~ValueSet{f.when_mask}, [&] { return match_field(i + 1, p); });
    }

    bool match_shown(unsigned i, const char* p) {
        const FieldRow& f = field(i);
        if (f.enumeration == 0xffff) {
            if (!scan::literal(p, text(f.text)))
                return complaint_.say(p, "a modifier is missing here");
            return match_field(i + 1, p);
        }
        // Longest text first; shorter ones may be right too (.U before .U.ANY).
        ValueSet left = sets_[i];
        while (left) {
            const char* q = p;
            const ValueSet values = match_enum(f.enumeration, left, q);
            if (!values) break;
            if (narrow(i, values, [&] { return match_field(i + 1, q); })) return true;
            left &= ~values;
        }
        return complaint_.say(p,
                              *p == '.' ? "no such modifier here" : "a modifier is missing here");
    }

    bool match_operand(unsigned j, const char* p, bool any) {
        if (j == form_.operand_count) return match_end(p);
        const OperandRow& o = operands[form_.operands + j];
        const char* q = scan::skip(p);
        const bool end = !*q || *q == ';' || *q == '&' || (*q == '?' && q[1] != '?' && q != p);
        const bool unless = o.flags & op_unless;
        bool shown = !end;
        if (shown && any && !separator(o, p, q)) shown = complaint_.say(q, "expected ','");
        if (shown) {
            const ValueSet wanted = o.when == none || unless ? ~ValueSet{0} : ValueSet{o.when_mask};
            if (o.when != none ? narrow(o.when, wanted, [&] { return match_visible(j, q); })
                               : match_visible(j, q))
                return true;
        }
        // Not printed: at its default, or under a condition that does not hold.
        const Draft saved = draft_;
        if ((o.flags & op_optional) && OperandReader::set_default(o, draft_)) {
            const ValueSet wanted = unless ? ~ValueSet{o.when_mask} : ValueSet{o.when_mask};
            if (o.when != none
                    ? narrow(o.when, wanted, [&] { return match_operand(j + 1, p, any); })
                    : match_operand(j + 1, p, any))
                return true;
        }
        draft_ = saved;
        if (o.when != none && !unless) {
            hidden_ |= 1u << j;
            if (narrow(o.when, ~ValueSet{o.when_mask},
                       [&] { return match_operand(j + 1, p, any); }))
                return true;
            hidden_ &= ~(1u << j);
        }
        if (end) complaint_.say(q, "an operand is missing here");
        return false;
    }

    // After `p` the operand's separator; a comma may be left out after a closing bracket, as in `ST
    // [R2] R3`.
    bool separator(const OperandRow& o, const char* p, const char*& q) {
        if (*text(o.separator) != ',') return true;
        if (*q == ',')
            q = scan::skip(q + 1);
        else if (p[-1] != ']' || q == p)
            return false;
        return true;
    }

    bool match_visible(unsigned j, const char* p) {
        const OperandRow& o = operands[form_.operands + j];
        const Draft draft = draft_;
        const bool reuse = reader_.reuse;
        const ValueSet suffix = o.suffix != none ? sets_[o.suffix] : 0,
                       ext = o.ext != none ? sets_[o.ext] : 0,
                       described = o.desc_if != none ? sets_[o.desc_if] : 0;
        if (reader_.read(o, p, draft_) && match_operand(j + 1, p, true)) return true;
        if (o.desc_if != none) sets_[o.desc_if] = described;
        if (o.ext != none) sets_[o.ext] = ext;
        if (o.suffix != none) sets_[o.suffix] = suffix;
        reader_.reuse = reuse;
        draft_ = draft;
        return false;
    }

    bool match_end(const char* p) {
        ControlText control;
        if (!parse_control(p, control, complaint_)) return false;
        const int schedule = schedule_bits(control, reader_.reuse, p, complaint_);
        if (schedule < 0) return false;
        const Draft saved = draft_;
        if (!draft_.set(12, 3, s_.guard) || !draft_.set(15, 1, s_.guard_neg)) {
            draft_ = saved;
            return complaint_.unfit(s_.mnemonic, "this instruction takes no such guard");
        }
        draft_.set(105, 5, static_cast<std::uint64_t>(schedule));
        draft_.set(110, 6, 0x3f);  // no barriers yet; apply_control chooses
        tries_ = 0;
        end_ = p;
        // Fields with one value left first: they bind bits that others share.
        bool ok = true;
        for (unsigned i = 0; ok && i < form_.field_count; ++i)
            if (const ValueSet v = valid(i); field(i).enumeration != 0xffff && v && !(v & (v - 1)))
                ok = draft_.set_pieces(field(i).piece, lowest(v));
        if (!ok) complaint_.unfit(p, "these modifiers and operands do not go together");
        if (ok) {
            // As compilers fill the bits that no text shows, if that is an instruction.
            const Draft open = draft_;
            fill(draft_);
            if (choose(0, control)) return true;
            draft_ = open;
            if (form_.fill_count && choose(0, control)) return true;
        }
        draft_ = saved;
        return false;
    }

    ValueSet valid(unsigned i) const {
        const std::uint16_t e = field(i).enumeration;
        if (e == 0xffff) return 0;
        ValueSet v = 0;
        for (unsigned k = 0; k < enums[e].count; ++k)
            if ((sets_[i] >> k & 1) && enum_values[enums[e].first + k].text != 0xffff)
                v |= ValueSet{1} << k;
        return v;
    }
    static unsigned lowest(ValueSet v) {
        const std::uint64_t lo = static_cast<std::uint64_t>(v);
        return lo ? static_cast<unsigned>(__builtin_ctzll(lo))
                  : 64 +
                        static_cast<unsigned>(__builtin_ctzll(static_cast<std::uint64_t>(v >> 64)));
    }

    void fill(Draft& draft) const {
        for (unsigned k = 0; k < form_.fill_count; ++k) {
            const FillRow& f = fills[form_.fills + k];
            if (draft.free(f.pos, f.len)) draft.set(f.pos, f.len, f.value);
        }
    }

    // Gives the fields from i on the lowest values that fit the bits already known.
    bool choose(unsigned i, const ControlText& control) {
        ValueSet v = 0;
        for (; i < form_.field_count; ++i) {
            v = valid(i);
            if (v & (v - 1)) break;
        }
        if (i == form_.field_count) return finish(control);
        for (; v && tries_ < max_tries; v &= v - 1) {
            const Draft saved = draft_;
            const ValueSet set = sets_[i];
            if (draft_.set_pieces(field(i).piece, lowest(v))) {
                if (choose(i + 1, control)) return true;
            }
            sets_[i] = set;
            draft_ = saved;
        }
        return false;
    }

    bool finish(const ControlText& control) {
        ++tries_;
        Draft whole = draft_;
        for (unsigned j = 0; j < form_.operand_count; ++j)
            if (hidden_ >> j & 1) OperandReader::set_hidden(operands[form_.operands + j], whole);
        word_[0] = whole.value.lo;
        word_[1] = whole.value.hi;
        sassdec_insn insn;
        if (!verify(insn)) return false;
        if (!schedule_allowed(control)) return false;
        apply_control(control, insn, word_);
        if ((control.bits_mask.lo | control.bits_mask.hi) &&
            sassdec_decode(s_.arch, word_, s_.pc, &insn) != SASSDEC_OK)
            return complaint_.unfit(end_, "with these &bits the word is no instruction");
        if ((control.write_barrier >= 0 || control.read_barrier >= 0 || control.wait >= 0) &&
            sassdec_decode(s_.arch, word_, s_.pc, &insn) != SASSDEC_OK)
            return complaint_.unfit(end_,
                                    "this instruction cannot release or wait for that scoreboard");
        return true;
    }

    // The word must decode to what was meant: as this form, or as another that prints the same.
    bool verify(sassdec_insn& insn) {
        sassdec_decode(s_.arch, word_, s_.pc, &insn);
        if (insn.status != SASSDEC_OK || insn.form != row_) {
            sassdec_insn meant;
            if (!decode_as(s_.arch, row_, word_, s_.pc, &meant)) {
                switch (meant.status) {
                    case SASSDEC_E_REGISTER:
                        return complaint_.unfit(end_,
                                                "a register of this instruction is not aligned as "
                                                "its width needs, or is RZ where none may stand");
                    case SASSDEC_E_CONTROL:
                        return complaint_.unfit(end_,
                                                "this instruction cannot have these control bits");
                    default:
                        return complaint_.unfit(end_,
                                                "these modifiers and operands do not go together");
                }
            }
            char want[512], got[512];
            if (insn.status != SASSDEC_OK ||
                sassdec_format(&meant, nullptr, want, sizeof want) < 0 ||
                sassdec_format(&insn, nullptr, got, sizeof got) < 0 || std::strcmp(want, got))
                return complaint_.unfit(
                    end_, "the encoding of this combination means another instruction");
            insn = meant;
        }
        if (pseudo_ >= 0 && pseudo_name(insn) != pseudo_)
            return complaint_.unfit(end_,
                                    "the operands do not fit this short name of the instruction");
        return true;
    }

    bool schedule_allowed(const ControlText& control) {
        return control.stall < 0 || control.stall >= form_.stall ||
               complaint_.unfit(control.stall_at,
                                "this instruction needs a schedule of ?WAIT5 or more");
    }

    const Statement& s_;
    std::uint16_t row_;
    const FormRow& form_;
    Complaint& complaint_;
    ValueSet sets_[SASSDEC_MAX_FIELDS];
    OperandReader reader_;
    Draft draft_;
    std::uint32_t hidden_ = 0;  // operands that a condition hides
    int pseudo_ = -1;
    unsigned tries_ = 0;
    const char* end_ = nullptr;
    std::uint64_t word_[2] = {};
};

}  // namespace

bool match_form(const Statement& statement, std::uint16_t row, std::uint64_t (&word)[2],
                Complaint& complaint) {
    return Matcher(statement, row, complaint).run(word);
}

}  // namespace sassdec
