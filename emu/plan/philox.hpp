// SPDX-License-Identifier: Apache-2.0
// Random buffer contents: Philox4x32-10 and the mapping of its words to elements. What belongs
// here: the function from (type, seed, low, high, index) to a value. The mapping is part of the
// plan format: it is also stated in sdk/plan.schema.json and never changes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "emu/plan/element.hpp"

namespace sassemu::plan {

// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

struct RandomSpec {
    ElementType type = ElementType::f32;
    uint64_t seed = 0;
    double low = 0, high = 1;   // floating types: [low, high)
    bool whole_range = true;    // integer types without bounds
    uint64_t integer_low = 0;   // integer types: two's complement, sign-extended to 64 bits
    uint64_t integer_span = 0;  // high - low, high exclusive; 0 = 2^64
};

uint64_t random_element(const RandomSpec& spec, uint64_t index);  // the element's bits
// Fills with elements 0, 1, 2, ...; the size is a multiple of the element size.
void fill_random(const RandomSpec& spec, std::span<std::byte> bytes);

}  // namespace sassemu::plan
