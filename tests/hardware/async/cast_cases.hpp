// SPDX-License-Identifier: Apache-2.0
// Random copies to several CTAs of a cluster of eight: runs of bytes, boxes, columns of pixels.
#pragma once

#include "image_cases.hpp"

namespace cast_cases {

using tensor_cases::Case;
using tensor_cases::Random;

constexpr uint32_t ctas = 8;
enum Kind : uint32_t { run, box, column };

// `op`: Kind; `offset[0]`: the CTA that copies, `offset[1]`: the mask, `flavour`: where in shared
// memory, in units of 128 bytes.
inline Case make(uint32_t number) {
    Random r(number + (uint64_t{1} << 46));
    Case c;
    const uint32_t kind = r.below(3);
    if (kind == column)
        while (!image_cases::attempt(r, false, false, c) || c.bytes > 2048 || c.swizzle) {
        }
    else
        while (!tensor_cases::attempt(r, false, c, image_cases::region, 2048) || c.swizzle) {
        }
    if (kind == run) c.bytes = 16 * (1 + r.below(128));
    c.op = kind;
    c.flavour = r.below(16);
    c.offset[0] = r.below(ctas);
    c.offset[1] = r.below(1u << ctas);
    c.offset[2] = 0;
    return c;
}

}  // namespace cast_cases
