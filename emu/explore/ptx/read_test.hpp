// SPDX-License-Identifier: Apache-2.0
// Litmus tests in PTX's words: a line of JSONL -> Test, an operation -> Statement.
#pragma once

#include <string_view>

#include "emu/explore/litmus/test.hpp"

namespace sassemu::explore {

// One line of a JSONL file. Errors name the field; the caller adds file and line. Of an error in
// the condition `condition_at` says at which of its bytes it is; else it is npos.
Result<Test> read_test(std::string_view json, size_t* condition_at = nullptr);

// One instruction of a thread; registers and names are added to the test when they are new.
Result<Statement> read_statement(std::string_view text, Test& test, Thread& thread);

}  // namespace sassemu::explore
