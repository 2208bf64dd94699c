// SPDX-License-Identifier: Apache-2.0
// What instructions do to marks, worked out once: of each one, and of straight runs of them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <sassemu/plugin.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "follow/registers.hpp"

namespace follow {

// What follows from a mark where only values could tell.
enum class Doubt : uint8_t {
    clears,  // a result is marked if all that it may come from is
    marks,   // if any of it is; and an address marks what is accessed through it
    values   // they are at hand: if what it comes from is. The plugin has Code::goes_by_values()
             // shown before they run, so that a block of records ends with such an instruction
};

// How the marked bits of a result follow from those of what is read.
enum class Transfer : uint8_t {
    mix,      // one marked bit marks all of the lane's results
    copy,     // bit by bit, register by register
    select,   // one of two, by a predicate
    logic,    // LOP3 with its table
    permute,  // PRMT with an immediate selector
    gather,   // of all lanes together (VOTE, MATCH, REDUX)
    shuffle,  // of another lane
    first,    // of the first lane (R2UR)
    matrix,   // of fragments of a warp: D = A B + C
    turn,     // of a fragment, transposed (MOVM)
    memory,   // loads and atomics: what memory holds
    spread,   // predicates of bits (R2P)
    pack,     // bits of predicates (P2R)
    compare,  // of what is compared, joined with a predicate
    combine   // PLOP3 with its tables
};

// A comparison, where its form is known.
struct Comparison {
    char joins = 0;     // & | ^
    char compares = 0;  // L l E N g G of LT LE EQ NE GE GT of 32-bit integers; else 0
    bool is_signed = true;
};

// Registers that an operand consists of.
struct Fragment {
    uint32_t row = no_row, count = 0;
};

// How the elements of a product lie in the fragments of a warp: mma of PTX, which all have alike.
// Lane l has of A row l / 4, of B column l / 4, of C and D row l / 4 and columns l % 4 * 2 and the
// next one; with sixteen rows each second element of A, and the second half of C and D, are of the
// row eight below.
struct Product {
    Fragment d, a, b, c;
    uint32_t words = 1;         // of an element in C and D; and of A's unit that has one row
    bool sixteen_rows = false;  // else eight
    bool halves = false;        // two elements of C and D in a register
    bool known = false;         // else everything depends on everything
};

// Which 16-bit element of a row LDSM and STSM move to which lane.
enum class MatrixShape : uint8_t { rows, transposed, other };

struct Instruction {
    sassemu_insn insn = nullptr;
    Transfer transfer = Transfer::mix;
    sassemu_effect effect{};
    bool guards_much = false;  // its guard decides what is accessed or where the path goes
    uint8_t tag = 0;           // the plugin's own
    bool meets = false;        // WARPSYNC
    bool reads_tensor = false, writes_tensor = false;  // tensor memory
    Origin makes = unnamed;  // marks of this origin are born in all that it makes; the plugin's
    uint32_t guard = no_row;
    bool guard_inverted = false;
    RowSet reads{}, writes{};
    RowSet control{};                     // decide: addresses, conditions
    std::vector<uint16_t> data, results;  // rows that are read and no control; rows written
    std::vector<uint32_t> masks;          // of `data`: bits that are looked at
    struct Source {                       // logic, permute
        uint32_t row = no_row, value = 0;
        bool known = false;  // an immediate, or RZ
    } source[3];
    // By the values that registers have when it is executed, if those are at hand (Doubt::values).
    bool by_values = false;
    std::vector<sassemu_operand> operands;  // its sources
    std::vector<uint32_t> named;            // rows of its destinations, in order; no_row: RZ, PT
    Comparison comparison;
    Product product;
    MatrixShape shape = MatrixShape::rows;
    uint32_t table = 0;      // logic: the LUT; permute: the selector; memory: bank of a constant
    uint32_t shuffle = ~0u;  // mode | lane << 8 where both are known
};

// What a stretch of code made of marks when it was gone through, where that depends on nothing else
// than the marks of registers.
struct Passage {
    uint32_t lanes = 0, active = 0;
    std::vector<Registers::Row> before, after;  // rows with marks
    std::vector<uint64_t*> decisions;           // what counts them
};

// A straight run by the same lanes, or a part of one.
struct Run {
    RowSet exposed{};  // read before it is written in the run
    RowSet writes{};
    RowSet results{};                          // of its instructions, executed or not
    bool makes = false, reads_tensor = false;  // an instruction of it does
    bool breaks = false;                       // it was seen to bring marks to memory or from there
    std::vector<Passage> passages;
    uint32_t oldest = 0;  // of these, once there are enough
};

// What is known of an instruction by its form: forms.cpp.
void find_form(Instruction& i, std::string_view name, std::string_view text,
               const sassemu_operand* destination, Doubt doubt);
inline bool is_any(std::string_view word, std::initializer_list<std::string_view> all) {
    return std::find(all.begin(), all.end(), word) != all.end();
}
inline bool is_predicate(const sassemu_operand& o) {
    return o.kind == SASSEMU_OPERAND_PREDICATE || o.kind == SASSEMU_OPERAND_UNIFORM_PREDICATE;
}
// Of a register or predicate; no_row: it is another operand, or RZ, or PT.
uint32_t row_of(const sassemu_operand& o);

class Code {
  public:
    // Whether an instruction goes by values; known before the code around it is there.
    static bool goes_by_values(const sassemu::Plugin& plugin, sassemu_insn insn);
    Instruction& add(const sassemu::Plugin& plugin, sassemu_insn insn, Doubt doubt);
    const Instruction& operator[](uint32_t index) const { return all_[index]; }
    size_t size() const { return all_.size(); }
    // Not executed: only the guards are looked at.
    Run& run(uint32_t first, uint32_t count, bool executed, bool part = false) {
        const uint64_t key = uint64_t{first} << 32 | uint64_t{count} << 1 | executed;
        Recent& r = recent_[2 * first + part];
        if (r.key != key) r = {key, &find(key, first, count, executed)};
        return *r.run;
    }

  private:
    Run& find(uint64_t key, uint32_t first, uint32_t count, bool executed);
    struct Recent {
        uint64_t key = ~uint64_t{0};
        Run* run = nullptr;
    };
    std::vector<Instruction> all_;
    std::vector<Recent> recent_;
    std::unordered_map<uint64_t, Run> runs_;
};

}  // namespace follow
