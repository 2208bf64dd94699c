// SPDX-License-Identifier: Apache-2.0
// Compares memory with what a plan expects of it. What belongs here: equality, tolerances, the
// first differences. What does not: reading the memory, printing (report.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/plan/byte_source.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu::plan {

constexpr size_t most_differences = 10;

struct Difference {
    uint64_t index = 0;              // element
    uint64_t got = 0, expected = 0;  // bits
};

struct Comparison {
    std::string name;  // of the buffer or global
    ElementType type = ElementType::u8;
    bool typed = false;  // the plan declared the type
    bool tolerant = false;
    uint64_t elements = 0, different = 0;
    std::vector<Difference> first;        // at most most_differences
    std::string got_hash, expected_hash;  // of a sha256 expectation that is not met
    std::string last_writer;              // "kernel 'k', launch 2"

    bool equal() const { return different == 0 && expected_hash.empty(); }
};

// Opens the files of a plan's expectations now: compare() then opens none.
Result<void> open_expectations(Plan& plan);

// An Error if the expectation itself is unusable: a file that is missing or has another size.
Result<Comparison> compare(const std::string& name, ByteSource& got, const Expectation& expect);

}  // namespace sassemu::plan
