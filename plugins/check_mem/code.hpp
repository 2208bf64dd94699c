// SPDX-License-Identifier: Apache-2.0
// What instructions do to definedness, worked out once: of each one, and of straight runs of them.
#pragma once

#include <sassemu/plugin.hpp>
#include <unordered_map>
#include <vector>

#include "floats.hpp"
#include "registers.hpp"

namespace check_mem {

// How the undefined bits of a result follow from those of what is read.
enum class Transfer : uint8_t {
    mix,        // one undefined bit makes all of the lane's results undefined
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
    bool guards_much = false;      // its guard decides what is accessed or where the path goes
    Format format = Format::none;  // of what it computes
    bool meets = false;            // WARPSYNC
    uint32_t guard = no_row;
    RowSet reads{}, writes{};
    RowSet control{};                     // must have a value: addresses, conditions
    std::vector<uint16_t> data, results;  // rows that are read and no control; rows written
    std::vector<uint32_t> masks;          // of `data`: bits that are looked at
    struct Source {                       // logic, permute
        uint32_t row = no_row, value = 0;
        bool known = false;  // an immediate, or RZ
    } source[3];
    uint32_t table = 0;      // logic: the LUT; permute: the selector; memory: bank of a constant
    uint32_t shuffle = ~0u;  // mode | lane << 8 where both are known
};

// A straight run by the same lanes.
struct Run {
    RowSet exposed{};  // read before it is written in the run
    RowSet writes{};
};

class Code {
  public:
    void add(const sassemu::Plugin& plugin, sassemu_insn insn);
    const Instruction& operator[](uint32_t index) const { return all_[index]; }
    // Not executed: only the guards are looked at.
    const Run& run(uint32_t first, uint32_t count, bool executed) {
        const uint64_t key = uint64_t{first} << 32 | uint64_t{count} << 1 | executed;
        Recent& r = recent_[first];
        if (r.key != key) r = {key, &find(key, first, count, executed)};
        return *r.run;
    }

  private:
    const Run& find(uint64_t key, uint32_t first, uint32_t count, bool executed);
    struct Recent {
        uint64_t key = ~uint64_t{0};
        const Run* run = nullptr;
    };
    std::vector<Instruction> all_;
    std::vector<Recent> recent_;
    std::unordered_map<uint64_t, Run> runs_;
};

}  // namespace check_mem
