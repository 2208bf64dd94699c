// SPDX-License-Identifier: Apache-2.0
// Random fills: the generator's published answers, and the mapping of each type by hand.
#include "emu/plan/philox.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "emu/plan/sha256.hpp"

namespace sassemu::plan {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers published with the algorithm (Random123, kat_vectors, philox4x32-10).
TEST(Philox, GivesThePublishedAnswers) {
    EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
              (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
              (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(
        philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
        (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Words of seed 0, element 0: 6627e8d5 e169c58d.
TEST(Philox, MapsEachTypeAsTheFormatSays) {
    RandomSpec spec;
    spec.type = ElementType::f32;
    spec.low = 0;
    spec.high = 1;
    EXPECT_EQ(random_element(spec, 0), std::bit_cast<uint32_t>(float(0x6627e8) * 0x1p-24f));
    spec.low = -2;
    spec.high = 3;
    EXPECT_EQ(random_element(spec, 0),
              std::bit_cast<uint32_t>(float(-2.0 + 5.0 * (0x6627e8 * 0x1p-24))));
    spec.type = ElementType::f64;
    EXPECT_EQ(random_element(spec, 0),
              std::bit_cast<uint64_t>(-2.0 + 5.0 * (double(0xe169c58d6627e8d5 >> 11) * 0x1p-53)));
    spec.type = ElementType::u32;  // whole range: the word itself
    EXPECT_EQ(random_element(spec, 0), 0x6627e8d5u);
    spec.type = ElementType::i32;  // minimum + word: the sign bit turned over
    EXPECT_EQ(random_element(spec, 0), 0xe627e8d5u);
    spec.type = ElementType::u8;
    EXPECT_EQ(random_element(spec, 0), 0x66u);
    spec.type = ElementType::i16;
    EXPECT_EQ(random_element(spec, 0), 0xe627u);
    spec.type = ElementType::u64;
    EXPECT_EQ(random_element(spec, 0), 0xe169c58d6627e8d5u);
    spec.whole_range = false;
    spec.type = ElementType::i32;
    spec.integer_low = static_cast<uint64_t>(-1000);
    spec.integer_span = 2000;
    EXPECT_EQ(static_cast<int32_t>(random_element(spec, 0)),
              -1000 + static_cast<int32_t>((0x6627e8d5ull * 2000) >> 32));
    spec.type = ElementType::u64;
    spec.integer_low = 7;
    spec.integer_span = uint64_t{1} << 63;
    EXPECT_EQ(random_element(spec, 0), 7 + (0xe169c58d6627e8d5u >> 1));
}

TEST(Philox, CountsElementsNotBytesAndUsesBothHalvesOfTheSeed) {
    RandomSpec spec;
    spec.type = ElementType::u32;
    spec.seed = 0x100000002;
    std::vector<std::byte> bytes(12);
    fill_random(spec, bytes);
    for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(load_bits(ElementType::u32, bytes.data() + 4 * i),
                  philox4x32_10({i, 0, 0, 0}, {2, 1})[0]);
    }
    EXPECT_EQ(random_element(spec, 0x300000004), philox4x32_10({4, 3, 0, 0}, {2, 1})[0]);
}

TEST(Element, RoundsToHalfAndBfloatToNearestEven) {
    EXPECT_EQ(float_to_half(1.0f), 0x3c00);
    EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);      // tie to even, down
    EXPECT_EQ(float_to_half(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie to even, up
    EXPECT_EQ(float_to_half(65519.996f), 0x7bff);
    EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
    EXPECT_EQ(float_to_half(0x1p-24f), 0x0001);
    EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);  // tie with zero
    EXPECT_EQ(float_to_half(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
    EXPECT_EQ(float_to_half(-0x1.ff8p-15f), 0x83ff);  // largest denormal
    EXPECT_EQ(float_to_half(-0x1.ffcp-15f), 0x8400);  // carries into the normals
    EXPECT_EQ(float_to_bfloat(1.0f + 0x1p-8f), 0x3f80);
    EXPECT_EQ(float_to_bfloat(1.0f + 3 * 0x1p-8f), 0x3f82);
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float value = half_to_float(static_cast<uint16_t>(bits));
        if (!std::isnan(value)) {
            EXPECT_EQ(float_to_half(value), bits);
        }
    }
}

TEST(Element, ReadsDecimalsAndBitPatterns) {
    EXPECT_EQ(parse_element(ElementType::i8, "-128"), 0x80u);
    EXPECT_EQ(parse_element(ElementType::i8, "128"), std::nullopt);
    EXPECT_EQ(parse_element(ElementType::i8, "0xff"), 0xffu);
    EXPECT_EQ(parse_element(ElementType::u8, "-1"), std::nullopt);
    EXPECT_EQ(parse_element(ElementType::u64, "18446744073709551615"), UINT64_MAX);
    EXPECT_EQ(parse_element(ElementType::f32, "0x7fc00001"), 0x7fc00001u);
    // 1 + 2^-24 + 2^-60: rounding through double first would lose the last bit and tie to even.
    EXPECT_EQ(parse_element(ElementType::f32, "1.00000005960464477626271"), 0x3f800001u);
    EXPECT_EQ(parse_element(ElementType::f32, "1e40"), std::nullopt);
    EXPECT_EQ(element_text(ElementType::f32, 0x3dcccccd), "0.1");
    EXPECT_EQ(element_text(ElementType::i16, 0xfffe), "-2");
    EXPECT_EQ(element_hex(ElementType::u16, 0xab), "0x00ab");
}

// FIPS 180-4 examples, and the two lengths around the padding's block border.
TEST(Sha256, GivesThePublishedAnswers) {
    const auto hash = [](std::string_view text) {
        SpanSource bytes(std::as_bytes(std::span(text)));
        return *sha256_hex(bytes);
    };
    EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hash(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace sassemu::plan
