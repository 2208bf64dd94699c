// SPDX-License-Identifier: Apache-2.0
// One form of the tables against one line of text: the printer run backwards. Internal to the
// library.
#pragma once
#include "control_text.hpp"
#include "sassdec/sassdec.h"
#include "tables.hpp"

namespace sassdec {

// The line, taken apart as far as that needs no form.
struct Statement {
    sassdec_arch arch = SASSDEC_ARCH_UNKNOWN;
    std::uint64_t pc = 0;
    const sassdec_asm_options* options = nullptr;
    const char* mnemonic = nullptr;  // where the mnemonic begins
    const char* guard_at = nullptr;
    std::uint8_t guard = SASSDEC_PT;
    bool guard_neg = false, guard_given = false, guard_uniform = false;
    bool lenient = false;  // a zero register may stand in an address that is printed without it
};

// Whether the text can be read as form row `row`: then the word, checked by decoding it. Else the
// furthest complaint.
bool match_form(const Statement& statement, std::uint16_t row, std::uint64_t (&word)[2],
                Complaint& complaint);

}  // namespace sassdec
