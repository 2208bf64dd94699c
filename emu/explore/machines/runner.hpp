// SPDX-License-Identifier: Apache-2.0
// A thread on a machine: concrete registers, and what it does by itself. What belongs here: nothing
// that memory takes part in (machine_states.hpp).
#pragma once

#include <algorithm>

#include "emu/explore/graph/state.hpp"

namespace sassemu::explore {

// A thread's program counter and registers, the part of its state that any machine has.
struct Runner {
    uint32_t pc = 0;
    std::vector<uint64_t> registers;
};

inline uint64_t value_of(const Runner& r, const Argument& from) {
    if (const auto* reg = std::get_if<Register>(&from)) return r.registers[reg->number];
    const auto* number = std::get_if<uint64_t>(&from);
    return number ? *number : 0;
}

// Arithmetic and branches: false when the instruction is neither.
inline bool step_plain(Runner& r, const Operation& o) {
    const auto* branch = std::get_if<op::Branch>(&o);
    if (branch && (!branch->if_equal ||
                   (value_of(r, branch->b) == value_of(r, branch->c)) == *branch->if_equal)) {
        r.pc = branch->target;
        return true;
    }
    if (const auto* move = std::get_if<op::Move>(&o))
        r.registers[move->to.number] = value_of(r, move->from);
    else if (const auto* c = std::get_if<op::Compute>(&o))
        r.registers[c->to.number] = apply(c->how, value_of(r, c->b), value_of(r, c->c));
    else if (!branch)
        return false;
    ++r.pc;
    return true;
}

// Whether the instruction reads or writes one of the registers.
inline bool touches(const Statement& i, const std::vector<uint32_t>& registers) {
    bool found = false;
    const auto one = [&](Register r) {
        found |= std::find(registers.begin(), registers.end(), r.number) != registers.end();
    };
    if (i.guard >= 0) one({static_cast<uint32_t>(i.guard)});
    for_operands(i.what, Overloaded{one,
                                    [&](const Argument& from) {
                                        if (const auto* r = std::get_if<Register>(&from)) one(*r);
                                    },
                                    [](const Place&) {}});
    return found;
}

// A state as bytes: equal states have equal keys.
class Key {
  public:
    Key& add(uint64_t v) {
        do {
            bytes_ += static_cast<char>((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
            v >>= 7;
        } while (v);
        return *this;
    }
    Key& add(const Runner& r) {
        add(r.pc);
        for (const uint64_t v : r.registers) add(v);
        return *this;
    }
    std::string take() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

}  // namespace sassemu::explore
