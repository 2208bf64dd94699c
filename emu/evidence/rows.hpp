// SPDX-License-Identifier: Apache-2.0
// The rows that generate.py makes of table.txt. Only evidence.cpp looks at them.
#pragma once

#include "emu/evidence/evidence.hpp"

namespace sassemu {

struct EvidencePattern {
    std::string_view mnemonic, modifiers;  // "HMMA", "SP"
    uint32_t parts;                        // how many
    uint32_t row;
};

extern const EvidencePattern evidence_patterns[];  // by mnemonic
extern const uint32_t evidence_pattern_count;
extern const Evidence evidence_rows[][SASSDEC_ARCH_COUNT];

}  // namespace sassemu
