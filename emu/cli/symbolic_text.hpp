// SPDX-License-Identifier: Apache-2.0
// The text of an instruction with a name in place of a number: labels of branches, and what a
// relocation will put into an operand, as nvdisasm prints it: `32@lo((kernel + .L_x_0@srel))`. What
// does not belong here: what labels are called (listing.cpp).
#pragma once

#include <string>

#include "sassdec/sassdec.h"

namespace sassemu::cli {

enum class Place { none, immediate, target, constant, address, handle };

// Where the linker puts a value of this R_CUDA type, and what stands around the expression.
// Place::none: the text is that of the word as it is.
struct RelocationText {
    Place place = Place::none;
    const char* before = "";
    const char* after = "";
};
[[nodiscard]] RelocationText relocation_text(unsigned type);

// R_CUDA_YIELD_OPCODE9_0: the linker may put another instruction here; a note says so.
inline constexpr unsigned relocates_opcode = 0x44;

// `value` may be of any length. A constant's bank is not shown beside it: the linker chooses that
// too.
[[nodiscard]] std::string text_with(sassdec_insn insn, Place place, const std::string& value);

// As sassdec_format(); says so when the text does not fit, which no instruction of the tables
// reaches.
[[nodiscard]] std::string plain_text(const sassdec_insn& insn);

}  // namespace sassemu::cli
