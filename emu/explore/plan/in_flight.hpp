// SPDX-License-Identifier: Apache-2.0
// A plan of which several things run at once, as threads of a test: what is in streams, with what
// each waits for there, and the host's steps. What does not belong here: kernels' threads and
// memory (read_plan_test.cpp). docs/litmus.md, section 10.
#pragma once

#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/explore/litmus/test.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu::explore {

// One thing in a stream: a kernel, whose threads the test has by then, or what add_in_flight()
// makes a thread of.
struct InStream {
    size_t launch = 0;            // in the plan
    uint32_t first = 0, end = 0;  // its threads
};

// All of it but kernels' threads. `all`: what is in streams, in the order of the plan, the threads
// of kernels filled in. Errors: what is not explored.
Result<void> add_in_flight(Test& test, const plan::Plan& plan, std::vector<InStream> all);

}  // namespace sassemu::explore
