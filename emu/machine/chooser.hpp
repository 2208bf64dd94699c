// SPDX-License-Identifier: Apache-2.0
// All nondeterminism of a run goes through one Chooser: which CTA, which side of a branch first,
// when an agent acts. Those that there are: schedule/chooser.hpp.
#pragma once

#include <cstdint>

namespace sassemu {

enum class ChoicePoint : uint8_t { branch_side, next_cta, next_warp, agent, launch, count };

class Chooser {
  public:
    virtual ~Chooser() = default;
    // One of 0..count-1; count >= 1. 0 is what the fixed order does.
    virtual uint32_t pick(ChoicePoint point, uint32_t count) = 0;
};

}  // namespace sassemu
