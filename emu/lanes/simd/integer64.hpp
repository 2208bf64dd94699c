// SPDX-License-Identifier: Apache-2.0
// 64-bit integer primitives of the vector levels.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {

#define SASSEMU_LANE64_OP1(name, expr) \
    SASSEMU_INLINE V64 name(V64 a) {   \
        V64 r;                         \
        SASSEMU_EACH64({               \
            const C64 x = a.c[j];      \
            r.c[j] = (C64)(expr);      \
        });                            \
        return r;                      \
    }
#define SASSEMU_LANE64_OP2(name, expr)      \
    SASSEMU_INLINE V64 name(V64 a, V64 b) { \
        V64 r;                              \
        SASSEMU_EACH64({                    \
            const C64 x = a.c[j];           \
            const C64 y = b.c[j];           \
            r.c[j] = (C64)(expr);           \
        });                                 \
        return r;                           \
    }
#define SASSEMU_LANE64_SHIFT(name, op)                   \
    SASSEMU_INLINE V64 name(V64 a, V32 count) {          \
        const V64 n = zext64(count);                     \
        V64 r;                                           \
        SASSEMU_EACH64(r.c[j] = k::op(a.c[j], n.c[j]);); \
        return r;                                        \
    }
#define SASSEMU_LANE64_CMP(name, op) \
    SASSEMU_INLINE Mask name(V64 a, V64 b) { SASSEMU_MASK64_OF(k::op(a.c[j], b.c[j])); }

SASSEMU_LANE64_OP2(add64, x + y)
SASSEMU_LANE64_OP2(sub64, x - y)
SASSEMU_LANE64_OP1(neg64, -x)
SASSEMU_LANE64_OP2(mul_lo64, k::mul_lo64(x, y))
SASSEMU_LANE64_OP2(and64, x& y)
SASSEMU_LANE64_OP2(or64, x | y)
SASSEMU_LANE64_OP2(xor64, x ^ y)
SASSEMU_LANE64_OP1(not64, ~x)
SASSEMU_LANE64_SHIFT(shl64, sllv64)
SASSEMU_LANE64_SHIFT(shr64, srlv64)
SASSEMU_LANE64_SHIFT(sar64, srav64)
SASSEMU_LANE64_CMP(cmp_eq64, eq64)
SASSEMU_LANE64_CMP(cmp_lt_s64, lt_s64)
SASSEMU_LANE64_CMP(cmp_lt_u64, lt_u64)
SASSEMU_INLINE Mask cmp_le_s64(V64 a, V64 b) { return ~cmp_lt_s64(b, a); }
SASSEMU_INLINE Mask cmp_le_u64(V64 a, V64 b) { return ~cmp_lt_u64(b, a); }
SASSEMU_LANE64_OP2(min_s64, k::min_s64(x, y))
SASSEMU_LANE64_OP2(max_s64, k::max_s64(x, y))
SASSEMU_LANE64_OP2(min_u64, k::min_u64(x, y))
SASSEMU_LANE64_OP2(max_u64, k::max_u64(x, y))

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
