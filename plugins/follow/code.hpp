// SPDX-License-Identifier: Apache-2.0
// What instructions do to marks, worked out once: of each one, and of straight runs of them.
#pragma once

#include <sassemu/plugin.hpp>
#include <unordered_map>
#include <vector>

#include "follow/registers.hpp"

namespace follow {

// How the marked bits of a result follow from those of what is read.
enum class Transfer : uint8_t {
    mix,        // one marked bit marks all of the lane's results
    copy,       // bit by bit, register by register
    select,     // one of two, by a predicate
    logic,      // LOP3 with its table
    permute,    // PRMT with an immediate selector
    gather,     // of all lanes together (VOTE, MATCH, REDUX)
    shuffle,    // of another lane
    first,      // of the first lane (R2UR)
    matrix,     // of fragments of a warp
    memory,     // loads and atomics: what memory holds
    predicates  // R2P
};

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
    RowSet reads{}, writes{};
    RowSet control{};                     // decide: addresses, conditions
    std::vector<uint16_t> data, results;  // rows that are read and no control; rows written
    std::vector<uint32_t> masks;          // of `data`: bits that are looked at
    struct Source {                       // logic, permute
        uint32_t row = no_row, value = 0;
        bool known = false;  // an immediate, or RZ
    } source[3];
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

class Code {
  public:
    // `certain`: what may be read counts as not read.
    Instruction& add(const sassemu::Plugin& plugin, sassemu_insn insn, bool certain);
    const Instruction& operator[](uint32_t index) const { return all_[index]; }
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
