// SPDX-License-Identifier: Apache-2.0
// Shape of the generated tables. Only plain rows live here; the rows themselves come from ../isa
// through ../gen. Everything is constant data, so loading the library does no work.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sassdec/effects.h"

namespace sassdec::tables {

constexpr std::uint8_t none = 0xff;

struct EnumValueRow {
    std::uint16_t text;   // offset in strings
    std::uint8_t canon;   // value in the C++ enum
    std::uint8_t weight;  // registers, where the enum selects a width
};

struct EnumRow {
    std::uint32_t first;  // row of value 0 in enum_values
    std::uint16_t count;  // rows; a raw value at or beyond it is invalid
    std::uint16_t name;
};

struct Piece {
    std::uint8_t pos, len;
};

struct FieldRow {
    std::uint64_t when_mask;  // bit v: printed when the `when` field has raw value v
    Piece piece[4];           // most significant first; len 0 ends
    std::uint16_t enumeration;
    std::uint16_t text;  // literal text when enumeration is 0xffff
    std::uint16_t name;
    std::uint8_t when;  // field index or none
    std::uint8_t
        printed;  // 0 no, 1 yes, 2+n: a pseudo name with n conditions {operand, Pseudo} in piece
};

enum Pseudo : std::uint8_t { pseudo_zero, pseudo_one, pseudo_pow2 };

enum OperandFlag : std::uint32_t {
    op_write = 1,
    op_read = 2,
    op_optional = 4,
    op_cx = 8,
    op_off_signed = 16,
    op_keepzero = 32,
    op_plainzero = 64,
    op_abs_target = 128,
    op_complement = 256,
    op_desc_next = 512,
    op_ur_optional = 1024,
    op_spaced = 2048,
    op_inside = 4096,
    op_next = 8192,
    op_glued = op_next /* of names */,
    op_unless = 16384,
    op_nozero = 32768,
    op_rejectzero = 0x10000,
    op_abs_other = 0x20000,
    op_upper = 0x40000
};

struct OperandRow {
    std::uint64_t when_mask;
    std::uint32_t flags;
    std::uint16_t enumeration;  // enum operands
    std::uint16_t text;         // literal, or memory prefix
    std::uint16_t separator;    // printed before the operand
    std::uint16_t name;
    std::uint16_t fallback;  // value at which an optional operand is hidden
    Piece piece[4];          // label, enum, split immediates and offsets
    std::uint8_t kind, file, pos, len;
    std::uint8_t neg, abs, inv, reuse;
    std::uint8_t width, width_field, align, suffix;
    std::uint8_t when, imm_type, scale, ext;
    std::uint8_t off, off_len, ureg, ureg_len;
    std::uint8_t desc, desc_if, bank,
        bank_len;  // desc_if: the field that says whether there is a descriptor, or none
    std::uint8_t width_factor;  // a field whose weight multiplies that of width_field, or none
};

struct DenyRow {  // the word is invalid when every condition holds
    std::uint64_t mask[3];
    std::uint8_t field[3];
    std::uint8_t count;
};

enum Scoreboard : std::uint8_t { by_operands, no_scoreboard, write_scoreboard, read_scoreboard };

struct FormRow {
    std::uint64_t mask[2], value[2];
    std::uint16_t shape, fields, operands, denies;
    std::uint8_t field_count, operand_count, deny_count, uniform_guard;
    std::uint8_t variable, reuse_mask;  // variable latency; operands with a reuse bit, bit 0 = 122
    std::uint8_t scoreboard, stall;     // for the assembler: default scoreboard, least stall cycles
    std::uint8_t fills, fill_count;     // for the assembler: bits that nothing else decides
    std::uint8_t barred_scoreboards;    // 1: names no write barrier; 2: names no read barrier
    std::uint16_t effect;
};

struct FillRow {
    std::uint8_t pos, len, value;
};

struct ShapeRow {
    std::uint32_t groups;
    std::uint16_t mnemonic, id;
};

struct EffectRow {
    sassdec_effect constant;       // what holds of every such word
    std::uint16_t columns, count;  // what fields decide, in effect_columns
};

struct EffectColumnRow {
    std::uint8_t column, field;  // offset in sassdec_effect, index of the field
    std::uint16_t values;        // of raw value 0, in effect_values
};

struct ColumnNameRow {
    const char* name;
    std::uint8_t column;
    const char* const* words;  // null: a number
};

struct RootRow {  // the forms whose mnemonic begins with this name, for the assembler
    std::uint16_t name, first, count;
};

struct FamilyRow {
    const std::uint16_t* start;       // 8193 offsets into candidates, by 13-bit opcode
    const std::uint16_t* candidates;  // form rows, most specific first
    const RootRow* roots;             // sorted by name
    const std::uint16_t* named;       // form rows by root, in the description's order
    std::uint16_t root_count;
};

// Hidden: a program and libsassemu.so that it loads may each have the tables.
#pragma GCC visibility push(hidden)
extern const char strings[];
extern const EnumValueRow enum_values[];
extern const EnumRow enums[];
extern const FieldRow fields[];
extern const OperandRow operands[];
extern const DenyRow denies[];
extern const FillRow fills[];
extern const FormRow forms[];
extern const ShapeRow shapes[];
extern const EffectRow effects[];
extern const EffectColumnRow effect_columns[];
extern const std::uint8_t effect_values[];
extern const char* const kind_words[];
extern const char* const action_words[];
extern const ColumnNameRow column_names[];  // kind and action apart; ends with an empty one
extern const FamilyRow families[];
extern const std::size_t bytes;  // of all tables together
#pragma GCC visibility pop

inline const char* text(std::uint16_t offset) { return strings + offset; }

struct Word {
    std::uint64_t lo, hi;
    // Bits [pos, pos+len), len 1..64.
    std::uint64_t get(unsigned pos, unsigned len) const {
        std::uint64_t v;
        if (pos >= 64)
            v = hi >> (pos - 64);
        else if (pos == 0)
            v = lo;
        else
            v = lo >> pos | hi << (64 - pos);
        return len >= 64 ? v : v & ((std::uint64_t{1} << len) - 1);
    }
    bool bit(unsigned pos) const { return (pos < 64 ? lo >> pos : hi >> (pos - 64)) & 1; }
};

inline std::uint64_t get_pieces(const Word& w, const Piece* p) {
    std::uint64_t v = w.get(p[0].pos, p[0].len);
    for (int i = 1; i < 4 && p[i].len; ++i) v = v << p[i].len | w.get(p[i].pos, p[i].len);
    return v;
}

// Whether a condition's set of values has this one.
inline bool condition(std::uint64_t mask, std::uint16_t raw) {
    return raw < 64 && (mask >> raw & 1);
}

}  // namespace sassdec::tables
