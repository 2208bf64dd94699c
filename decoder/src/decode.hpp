// SPDX-License-Identifier: Apache-2.0
// What the assembler asks of decoder and printer to check what it built. Internal to the library.
#pragma once
#include <cstdint>

#include "sassdec/sassdec.h"

namespace sassdec {

// Reads word w as form row `form` of the tables, whatever other forms it fits. False, with
// insn->status, when it does not fit.
bool decode_as(sassdec_arch arch, std::uint16_t form, const std::uint64_t w[2], std::uint64_t pc,
               sassdec_insn* insn);

// The field whose pseudo name (IMAD.MOV) the printer writes for this instruction, or -1.
int pseudo_name(const sassdec_insn& insn);

}  // namespace sassdec
