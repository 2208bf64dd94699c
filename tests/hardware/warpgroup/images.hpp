// SPDX-License-Identifier: Apache-2.0
// What the cases of the warpgroup record multiply: images of shared memory by type and kind of
// values, tables of accumulators, sets of metadata. All from seeds.
#pragma once

#include <vector>

#include "../matrix_operands.hpp"
#include "launch.hpp"

namespace warpgroup {

using sassemu::test::matrix_mix;

enum Type : uint8_t { f16, bf16, tf32, e4m3, e5m2, u8, s8, bit, types };

// Images by type and flavour, then those that show where an element came from.
constexpr uint32_t per_flavour = 2, flavours = 16;
enum Special : uint32_t {
    probe16 = types * flavours * per_flavour,
    probe32,
    probe8_low,
    probe8_high,
    identity16,  // of shared memory
    identity32,
    identity8,
    identity16_sparse,
    identity32_sparse,
    identity8_sparse,
    fragment16,  // of registers
    fragment32,
    fragment8,
    least_bf16,  // products about the smallest subnormal of f32
    least_tf32,
    tie_f16,  // a tie of f16, and what the smallest products may add to it
    tie_e5m2,
    ones16,
    ones32,
    ones8,
    images
};
constexpr uint32_t identity_leading = 128, identity_stride = 512;

// A byte of a float of 8 bits.
inline uint32_t small_float(Type t, uint32_t flavour, sassemu::test::MatrixOperand o, uint64_t h,
                            uint64_t pair, bool odd) {
    using namespace sassemu::test;
    const MatrixFloat f = t == e4m3 ? MatrixFloat{4, 3} : MatrixFloat{5, 2};
    switch (flavour) {
        case tiny:  // any finite value
        case large: {
            const uint32_t v = h & 0xff;
            return t == e4m3 ? ((v & 0x7f) == 0x7f ? v ^ 1 : v)
                             : ((v & 0x7c) == 0x7c ? v ^ 0x40 : v);
        }
        case tiny_alone:
            return h & 0x87;
        default:
            return matrix_value(f, static_cast<MatrixFlavour>(flavour), o, h, pair, odd, true) &
                   0xff;
    }
}
inline uint32_t image_word(uint32_t image, bool of_b, uint32_t i) {
    using namespace sassemu::test;
    const auto operand = of_b ? operand_b : operand_a;
    if (image < probe16) {
        const auto t = static_cast<Type>(image / (flavours * per_flavour));
        const uint32_t flavour = image / per_flavour % flavours;
        const uint32_t seed = image % per_flavour * 16 + flavour;  // mod 16: the flavour
        static constexpr MatrixElement element[types] = {element_f16, element_bf16, element_tf32,
                                                         element_u8,  element_u8,   element_u8,
                                                         element_s8,  element_bit};
        if (t != e4m3 && t != e5m2)
            return matrix_word(element[t], operand, seed, i / 32, i % 32, true);
        uint32_t out = 0;
        for (uint32_t e = 0; e < 4; ++e)
            out |= small_float(t, flavour, operand, matrix_draw(seed, operand, i, 4 + e),
                               matrix_draw(seed, operand, i, e / 2), e & 1)
                   << (8 * e);
        return out;
    }
    const auto half = [](uint32_t index) {
        const uint32_t v = index + 1;
        return v < 0x7c00 ? v : 0x8000 | (v - 0x7c00 + 1);
    };
    // Element (n, k) of a matrix of rows in chunks of 16 bytes, without swizzle.
    const auto identity = [&](uint32_t bytes, uint32_t one, uint32_t chunks) {
        uint32_t out = 0;
        for (uint32_t e = 0; e < 4; e += bytes) {
            const uint32_t at = i * 4 + e;
            const uint32_t chunk = at % identity_stride / identity_leading,
                           n = at / identity_stride * 8 + at % identity_leading / 16;
            if (chunk < chunks && n == (chunk * 16 + at % 16) / bytes) out |= one << (8 * e);
        }
        return out;
    };
    const auto fragment = [&](uint32_t bytes, uint32_t one) {
        const uint32_t reg = i / 128, tid = i % 128, row = tid % 32 / 4 + reg % 2 * 8;
        uint32_t out = 0;
        // Row r of the first warp and of those behind it: element r, r + 16.
        for (uint32_t e = 0; e < 4; e += bytes) {
            const uint32_t k = (reg / 2 * 16 + tid % 4 * 4 + e) / bytes;
            if (i < 512 && k == row + tid / 32 * 16) out |= one << (8 * e);
        }
        return out;
    };
    // Of A the fragments: what makes the tie is element 0 alone.
    const auto tie = [&](uint32_t bytes, uint32_t x, uint32_t y) {
        uint32_t out = 0;
        for (uint32_t e = 0; e < 4; e += bytes) {
            const bool first = i % 4 == 0 && e == 0;
            const uint32_t least = matrix_draw(image, operand, i, e) >> 40 & 1;
            const uint32_t v = !first ? least : of_b ? y : i / 128 < 2 ? x : 0;
            out |= v << (8 * e);
        }
        return out;
    };
    const auto least = [&](uint32_t e, int mantissa) {
        const uint64_t h = matrix_draw(image, operand, i, e);
        return static_cast<uint32_t>(matrix_make({8, mantissa}, h >> 63, 48 + (h >> 56) % 6, h));
    };
    switch (image) {
        case least_bf16:
            return least(0, 7) | least(1, 7) << 16;
        case least_tf32:
            return least(0, 23);
        case tie_f16:
            return tie(2, 0x0400, 0x1000);
        case tie_e5m2:
            return tie(1, 0x04, 0x10);
        case ones16:
            return 0x3c003c00;
        case ones32:
            return 0x3f800000;
        case ones8:
            return 0x01010101;
        case probe16:
            return half(2 * i) | half(2 * i + 1) << 16;
        case probe32:
            return 0x20000000 + (i << 13);
        case probe8_low:
            return (4 * i & 255) * 0x01010101u + 0x03020100u;
        case probe8_high:
            return (i >> 6 & 255) * 0x01010101u;
        case identity16:
            return identity(2, 0x3c00, 2);
        case identity32:
            return identity(4, 0x3f800000, 2);
        case identity8:
            return identity(1, 1, 2);
        case identity16_sparse:
            return identity(2, 0x3c00, 4);
        case identity32_sparse:
            return identity(4, 0x3f800000, 4);
        case identity8_sparse:
            return identity(1, 1, 4);
        case fragment16:
            return fragment(2, 0x3c00);
        case fragment32:
            return fragment(4, 0x3f800000);
        default:
            return fragment(1, 1);
    }
}
inline std::vector<uint32_t> all_images(bool of_b) {
    const uint32_t words = (of_b ? bytes_b : bytes_a) / 4;
    std::vector<uint32_t> out(size_t{images} * words);
    for (uint32_t i = 0; i < images; ++i)
        for (uint32_t w = 0; w < words; ++w) out[size_t{i} * words + w] = image_word(i, of_b, w);
    return out;
}

// Accumulators: of f32, f16 and s32, by flavour; then zeros.
constexpr uint32_t zero_table = 3 * flavours, tables = zero_table + 1;
inline std::vector<uint32_t> all_tables() {
    using namespace sassemu::test;
    std::vector<uint32_t> out(size_t{tables} << table_bits);
    static constexpr MatrixElement element[3] = {element_f32, element_f16, element_s32};
    for (uint32_t t = 0; t < zero_table; ++t)
        for (uint32_t i = 0; i < 1u << table_bits; ++i)
            out[(t << table_bits) + i] = matrix_word(element[t / flavours], operand_c, t % flavours,
                                                     i / 32, i % 32, i % 3 == 0);
    return out;
}
inline uint32_t table_index(const Launch& l, uint32_t reg, uint32_t tid) {
    return (l.table << table_bits) +
           ((l.seed + reg * 128 + tid) * 0x9e3779b1u >> (32 - table_bits));
}

// Metadata: 0x4 and 0xe everywhere; two of four in order; one of two; any bits.
constexpr uint32_t metadata_valid = 2, metadata_pairs = 18, metadata_raw = 34, metadata_sets = 50;
inline std::vector<uint32_t> all_metadata() {
    using namespace sassemu::test;
    std::vector<uint32_t> out(size_t{metadata_sets} * 128);
    for (uint32_t s = 0; s < metadata_sets; ++s)
        for (uint32_t t = 0; t < 128; ++t)
            out[s * 128 + t] =
                s == 0   ? 0x44444444u
                : s == 1 ? 0xeeeeeeeeu
                : s < metadata_raw
                    ? matrix_metadata(s < metadata_pairs ? element_f16 : element_tf32,
                                      1000 + s * 4 + t / 32, t % 32)
                    : static_cast<uint32_t>(matrix_draw(s, 3, t, 7));
    return out;
}

}  // namespace warpgroup
