// SPDX-License-Identifier: Apache-2.0
// The line loops of `disasm --words` and `asm --words`: one line in, one line out. Argument parsing
// belongs to the caller.
#pragma once
#include <cstdio>

#include "sassdec/sassdec.h"

namespace sassdec {

// Reads lines `32 hex digits [TAB pc in hex]` from in until its end and writes exactly one line
// each to out: the text, or <undecodable: reason>. A line that is not a word is undecodable too.
// `exact`: with what the text alone does not say (sassdec_format_exact).
void disassemble_words(sassdec_arch arch, bool exact, std::FILE* in, std::FILE* out);

// Reads lines `text [TAB pc in hex]` and writes the 32 hex digits of the word, or <error: reason>.
void assemble_words(sassdec_arch arch, std::FILE* in, std::FILE* out);

}  // namespace sassdec
