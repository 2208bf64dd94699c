// SPDX-License-Identifier: Apache-2.0
// What the behaviour of an instruction rests on, by the table beside this file (table.txt, of which
// generate.py makes rows). What belongs here: asking it. What does not: behaviour (emu/isa).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sassdec/sassdec.h"

namespace sassemu {

enum class EvidenceClass : uint8_t {
    none,           // the table does not know the instruction
    measured,       // on a chip of the family, and recorded
    vectors,        // published results of such a chip, which are replayed
    specification,  // what NVIDIA's documents say decides the result
    assumed
};
constexpr uint32_t evidence_classes = 5;
using EvidenceCounts = std::array<uint64_t, evidence_classes>;  // of something, by class
// "measured", as the table, --stats and reports call it.
const char* evidence_name(EvidenceClass kind);

// Texts live as long as the program; "" where there is none.
struct Evidence {
    EvidenceClass kind = EvidenceClass::none;
    const char* behaviour = "";
    const char* source = "";
};

// `name`: mnemonic and modifiers, as "HMMA.SP.16832.F32".
Evidence evidence_of(sassdec_arch family, std::string_view name);
Evidence evidence_of(const sassdec_insn& instruction);

// Changes with every change of the table.
const char* evidence_digest();

}  // namespace sassemu
