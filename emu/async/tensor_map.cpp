// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of tensor maps.
#include "emu/async/tensor_map.hpp"

#include <cstring>

namespace sassemu {

namespace {

// Types by their bits 10:7 of word 2; tf32 is a bit of its own beside the code of f32.
constexpr uint8_t type_code[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8, 11, 12, 13};
constexpr TensorType type_of[] = {TensorType::u8,        TensorType::u16,      TensorType::u32,
                                  TensorType::s32,       TensorType::u64,      TensorType::s64,
                                  TensorType::f16,       TensorType::f32,      TensorType::f32_ftz,
                                  TensorType::f64,       TensorType::bf16,     TensorType::b4x16,
                                  TensorType::b4x16_p64, TensorType::b6x16_p32};
constexpr uint64_t most_box_bytes = 228 * 1024;

Error bad(const std::string& field, std::string rule) {
    return Error{ErrorCode::input, "tensor map: " + field, std::move(rule), ""};
}

std::string element(const char* name, uint32_t k) {
    return std::string(name) + "[" + std::to_string(k) + "]";
}

// Bits of a corner of an image, of which there are one, two or three.
constexpr uint32_t corner_bits(uint32_t rank) { return rank == 3 ? 16 : rank == 4 ? 8 : 5; }

uint32_t pack_corner(const int32_t corner[3], uint32_t rank) {
    const uint32_t bits = corner_bits(rank);
    uint32_t out = 0;
    for (uint32_t k = 0; k + 2 < rank; ++k)
        out |= (static_cast<uint32_t>(corner[k]) & ((1u << bits) - 1)) << bits * k;
    return out;
}
void unpack_corner(uint32_t packed, uint32_t rank, int32_t corner[3]) {
    const uint32_t bits = corner_bits(rank);
    for (uint32_t k = 0; k + 2 < rank; ++k)
        corner[k] = static_cast<int32_t>(packed << (32 - bits * (k + 1))) >> (32 - bits);
}

// The rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
Result<void> check(const TensorMap& m) {
    const bool floating = m.type >= TensorType::f16 && !is_packed(m.type);
    const TensorUnit unit = tensor_unit(m.type);
    const bool padded = unit.near != unit.far;
    const uint64_t align = m.interleave == TensorInterleave::b32 || padded ? 32 : 16;
    if (m.rank < 1 || m.rank > 5) return bad("rank", "is not 1 to 5");
    if (m.address % align)
        return bad("globalAddress", "is not a multiple of " + std::to_string(align));
    if (m.interleave != TensorInterleave::none && m.rank < 3)
        return bad("interleave", "needs a rank of at least 3");
    if (m.nan_fill && !floating) return bad("oobFill", "NaN needs a floating-point type");
    if (is_packed(m.type)) {
        const uint32_t multiple = padded ? 128 : 2, innermost = m.image ? m.channels : m.box[0];
        if (m.size[0] % multiple)
            return bad("globalDim[0]", "is not a multiple of " + std::to_string(multiple));
        if (padded && innermost != 128)
            return bad(m.image ? "channelsPerPixel" : "boxDim[0]", "is not 128");
        if (padded && m.interleave != TensorInterleave::none)
            return bad("interleave", "is not for this type");
    }
    if (m.atom != TensorAtom::b16 && m.swizzle != TensorSwizzle::b128)
        return bad("swizzleAtomicity", "needs a swizzle of 128 bytes");
    uint64_t bytes = unit.near;
    for (uint32_t k = 0; k < m.rank; ++k) {
        if (m.size[k] < 1 || m.size[k] > uint64_t{1} << 32)
            return bad(element("globalDim", k), "is not 1 to 2^32");
        if (k && (m.stride[k - 1] % align || m.stride[k - 1] >> 40))
            return bad(element("globalStrides", k - 1),
                       "is not a multiple of " + std::to_string(align) + " below 2^40");
        if (!m.image && (m.box[k] < 1 || m.box[k] > 256))
            return bad(element("boxDim", k), "is not 1 to 256");
        if (m.step[k] < 1 || m.step[k] > 8)
            return bad(element("elementStrides", k), "is not 1 to 8");
        if (!m.image) bytes *= m.box[k] / m.step[k];
    }
    if (m.image) {
        if (m.rank < 3) return bad("rank", "of images is not 3 to 5");
        if (m.channels < 1 || m.channels > 256) return bad("channelsPerPixel", "is not 1 to 256");
        if (m.pixels < 1 || m.pixels > 1024) return bad("pixelsPerColumn", "is not 1 to 1024");
        const int32_t limit = 1 << (corner_bits(m.rank) - 1);
        const uint32_t first = m.interleave == TensorInterleave::none;  // the dimension of W
        for (uint32_t k = 0; k + 2 < m.rank; ++k) {
            const std::string range =
                "is not " + std::to_string(-limit) + " to " + std::to_string(limit - 1);
            if (m.lower[k] < -limit || m.lower[k] >= limit)
                return bad(element("pixelBoxLowerCorner", k), range);
            if (m.upper[k] < -limit || m.upper[k] >= limit)
                return bad(element("pixelBoxUpperCorner", k), range);
            if (m.lower[k] >= static_cast<int64_t>(m.size[first + k]) + m.upper[k])
                return bad(element("pixelBoxUpperCorner", k), "bounds no pixel");
        }
        bytes *= uint64_t{m.channels} * m.pixels;
    }
    const char* const innermost = m.image ? "channelsPerPixel" : "boxDim[0]";
    bytes /= unit.elements;
    const uint64_t row = uint64_t{m.image ? m.channels : m.box[0]} * unit.near / unit.elements;
    if (row % 16) return bad(innermost, "is not a multiple of 16 bytes");
    if (m.interleave == TensorInterleave::none && m.swizzle != TensorSwizzle::none &&
        row > 16u << static_cast<uint32_t>(m.swizzle))
        return bad(innermost, "is wider than the span of the swizzle");
    if (bytes > most_box_bytes)
        return bad(m.image ? "pixelsPerColumn" : "boxDim", "the box is larger than shared memory");
    return {};
}

}  // namespace

TensorUnit tensor_unit(TensorType type) {
    switch (type) {
        case TensorType::b4x16:
            return {2, 1, 1};
        case TensorType::b4x16_p64:
            return {16, 16, 8};
        case TensorType::b6x16_p32:
            return {16, 16, 12};
        default:
            return {1, element_bytes(type), element_bytes(type)};
    }
}

uint32_t element_bytes(TensorType type) {
    constexpr uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return bytes[static_cast<uint32_t>(type)];
}

Result<std::array<std::byte, 128>> TensorMap::encode() const {
    if (auto ok = check(*this); !ok) return ok.error();
    uint32_t w[32] = {};
    const auto type_number = static_cast<uint32_t>(type), swizzled = static_cast<uint32_t>(swizzle);
    w[0] = static_cast<uint32_t>(address);
    w[1] = static_cast<uint32_t>(address >> 32);
    w[2] = uint32_t{image} | (rank - 1) << 4 | uint32_t{type_code[type_number]} << 7 |
           static_cast<uint32_t>(interleave) << 11 | swizzled << 13 | uint32_t{nan_fill} << 15 |
           uint32_t{type == TensorType::tf32 || type == TensorType::tf32_ftz} << 16 |
           uint32_t{promotion} << 17 | static_cast<uint32_t>(atom) << 19;
    const TensorUnit unit = tensor_unit(type);
    uint64_t bytes = unit.near;
    for (uint32_t k = 0; k < rank; ++k) {
        if (k) {
            w[2 + k] = static_cast<uint32_t>(stride[k - 1] >> 4);
            w[7] |= static_cast<uint32_t>(stride[k - 1] >> 36) << 4 * (k - 1);
            if (!image) w[14] |= (box[k] - 1) << 8 * (k - 1);
        }
        w[8 + k] = static_cast<uint32_t>(size[k] - 1);
        w[13] |= (step[k] - 1) << 3 * k;
        if (!image) bytes *= box[k] / step[k];
    }
    w[13] |= ((image ? channels : box[0]) - 1) << 24;
    if (image) {
        w[14] = pack_corner(lower, rank) | pack_corner(upper, rank) << 16;
        w[15] = pixels - 1;
        bytes *= uint64_t{channels} * pixels;
    }
    w[16] = static_cast<uint32_t>(bytes / unit.elements);
    w[18] = swizzled ? 0x80u << swizzled : 0x10;
    std::array<std::byte, 128> out;
    std::memcpy(out.data(), w, sizeof w);
    return out;
}

Result<TensorMap> TensorMap::decode(const std::byte* bytes) {
    uint32_t w[32];
    std::memcpy(w, bytes, sizeof w);
    TensorMap m;
    m.address = w[0] | uint64_t{w[1]} << 32;
    m.rank = 1 + (w[2] >> 4 & 7);
    const uint32_t code = w[2] >> 7 & 15;
    const bool tf32 = w[2] >> 16 & 1;
    if (m.rank > 5) return bad("rank", "is not 1 to 5");
    if (code >= std::size(type_of) || (tf32 && code != 7 && code != 8))
        return bad("elemtype", "code " + std::to_string(code) + " is none");
    if ((w[2] >> 11 & 3) == 3) return bad("interleave", "code 3 is none");
    if ((w[2] >> 19 & 7) > 3)
        return bad("swizzleAtomicity", "code " + std::to_string(w[2] >> 19 & 7) + " is none");
    if (w[2] >> 22 & 1) return bad("swizzle", "of 96 bytes is not known here");
    m.atom = static_cast<TensorAtom>(w[2] >> 19 & 7);
    m.type = !tf32 ? type_of[code] : code == 7 ? TensorType::tf32 : TensorType::tf32_ftz;
    m.interleave = static_cast<TensorInterleave>(w[2] >> 11 & 3);
    m.swizzle = static_cast<TensorSwizzle>(w[2] >> 13 & 3);
    m.nan_fill = w[2] >> 15 & 1;
    m.promotion = w[2] >> 17 & 3;
    m.image = w[2] & 1;
    if (m.image && m.rank < 3) return bad("rank", "of images is not 3 to 5");
    for (uint32_t k = 0; k < m.rank; ++k) {
        if (k) m.stride[k - 1] = uint64_t{w[2 + k]} << 4 | uint64_t{w[7] >> 4 * (k - 1) & 15} << 36;
        m.size[k] = uint64_t{w[8 + k]} + 1;
        m.step[k] = 1 + (w[13] >> 3 * k & 7);
        if (!m.image) m.box[k] = 1 + (k ? w[14] >> 8 * (k - 1) & 255 : w[13] >> 24);
    }
    if (m.image) {
        m.channels = 1 + (w[13] >> 24);
        m.pixels = 1 + w[15];
        unpack_corner(w[14], m.rank, m.lower);
        unpack_corner(w[14] >> 16, m.rank, m.upper);
    }
    if (auto ok = check(m); !ok) return ok.error();
    return m;
}

}  // namespace sassemu
