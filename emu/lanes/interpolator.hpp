// SPDX-License-Identifier: Apache-2.0
// The interpolator of the special-function unit (emu/isa/SPECIAL.md), computed a part of a row at a
// time so that everything stays in the host's registers: a part is one lane at the scalar level and
// a chunk at the others. What a level has: `Part`, with the operators of uint32_t; `Sum`, a part's
// sums of 64 bits; by_part and the functions of scalar/interpolator.hpp, the reference. MUFU alone
// needs this: its file includes it, lanes.hpp does not.
#pragma once

#include "emu/lanes/lanes.hpp"

namespace sassemu::lanes {

// A segment as it is loaded for a lane: what is constant in the sum, then the coefficients of x and
// S(x).
struct alignas(16) InterpolatorSegment {
    uint64_t constant;
    int32_t c1, c2;
};
inline constexpr unsigned kInterpolatorBits = 17;  // of x; above them is the segment's number

}  // namespace sassemu::lanes

namespace sassemu {
namespace SASSEMU_LANES_NS {
using lanes::InterpolatorSegment;
using lanes::kInterpolatorBits;
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu

#if SASSEMU_LANES_LEVEL == 2
#include "emu/lanes/scalar/interpolator.hpp"
#else
#include "emu/lanes/simd/interpolator.hpp"
#endif
