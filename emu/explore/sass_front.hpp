// Litmus tests written in SASS: a .sass file (decoder/doc/asm.md) whose comments hold the test.
// What belongs here: the reading of it into the JSONL form (docs/litmus.md, section 9).
#pragma once

#include <string>
#include <string_view>

#include "emu/base/result.hpp"

namespace sassemu::explore {

// The test as a line of the JSONL form, to be read by read_test(). Errors name the line.
Result<std::string> litmus_of_sass(std::string_view text);

}  // namespace sassemu::explore
