// SPDX-License-Identifier: Apache-2.0
// The control suffix of assembler text: `&req={0,3} &rd=1 &wr=none ?WAIT4 ?YIELD
// &bits={127:126=1}`. What it means is in
// ../doc/asm.md. Internal to the library.
#pragma once
#include "sassdec/sassdec.h"
#include "tables.hpp"

namespace sassdec {

struct Complaint {  // the furthest point that any reading of the line reached, and what was missing
                    // there
    const char* at = nullptr;
    const char* why = nullptr;
    bool exact = false;
    bool say(const char* p, const char* reason, bool exactly = false) {
        if (!at || p > at || (p == at && exactly && !exact)) {
            at = p;
            why = reason;
            exact = exactly;
        }
        return false;
    }
    // The right kind of thing stands at p, but it does not fit: that says more than what another
    // form expected there.
    bool unfit(const char* p, const char* reason) { return say(p, reason, true); }
};

// What a suffix says; -1 (no mask bits) where it says nothing.
struct ControlText {
    int wait = -1, read_barrier = -1, write_barrier = -1, stall = -1;
    bool yield = false;
    const char* stall_at = nullptr;
    tables::Word bits_mask{0, 0}, bits_value{0, 0};
};

// Reads a suffix up to the end of the text (or a final ';').
bool parse_control(const char* p, ControlText& control, Complaint& complaint);

// The 5-bit schedule (bits 109:105) that the text asks for, or the safe default. `reuse`: an
// operand has a reuse flag. Returns -1 and complains where the combination has no encoding.
int schedule_bits(const ControlText& control, bool reuse, const char* at, Complaint& complaint);

// Sets wait mask and barriers of an assembled word: what the text asks for, or else the safe
// default for this instruction.
void apply_control(const ControlText& control, const sassdec_insn& insn, std::uint64_t (&word)[2]);

}  // namespace sassdec
