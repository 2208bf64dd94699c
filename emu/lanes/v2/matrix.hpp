// SPDX-License-Identifier: Apache-2.0
// A tensor core's fused steps at the scalar level: the reference itself.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

// Nothing to prepare.
struct MatrixLeft {};
struct MatrixRight {};
inline void matrix_prepare(const MatrixTile&, MatrixFormat, MatrixRule, MatrixLeft&) {}
inline void matrix_prepare(const MatrixColumns&, MatrixFormat, MatrixRule, MatrixRight&) {}

inline void matrix_multiply(MatrixTile& tile, const MatrixLeft&, const MatrixColumns& b,
                            const MatrixRight&, MatrixFormat fa, MatrixFormat fb, MatrixRule rule,
                            unsigned step, const lanes::MatrixScales* scales = nullptr) {
    for (unsigned at = 0; at < tile.k; at += step)
        for (unsigned n = 0; n < 8; ++n)
            scalar::matrix_column(tile, {&tile, &b, fa, fb, rule, at, at + step, scales}, n);
}
inline void matrix_scale(MatrixLeft&, const uint8_t*, unsigned) {}
inline void matrix_scale(MatrixRight&, const uint8_t*, unsigned) {}
inline void matrix_groups(lanes::MatrixGroups& g) {
    for (unsigned n = 0; n < 8; ++n) scalar::matrix_grouped_column(g, n);
}

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
