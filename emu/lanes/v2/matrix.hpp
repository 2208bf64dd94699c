// SPDX-License-Identifier: Apache-2.0
// A tensor core's fused steps at the scalar level: the reference itself.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

// c += a * b in steps of `step` elements of k.
inline void matrix_multiply(MatrixTile& tile, MatrixFormat fa, MatrixFormat fb, MatrixRule rule,
                            unsigned step) {
    scalar::matrix_steps(tile, fa, fb, rule, step);
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
