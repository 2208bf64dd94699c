// SPDX-License-Identifier: Apache-2.0
// The scalar level's vectors: plain arrays in lane order.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

struct V32 {
    uint32_t l[lanes::kLanes];
};
struct V64 {
    uint64_t l[lanes::kLanes];
};

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu

// The body of a primitive: r.l[i] (or mask bit i) from an expression over i.
#define SASSEMU_FOR_LANES for (int i = 0; i < kLanes; ++i)
#define SASSEMU_V32(expr)                        \
    V32 r;                                       \
    SASSEMU_FOR_LANES r.l[i] = (uint32_t)(expr); \
    return r
#define SASSEMU_V64(expr)                        \
    V64 r;                                       \
    SASSEMU_FOR_LANES r.l[i] = (uint64_t)(expr); \
    return r
#define SASSEMU_MASK(expr)                              \
    Mask r = 0;                                         \
    SASSEMU_FOR_LANES r |= (Mask)((expr) ? 1 : 0) << i; \
    return r
