// SPDX-License-Identifier: Apache-2.0
// The axioms of the PTX memory consistency model over one execution. What belongs here: the axioms
// and how a violation is reported.
#pragma once

#include <optional>

#include "derived.hpp"

namespace sassemu::ptx {

struct Violation {
    const char* axiom;
    const char* clause;
    std::vector<size_t> cycle;
};

// The first axiom that the execution violates, if any.
std::optional<Violation> violated(const Execution& x, const Derived& d, const Variant& variant);

// The pairs that coherence or Fence-SC must still order in a complete execution, directed such that
// with all of them there is no circle.
std::vector<std::pair<size_t, size_t>> open_pairs(const Execution& x, const Derived& d);

}  // namespace sassemu::ptx
