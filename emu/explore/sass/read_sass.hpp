// SPDX-License-Identifier: Apache-2.0
// Tests whose threads are machine code: .sass files with the test in their comments
// (docs/litmus.md, section 9). What belongs here: from files to a Test.
#pragma once

#include <string>
#include <string_view>

#include "emu/explore/litmus/test.hpp"

namespace sassemu::explore {

// `path` is for messages. Errors name the line.
Result<Test> read_sass_test(const std::string& text, const std::string& path);

// Once all threads are there: their registers, shared memory, entry points. Of an error in what the
// condition names `condition_at` says at which of its bytes.
Result<void> finish_sass_threads(Test& test, size_t* condition_at);

}  // namespace sassemu::explore
