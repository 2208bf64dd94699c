// SPDX-License-Identifier: Apache-2.0
// In what the float products of the architectures differ. Measured: sm_90. Published for the others
// (the sources of emu/lanes/matrix.hpp); sm_75 (after sm_80) and sm_120 (after sm_100) are assumed.
#pragma once

#include <cstdint>

#include "emu/lanes/common.hpp"
#include "emu/lanes/matrix.hpp"

namespace sassemu {

// `bytes`: elements of 8 bits or fewer; `half`: an f16 result.
SASSEMU_INLINE lanes::MatrixRule matrix_rule(uint32_t sm, bool bytes, bool half) {
    using R = lanes::MatrixResult;
    lanes::MatrixRule r;
    r.fraction = sm >= 90 ? 25 : bytes ? 13 : 24;
    r.result = half ? R::f16 : bytes && sm < 100 ? R::f32_short : R::f32;
    // A step whose terms are all below this is cut as if one of them had it.
    r.floor = (half ? 4 : -108) - (sm >= 90 ? 25 : 24);
    return r;
}
// All of k makes one step; else what one register of b holds.
SASSEMU_INLINE bool one_matrix_step(uint32_t sm) { return sm >= 90; }

}  // namespace sassemu
