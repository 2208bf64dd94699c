// SPDX-License-Identifier: Apache-2.0
// Litmus files: reading them, running their tests on several threads, comparing with the verdicts
// that they state. What belongs here: one run of the command `sassemu litmus`, without its options'
// syntax and its output's form.
#pragma once

#include "emu/explore/graph/explorer.hpp"

namespace sassemu::explore {

struct SuiteOptions {
    std::string model, model_options;  // empty: each test's own
    unsigned threads = 0;              // 0: all of the host
    Limits limits;
    Sampling sampling;
};

struct Case {
    std::string where;  // FILE:LINE
    std::string name, model;
    std::optional<Test> test;  // nothing when it could not be read
    Verdict stated = Verdict::unstated;
    std::string expected_error;
    Report report;
    bool contradicted = false;
    bool sass = false;       // judged by its words: what PTX meant is not known
    bool bad_input = false;  // it could not be read, and does not say that this is so
};

// All tests of a JSONL file, or the one of a .sass file. Errors: the file cannot be read. A line
// that is no test becomes a case with an error.
Result<std::vector<Case>> read_litmus_file(const std::string& path);

// Runs every case; `done(case)` is called in the order of the cases, on the thread that has it at
// the time. Errors: a model cannot be loaded.
Result<void> run_suite(std::vector<Case>& cases, const SuiteOptions& options,
                       const std::function<void(const Case&)>& done);

std::string_view verdict_name(Verdict v);

}  // namespace sassemu::explore
