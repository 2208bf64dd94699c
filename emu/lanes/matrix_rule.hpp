// SPDX-License-Identifier: Apache-2.0
// In what the float products of the architectures differ (`matrix` in
// decoder/isa/architectures.isa). Measured: sm_90. Published for others (the sources of
// emu/lanes/matrix.hpp); assumed: sm_75 (after sm_80), sm_107 and sm_120 (after sm_100).
#pragma once

#include <cstdint>

#include "emu/lanes/common.hpp"
#include "emu/lanes/matrix.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu {

// `bytes`: elements of 8 bits or fewer; `half`: an f16 result.
SASSEMU_INLINE lanes::MatrixRule matrix_rule(uint32_t sm, bool bytes, bool half) {
    using R = lanes::MatrixResult;
    lanes::MatrixRule r;
    const sassdec::MatrixSums& sums = sassdec::architecture(sm).family->matrix;
    r.fraction = bytes ? sums.bytes : sums.fraction;
    r.result = half ? R::f16 : bytes && sums.short_bytes ? R::f32_short : R::f32;
    // A step whose terms are all below this is cut as if one of them had it.
    r.floor = (half ? 4 : -108) - sums.fraction;
    return r;
}
// Of sums whose groups are scaled one by one. The floor is that of an f32 accumulator, which counts
// as 2^-126 where it is less.
SASSEMU_INLINE lanes::MatrixRule group_rule() { return {35, -126, lanes::MatrixResult::f32, 0}; }
// All of k makes one step; else what one register of b holds.
SASSEMU_INLINE bool one_matrix_step(uint32_t sm) {
    return sassdec::architecture(sm).family->matrix.one_step;
}

}  // namespace sassemu
