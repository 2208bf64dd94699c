// SPDX-License-Identifier: Apache-2.0
// Explores every execution of a litmus test under a consistency model. What belongs here: the
// search and what it reports. What does not: instructions (stepper.hpp), axioms (the model).
#pragma once

#include <functional>
#include <map>

#include "emu/explore/graph/judge.hpp"
#include "emu/explore/graph/stepper.hpp"
#include "emu/explore/litmus/budget.hpp"

namespace sassemu::explore {

struct Outcome {
    std::vector<uint64_t> values;  // of Report::names
    uint64_t count = 0;
    bool condition = false;
};

// An execution that shows the verdict: one that reaches the condition, or that does not terminate.
struct Witness {
    State state;
    Answer answer;
    std::vector<uint64_t> values;
};

struct Report {
    Verdict verdict = Verdict::forbidden;
    std::vector<std::string> names;  // the registers and locations of the condition
    std::vector<Outcome> outcomes;   // sorted by values
    uint64_t executions = 0;         // consistent ones, in classes; of a machine: final states
    uint64_t states = 0;             // of a machine: all that can be reached
    uint64_t steps = 0;              // of a machine's random run: the longest of the first few
    bool complete = true;
    bool cut_short = false;  // not complete because a limit ended it
    double seconds = 0;
    std::string undefined;  // why the model says nothing ("mixed-size race")
    std::string error;      // verdict error: what no program may do
    std::string bound;      // why `complete` is false
    // (axiom, clause) of the specification -> how many executions in the making it refused.
    std::map<std::pair<std::string, std::string>, uint64_t> refusals;
    // Where the formal text is silent: what the verdict rests on besides (docs/litmus.md, section
    // 3).
    std::vector<std::string> prose;
    std::optional<Witness> witness;

    void incomplete(std::string_view why, bool by_limit = true) {
        complete = false;
        cut_short |= by_limit;
        if (bound.empty()) bound = why;
    }
    // Of what was not looked at nothing is known.
    void settle() {
        if (!complete && verdict == Verdict::forbidden) verdict = Verdict::unknown;
    }
};

// Random mode, for tests that are too large: this many executions, each a function of (seed,
// number).
struct Sampling {
    uint64_t executions = 0;  // 0: explore all
    uint64_t seed = 0;
    uint32_t depth = 3;  // of the bugs looked for: of machines, see state_search.hpp
};

// Errors: the model failed, or is none for this test.
Result<Report> explore(Test& test, const Judge& judge, const Limits& limits,
                       const Sampling& sampling = {});

}  // namespace sassemu::explore
