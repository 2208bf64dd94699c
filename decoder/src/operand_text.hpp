// SPDX-License-Identifier: Apache-2.0
// Reading one operand's text into the bits of a word. Internal to the library.
#pragma once
#include "match.hpp"

namespace sassdec {

__extension__ typedef unsigned __int128 ValueSet;  // bit v: a field may still have raw value v

// A word that is being built: bits once known keep their value.
struct Draft {
    tables::Word value{0, 0}, known{0, 0};

    bool set(unsigned pos, unsigned len, std::uint64_t v) {
        const std::uint64_t ones = len >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << len) - 1;
        if (v & ~ones) return false;
        const unsigned shift = pos % 64;
        std::uint64_t mask[2] = {}, bits[2] = {};
        mask[pos / 64] = ones << shift;
        bits[pos / 64] = v << shift;
        if (pos < 64 && shift + len > 64) {
            mask[1] = ones >> (64 - shift);
            bits[1] = v >> (64 - shift);
        }
        if (((value.lo ^ bits[0]) & known.lo & mask[0]) |
            ((value.hi ^ bits[1]) & known.hi & mask[1]))
            return false;
        value.lo |= bits[0];
        value.hi |= bits[1];
        known.lo |= mask[0];
        known.hi |= mask[1];
        return true;
    }
    bool set_pieces(const tables::Piece* p, std::uint64_t v) {
        unsigned len = 0;
        for (int i = 0; i < 4 && p[i].len; ++i) len += p[i].len;
        if (len < 64 && v >> len) return false;
        for (int i = 0; i < 4 && p[i].len; ++i) {
            len -= p[i].len;
            const std::uint64_t ones =
                p[i].len >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << p[i].len) - 1;
            if (!set(p[i].pos, p[i].len, v >> len & ones)) return false;
        }
        return true;
    }
    bool free(unsigned pos, unsigned len) const { return known.get(pos, len) == 0; }
};

// What reading operands may narrow down: the sets of values of the form's fields.
struct OperandReader {
    const Statement& statement;
    const tables::FormRow& form;
    ValueSet* sets;  // by field of the form
    Complaint& complaint;
    bool reuse = false;  // some operand has a reuse flag

    // Reads operand o at p. False: the text does not fit, with a complaint.
    bool read(const tables::OperandRow& o, const char*& p, Draft& draft);
    // The value at which an optional operand is not printed.
    static bool set_default(const tables::OperandRow& o, Draft& draft);
    // A value for an operand that the text does not show: PT, RZ or 0, as far as its bits are free.
    static void set_hidden(const tables::OperandRow& o, Draft& draft);

  private:
    bool suffix(std::uint8_t field, const char*& p);
    bool reg(const tables::OperandRow& o, const char*& p, Draft& draft);
    bool constant(const tables::OperandRow& o, const char*& p, Draft& draft);
    bool address(const tables::OperandRow& o, const char*& p, Draft& draft);
    bool offset(const tables::OperandRow& o, std::int64_t v, bool absolute, Draft& draft);
    bool integer(const tables::OperandRow& o, const char*& p, Draft& draft);
    bool floating(const tables::OperandRow& o, const char*& p, Draft& draft);
    bool label(const tables::OperandRow& o, const char*& p, Draft& draft);
    bool list(const tables::OperandRow& o, const char*& p, Draft& draft);
};

// The longest text of enum e, among the values in `allowed`, that stands at p as whole words; all
// values that print so.
ValueSet match_enum(std::uint16_t e, ValueSet allowed, const char*& p);

}  // namespace sassdec
