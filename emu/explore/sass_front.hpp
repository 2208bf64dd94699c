// SPDX-License-Identifier: Apache-2.0
// Tests whose threads are machine code: .sass files with the test in their comments, and launch
// plans with a condition. docs/litmus.md, sections 9 and 10. What belongs here: from files to a
// Test.
#pragma once

#include <string>
#include <string_view>

#include "emu/explore/test.hpp"

namespace sassemu::explore {

// `path` is for messages. Errors name the line.
Result<Test> read_sass_test(const std::string& text, const std::string& path);
// A launch plan (design/launch-plan.md). Its launches are prepared, none is run.
Result<Test> read_plan_test(const std::string& path);
bool is_plan(const std::string& text);

// Once all threads are there: their registers, shared memory, entry points. Of an error in what the
// condition names `condition_at` says at which of its bytes.
Result<void> finish_sass_threads(Test& test, size_t* condition_at);

}  // namespace sassemu::explore
