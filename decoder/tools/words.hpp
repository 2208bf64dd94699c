// The line loop of `disasm --words`: one word in, one line of text out. Argument parsing belongs to the caller.
#pragma once
#include <cstdio>

#include "sassdec/sassdec.h"

namespace sassdec {

// Reads lines `32 hex digits [TAB pc in hex]` from in until its end and writes exactly one line each to out:
// the text, or <undecodable: reason>. A line that is not a word is undecodable too.
void disassemble_words(sassdec_arch arch, std::FILE* in, std::FILE* out);

}  // namespace sassdec
