// SPDX-License-Identifier: Apache-2.0
// Older spellings, see spellings.cpp. Internal to the library.
#pragma once
#include <cstddef>

namespace sassdec {

// Whether the mnemonic has an older spelling at all.
bool may_be_older(const char* mnemonic);

// The line in today's spelling, several lines where it stands for several words. `mnemonic` points
// into `line`. Returns the number of lines, or -1 when they do not fit.
int respell(const char* line, const char* mnemonic, char* out, std::size_t size);

}  // namespace sassdec
