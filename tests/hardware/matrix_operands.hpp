// SPDX-License-Identifier: Apache-2.0
// Operands of the matrix record: the same functions of warp, operand, register and lane on the GPU
// that recorded and in the replay. What belongs here: the generator. What does not: any
// instruction's result.
//
// The kind of values depends on warp mod 16; 13 of the 16 kinds are directed at one thing that a
// tensor core must get right (see `flavour`).
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SASSEMU_BOTH __host__ __device__ inline
#else
#define SASSEMU_BOTH inline
#endif

namespace sassemu::test {

enum MatrixElement : uint8_t {
    element_f16,
    element_bf16,
    element_tf32,
    element_f64,
    element_u8,
    element_s8,
    element_bit,
    element_f32,
    element_s32
};
enum MatrixOperand : uint8_t { operand_a, operand_b, operand_c };

// splitmix64 (Steele, Lea, Flood 2014).
SASSEMU_BOTH uint64_t matrix_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
SASSEMU_BOTH uint64_t matrix_draw(uint32_t warp, uint32_t operand, uint32_t index, uint32_t salt) {
    return matrix_mix((uint64_t(warp) << 32 | operand << 24 | index << 4 | salt) *
                          0x9e3779b97f4a7c15ull +
                      0x5a55e3b1c0de2027ull);
}

enum MatrixFlavour : uint8_t {
    moderate,
    wide,
    raw,
    special,
    alignment,
    cancellation,
    c_dominates,
    c_dominated,
    tiny,
    tiny_alone,
    large,
    zeros,
    integers,
    boundaries,
    rare_special,
    subnormals
};

struct MatrixFloat {
    int exponent_bits, mantissa;
};
SASSEMU_BOTH MatrixFloat matrix_float(MatrixElement e) {
    return e == element_f16                        ? MatrixFloat{5, 10}
           : e == element_bf16                     ? MatrixFloat{8, 7}
           : e == element_tf32 || e == element_f32 ? MatrixFloat{8, 23}
                                                   : MatrixFloat{11, 52};
}

// A float with the field `e` clamped to the finite range.
SASSEMU_BOTH uint64_t matrix_make(MatrixFloat f, bool negative, int e, uint64_t mantissa) {
    const int top = (1 << f.exponent_bits) - 2;
    e = e < 0 ? 0 : e > top ? top : e;
    return uint64_t(negative) << (f.exponent_bits + f.mantissa) | uint64_t(e) << f.mantissa |
           (mantissa & ((uint64_t(1) << f.mantissa) - 1));
}
SASSEMU_BOTH uint64_t matrix_special(MatrixFloat f, unsigned which, bool negative) {
    const uint64_t one = uint64_t(1) << f.mantissa, top = ((uint64_t(1) << f.exponent_bits) - 1)
                                                          << f.mantissa;
    const uint64_t bias = (uint64_t(1) << (f.exponent_bits - 1)) - 1;
    uint64_t v;
    switch (which % 12) {
        case 0:
        case 1:
            v = 0;
            break;
        case 2:
            v = 1;
            break;
        case 3:
            v = one - 1;
            break;
        case 4:
            v = one;
            break;
        case 5:
            v = bias << f.mantissa;
            break;
        case 6:
            v = top - 1;
            break;
        case 7:
            v = top;
            break;
        case 8:
            v = top | one >> 1;
            break;
        case 9:
            v = top | 1;
            break;
        case 10:
            v = (bias << f.mantissa) - 1;
            break;
        default:
            v = (bias << f.mantissa) + 1;
            break;
    }
    return v | uint64_t(negative) << (f.exponent_bits + f.mantissa);
}

// One float. `h` is random; `pair` is the same for the two elements of a pair of consecutive k,
// `odd` tells them apart; of an accumulator `wide_c` says that its exponents reach further than
// products'.
SASSEMU_BOTH uint64_t matrix_value(MatrixFloat f, MatrixFlavour flavour, MatrixOperand o,
                                   uint64_t h, uint64_t pair, bool odd, bool small_exponents) {
    const int bias = (1 << (f.exponent_bits - 1)) - 1;
    const bool c = o == operand_c;
    const bool sign = h >> 63;
    const uint64_t m = h & 0xfffffffffffffull;
    const unsigned r = h >> 56 & 127, s = h >> 52 & 15;
    const int spread = r % 61;
    switch (flavour) {
        case moderate:
            return matrix_make(f, sign, bias - 4 + int(r & 7), m);
        case wide:
            return matrix_make(f, sign, int(r * 16 + s) % ((1 << f.exponent_bits) - 1), m);
        case raw:
            return matrix_mix(h);
        case special:
            return s & 1 ? matrix_special(f, r, sign)
                         : matrix_make(f, sign, bias - 2 + int(r & 3), m);
        case rare_special:
            return !c && r == 5 ? matrix_special(f, s, sign)
                                : matrix_make(f, sign, bias - 2 + int(r & 3), m);
        // Exponents of products 0 or 10..13 or 20..28 below the largest: about the last bit that
        // counts.
        case alignment:
            if (c)
                return matrix_make(f, sign, bias + (small_exponents ? -(spread % 12) : -spread / 2),
                                   m);
            return matrix_make(
                f, sign,
                bias -
                    (r & 1 ? 0 : 10 + int(r >> 1 & 3) + (f.mantissa == 10 ? 0 : int(r >> 3 & 1))),
                s & 3 ? m : ~uint64_t(0));
        // a.k and a.k+1 of opposite sign, b alike, up to a rare last bit.
        case cancellation: {
            if (c)
                return matrix_make(f, sign, bias - 4 - (small_exponents ? int(r % 8) : spread / 2),
                                   m);
            const uint64_t v = matrix_make(f, pair >> 63, bias - 6 + int(pair >> 56 & 15), pair);
            return (v ^
                    (o == operand_a && odd ? uint64_t(1) << (f.exponent_bits + f.mantissa) : 0)) ^
                   (r % 9 == 0 ? 1 : 0);
        }
        case c_dominates:
            return c ? matrix_make(f, sign, bias + 4 + (small_exponents ? int(r % 11) : spread / 2),
                                   m)
                     : matrix_make(f, sign, bias - 2 + int(r & 3), m);
        case c_dominated:
            return c ? matrix_make(f, sign, bias - 4 - (small_exponents ? int(r % 12) : spread / 2),
                                   m)
                     : matrix_make(f, sign, bias - 2 + int(r & 3), m);
        // Products about and below the smallest subnormal of the result.
        case tiny:
        case tiny_alone:
            if (c)
                return flavour == tiny_alone || (r & 1)
                           ? (s & 1 ? 0 : uint64_t(sign) << (f.exponent_bits + f.mantissa))
                           : matrix_make(f, sign, int(s) - 10, m >> (r & 15));
            if (flavour == tiny_alone && (r & 3))
                return uint64_t(sign) << (f.exponent_bits + f.mantissa);
            // Half of the smallest f16, and 2^-48 beside it.
            if (f.exponent_bits == 5 && flavour == tiny_alone && s < 10)
                return r & 4 ? 1 : matrix_make(f, false, o == operand_a ? 1 : 4, 0);
            if (f.exponent_bits == 5) return matrix_make(f, sign, int(s) - 8, m >> (r >> 2 & 7));
            return matrix_make(f, sign, (f.exponent_bits == 8 ? 43 : 480) + int(r % 30),
                               s & 1 ? m : 0);
        case large:
            if (c) return matrix_make(f, sign, 2 * bias - int(r & 3), m);
            return matrix_make(
                f, s < 3 ? sign : false,
                f.exponent_bits == 5 ? bias + 4 + int(r % 5) : bias + bias / 2 - 1 + int(r & 3), m);
        case zeros:
            return (r & 3) ? uint64_t(sign) << (f.exponent_bits + f.mantissa)
                           : matrix_make(f, sign,
                                         int(matrix_mix(h) % ((1u << f.exponent_bits) - 1)), m);
        case integers: {
            const int v = int(r % 17) - 8;
            if (v == 0) return 0;
            const int a = v < 0 ? -v : v, e = a >= 8 ? 3 : a >= 4 ? 2 : a >= 2 ? 1 : 0;
            // A format with fewer bits than the number has keeps its power of two.
            const uint64_t bits = f.mantissa < e ? 0 : uint64_t(a) << (f.mantissa - e);
            return matrix_make(f, v < 0, bias + e, bits);
        }
        case boundaries:
            return matrix_make(f, c ? sign : (r >> 1 & 7) == 0,
                               bias - int(r & 1) + (c ? int(r >> 4) : 0),
                               s < 6    ? ~uint64_t(0)
                               : s < 10 ? 0
                               : s < 13 ? 1
                                        : m);
        default:
            return s & 1 ? matrix_make(f, sign, 0, m >> (r & 7))
                         : matrix_make(f, sign, int(r * 16 + s) % ((1 << f.exponent_bits) - 1), m);
    }
}

SASSEMU_BOTH uint32_t matrix_integer(MatrixFlavour flavour, MatrixOperand o, uint64_t h) {
    const uint32_t v = uint32_t(h), r = h >> 40;
    if (o == operand_c) {
        switch (flavour & 3) {
            case 0:
                return v;
            case 1:
                return 0x7fffffffu - (v >> (8 + r % 24));
            case 2:
                return 0x80000000u + (v >> (8 + r % 24));
            default:
                return uint32_t(int32_t(v) >> 16);
        }
    }
    if (flavour < 8) return v;
    uint32_t out = 0;
    for (int i = 0; i < 4; ++i) {
        const uint32_t x = v >> (8 * i) & 255;
        const uint32_t byte = flavour == 15   ? (x & 1 ? 0x80u : 0xffu)
                              : flavour == 14 ? 0x7fu
                              : flavour & 1   ? (x < 100   ? 0x7fu
                                                 : x < 180 ? 0x80u
                                                 : x < 220 ? 0xffu
                                                           : x & 1)
                                              : x & 15;
        out |= byte << (8 * i);
    }
    return out;
}

// Register `reg` of an operand. `half_acc`: the accumulator is f16.
SASSEMU_BOTH uint32_t matrix_word(MatrixElement e, MatrixOperand o, uint32_t warp, uint32_t reg,
                                  uint32_t lane, bool half_products) {
    const MatrixFlavour flavour = MatrixFlavour(warp % 16);
    const uint32_t index = reg * 32 + lane;
    if (e >= element_u8 && e != element_f32)
        return matrix_integer(flavour, o, matrix_draw(warp, o, index, 0));
    const MatrixFloat f = matrix_float(e);
    if (e == element_f16 || e == element_bf16) {
        uint32_t out = 0;
        const uint64_t pair = matrix_draw(warp, o, index, 2);
        for (uint32_t half = 0; half < 2; ++half)
            out |= uint32_t(matrix_value(f, flavour, o, matrix_draw(warp, o, index, half), pair,
                                         half, e == element_f16) &
                            0xffff)
                   << (16 * half);
        return out;
    }
    // tf32: pairs of consecutive k are in neighbouring lanes. f64: two registers.
    const uint32_t own = e == element_f64 ? (reg >> 1) * 32 + lane : index;
    const uint64_t v = matrix_value(f, flavour, o, matrix_draw(warp, o, own, 0),
                                    matrix_draw(warp, o, own & ~1u, 2), lane & 1, half_products);
    return uint32_t(e == element_f64 && (reg & 1) ? v >> 32 : v);
}
// Metadata of sparse operands: two of four in order; of tf32 one of two.
SASSEMU_BOTH uint32_t matrix_metadata(MatrixElement e, uint32_t warp, uint32_t lane) {
    const uint64_t h = matrix_draw(warp, 3, lane, 0);
    uint32_t out = 0;
    for (int i = 0; i < 8; ++i) {
        const uint32_t x = h >> (8 * i) & 255;
        const uint32_t both[6] = {4, 8, 12, 9, 13, 14};
        out |= (e == element_tf32 ? (x & 1 ? 14u : 4u) : both[x % 6]) << (4 * i);
    }
    return out;
}

// Shared memory of LDSM and STSM: 64 rows of 16 bytes, and the row that a lane names.
constexpr uint32_t matrix_rows = 64;
SASSEMU_BOTH uint32_t matrix_shared_word(uint32_t warp, uint32_t i) {
    return uint32_t(matrix_draw(warp, 4, i, 0));
}
SASSEMU_BOTH uint32_t matrix_row_address(uint32_t warp, uint32_t lane) {
    return (lane * 7 + warp) % matrix_rows * 16;
}

// What one lane's result words add to the hash of a warp.
SASSEMU_BOTH uint64_t matrix_hash(uint32_t value, uint32_t reg, uint32_t lane) {
    return matrix_mix((uint64_t(reg) << 40 | uint64_t(lane) << 32 | value) + 0x1234567);
}

}  // namespace sassemu::test
