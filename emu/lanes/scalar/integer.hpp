// SPDX-License-Identifier: Apache-2.0
// One lane of the integer primitives that are more than one operator. Used by v2, and by the
// vector levels where a vector form is not worth its code.
#pragma once

namespace sassemu {
namespace SASSEMU_LANES_NS {
namespace scalar {

SASSEMU_INLINE uint32_t shl(uint32_t a, uint32_t n) { return n < 32 ? a << n : 0; }
SASSEMU_INLINE uint32_t shr(uint32_t a, uint32_t n) { return n < 32 ? a >> n : 0; }
SASSEMU_INLINE uint32_t sar(uint32_t a, uint32_t n) {
    return (uint32_t)((int32_t)a >> (n < 32 ? n : 31));
}
SASSEMU_INLINE uint64_t shl64(uint64_t a, uint32_t n) { return n < 64 ? a << n : 0; }
SASSEMU_INLINE uint64_t shr64(uint64_t a, uint32_t n) { return n < 64 ? a >> n : 0; }
SASSEMU_INLINE uint64_t sar64(uint64_t a, uint32_t n) {
    return (uint64_t)((int64_t)a >> (n < 64 ? n : 63));
}
SASSEMU_INLINE uint32_t rotl(uint32_t a, uint32_t n) {
    return (a << (n & 31)) | (a >> ((32 - n) & 31));
}
SASSEMU_INLINE uint64_t join(uint32_t lo, uint32_t hi) { return (uint64_t)hi << 32 | lo; }
SASSEMU_INLINE uint32_t min32(uint32_t a, uint32_t b) { return a < b ? a : b; }
SASSEMU_INLINE uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint8_t lut) {
    uint32_t r = 0;
    for (int t = 0; t < 8; ++t) {
        if (!(lut >> t & 1)) continue;
        r |= (t & 4 ? a : ~a) & (t & 2 ? b : ~b) & (t & 1 ? c : ~c);
    }
    return r;
}
SASSEMU_INLINE uint32_t clz(uint32_t a) { return a ? (uint32_t)__builtin_clz(a) : 32; }
SASSEMU_INLINE uint32_t brev(uint32_t a) {
    uint32_t r = 0;
    for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
    return r;
}
SASSEMU_INLINE uint32_t prmt(uint32_t a, uint32_t b, uint32_t sel) {
    const uint64_t bytes = join(a, b);
    uint32_t r = 0;
    for (int i = 0; i < 4; ++i) {
        const uint32_t nibble = sel >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(bytes >> (8 * (nibble & 7))) & 0xff;
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * i);
    }
    return r;
}
SASSEMU_INLINE uint32_t ones(uint32_t w) { return w < 32 ? (1u << w) - 1 : ~0u; }
SASSEMU_INLINE uint32_t sgxt_s(uint32_t a, uint32_t bits) {
    if (bits >= 32) return a;
    const uint32_t low = a & ones(bits);
    return bits && (low >> (bits - 1)) ? low | ~ones(bits) : low;
}
SASSEMU_INLINE uint32_t byte_of(uint32_t a, int i, bool is_signed) {
    const uint32_t x = a >> (8 * i) & 0xff;
    return is_signed ? (uint32_t)(int32_t)(int8_t)x : x;
}
SASSEMU_INLINE uint32_t half_of(uint32_t a, int i, bool is_signed) {
    const uint32_t x = a >> (16 * i) & 0xffff;
    return is_signed ? (uint32_t)(int32_t)(int16_t)x : x;
}
SASSEMU_INLINE uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, bool signed_a, bool signed_b) {
    for (int i = 0; i < 4; ++i) c += byte_of(a, i, signed_a) * byte_of(b, i, signed_b);
    return c;
}
SASSEMU_INLINE uint32_t dp_16x2(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 2; ++i) c += half_of(a, i, true) * half_of(b, i, true);
    return c;
}
SASSEMU_INLINE uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c, bool signed_a, bool signed_b,
                             bool hi) {
    for (int i = 0; i < 2; ++i) {
        c += half_of(a, i, signed_a) * byte_of(b, i + (hi ? 2 : 0), signed_b);
    }
    return c;
}
SASSEMU_INLINE uint32_t sad_u8x4(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 4; ++i) {
        const uint32_t x = byte_of(a, i, false), y = byte_of(b, i, false);
        c += x > y ? x - y : y - x;
    }
    return c;
}
SASSEMU_INLINE uint32_t halves(uint32_t lo, uint32_t hi) { return (lo & 0xffff) | hi << 16; }
template <bool Max, bool Signed>
SASSEMU_INLINE uint32_t pick_16(uint32_t x, uint32_t y) {
    const bool x_less = Signed ? (int32_t)x < (int32_t)y : x < y;
    return x_less != Max ? x : y;
}
template <bool Max, bool Signed>
SASSEMU_INLINE uint32_t minmax_16x2(uint32_t a, uint32_t b) {
    return halves(pick_16<Max, Signed>(half_of(a, 0, Signed), half_of(b, 0, Signed)),
                  pick_16<Max, Signed>(half_of(a, 1, Signed), half_of(b, 1, Signed)));
}
SASSEMU_INLINE uint32_t sat_narrow(uint32_t a, int bits, bool signed_source, bool signed_result) {
    const int64_t x = signed_source ? (int64_t)(int32_t)a : (int64_t)a;
    const int64_t max = signed_result ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
    const int64_t min = signed_result ? -(1ll << (bits - 1)) : 0;
    return (uint32_t)(x > max ? max : x < min ? min : x);
}

}  // namespace scalar
}  // namespace SASSEMU_LANES_NS
}  // namespace sassemu
