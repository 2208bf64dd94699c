// SPDX-License-Identifier: Apache-2.0
// The lane primitives on one lane's value, for what the uniform datapath does once for a warp: an
// instruction that both have is one template over V32 (V64) or uint32_t (uint64_t). A mask is all
// ones or zero here. lanes/interface.hpp says what each of them is.
#pragma once

#include <bit>

#include "emu/lanes/lanes.hpp"

namespace sassemu {
namespace SASSEMU_LANES_NS {

SASSEMU_INLINE Mask all_if(bool v) { return v ? ~0u : 0; }
SASSEMU_INLINE uint32_t select(Mask m, uint32_t a, uint32_t b) { return m & 1 ? a : b; }
SASSEMU_INLINE uint64_t select64(Mask m, uint64_t a, uint64_t b) { return m & 1 ? a : b; }
SASSEMU_INLINE Mask nonzero(uint32_t v) { return all_if(v != 0); }
SASSEMU_INLINE uint64_t make64(uint32_t lo, uint32_t hi) { return scalar::join(lo, hi); }
SASSEMU_INLINE uint32_t lo32(uint64_t v) { return static_cast<uint32_t>(v); }
SASSEMU_INLINE uint32_t hi32(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

SASSEMU_INLINE uint32_t add(uint32_t a, uint32_t b) { return a + b; }
SASSEMU_INLINE uint32_t sub(uint32_t a, uint32_t b) { return a - b; }
SASSEMU_INLINE uint32_t mul_lo(uint32_t a, uint32_t b) { return a * b; }
SASSEMU_INLINE uint64_t mul_wide_u(uint32_t a, uint32_t b) { return uint64_t{a} * b; }
SASSEMU_INLINE uint64_t mul_wide_s(uint32_t a, uint32_t b) {
    return static_cast<uint64_t>(int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(b));
}
SASSEMU_INLINE uint32_t mad(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
SASSEMU_INLINE uint32_t add3(uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }
SASSEMU_INLINE uint32_t add3_carry(uint32_t a, uint32_t b, uint32_t c, Mask carry0, Mask carry1,
                                   Mask* p0, Mask* p1) {
    const uint64_t sum = uint64_t{a} + b + c + (carry0 & 1) + (carry1 & 1);
    *p0 = all_if(sum >> 32 >= 1);
    *p1 = all_if(sum >> 32 >= 2);
    return lo32(sum);
}
SASSEMU_INLINE uint32_t add_carry(uint32_t a, uint32_t b, Mask carry_in, Mask* carry_out) {
    const uint64_t sum = uint64_t{a} + b + (carry_in & 1);
    *carry_out = all_if(sum >> 32 != 0);
    return lo32(sum);
}
SASSEMU_INLINE uint64_t add64(uint64_t a, uint64_t b) { return a + b; }
SASSEMU_INLINE uint64_t xor64(uint64_t a, uint64_t b) { return a ^ b; }
SASSEMU_INLINE uint32_t and_(uint32_t a, uint32_t b) { return a & b; }
SASSEMU_INLINE uint32_t or_(uint32_t a, uint32_t b) { return a | b; }
SASSEMU_INLINE uint32_t xor_(uint32_t a, uint32_t b) { return a ^ b; }
SASSEMU_INLINE uint32_t andn(uint32_t a, uint32_t b) { return ~a & b; }
SASSEMU_INLINE uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint8_t lut) {
    return scalar::lop3(a, b, c, lut);
}
template <uint8_t Lut>
SASSEMU_INLINE uint32_t lop3(uint32_t a, uint32_t b, uint32_t c) {
    return scalar::lop3(a, b, c, Lut);
}
SASSEMU_INLINE uint32_t shl(uint32_t a, uint32_t n) { return scalar::shl(a, n); }
SASSEMU_INLINE uint32_t shr(uint32_t a, uint32_t n) { return scalar::shr(a, n); }
SASSEMU_INLINE uint32_t sar(uint32_t a, uint32_t n) { return scalar::sar(a, n); }
SASSEMU_INLINE uint64_t shl64(uint64_t a, uint32_t n) { return scalar::shl64(a, n); }
SASSEMU_INLINE uint64_t shr64(uint64_t a, uint32_t n) { return scalar::shr64(a, n); }
SASSEMU_INLINE uint64_t sar64(uint64_t a, uint32_t n) { return scalar::sar64(a, n); }
SASSEMU_INLINE uint32_t funnel_l_clamp(uint32_t lo, uint32_t hi, uint32_t n) {
    return hi32(shl64(make64(lo, hi), n < 32 ? n : 32));
}

SASSEMU_INLINE Mask cmp_eq(uint32_t a, uint32_t b) { return all_if(a == b); }
SASSEMU_INLINE Mask cmp_ne(uint32_t a, uint32_t b) { return all_if(a != b); }
SASSEMU_INLINE Mask cmp_lt_u(uint32_t a, uint32_t b) { return all_if(a < b); }
SASSEMU_INLINE Mask cmp_lt_s(uint32_t a, uint32_t b) {
    return all_if(static_cast<int32_t>(a) < static_cast<int32_t>(b));
}
SASSEMU_INLINE Mask cmp_eq64(uint64_t a, uint64_t b) { return all_if(a == b); }
SASSEMU_INLINE Mask cmp_lt_u64(uint64_t a, uint64_t b) { return all_if(a < b); }
SASSEMU_INLINE Mask cmp_lt_s64(uint64_t a, uint64_t b) {
    return all_if(static_cast<int64_t>(a) < static_cast<int64_t>(b));
}
SASSEMU_INLINE uint32_t min_u(uint32_t a, uint32_t b) { return a < b ? a : b; }

SASSEMU_INLINE uint32_t popc(uint32_t a) { return static_cast<uint32_t>(std::popcount(a)); }
SASSEMU_INLINE uint32_t clz(uint32_t a) { return scalar::clz(a); }
SASSEMU_INLINE uint32_t brev(uint32_t a) { return scalar::brev(a); }
SASSEMU_INLINE uint32_t prmt(uint32_t a, uint32_t b, uint32_t sel) {
    return scalar::prmt(a, b, sel);
}
SASSEMU_INLINE uint32_t bmsk_clamp(uint32_t p, uint32_t w) { return shl(scalar::ones(w), p); }
SASSEMU_INLINE uint32_t bmsk_wrap(uint32_t p, uint32_t w) { return bmsk_clamp(p & 31, w & 31); }
SASSEMU_INLINE uint32_t sgxt_s(uint32_t a, uint32_t bits) { return scalar::sgxt_s(a, bits); }
SASSEMU_INLINE uint32_t sgxt_u(uint32_t a, uint32_t bits) { return a & scalar::ones(bits); }

}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
