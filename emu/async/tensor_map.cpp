// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of tensor maps.
#include "emu/async/tensor_map.hpp"

#include <cstring>

namespace sassemu {

namespace {

// Types by their bits 10:7 of word 2; tf32 is a bit of its own beside the code of f32.
constexpr uint8_t type_code[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8};
constexpr TensorType type_of[] = {TensorType::u8,  TensorType::u16, TensorType::u32,
                                  TensorType::s32, TensorType::u64, TensorType::s64,
                                  TensorType::f16, TensorType::f32, TensorType::f32_ftz,
                                  TensorType::f64, TensorType::bf16};
constexpr uint64_t most_box_bytes = 228 * 1024;

Error bad(const std::string& field, std::string rule) {
    return Error{ErrorCode::input, "tensor map: " + field, std::move(rule), ""};
}

std::string element(const char* name, uint32_t k) {
    return std::string(name) + "[" + std::to_string(k) + "]";
}

// The rules of cuTensorMapEncodeTiled.
Result<void> check(const TensorMap& m) {
    const bool floating = m.type >= TensorType::f16;
    const uint64_t align = m.interleave == TensorInterleave::b32 ? 32 : 16;
    if (m.rank < 1 || m.rank > 5) return bad("rank", "is not 1 to 5");
    if (m.address % align)
        return bad("globalAddress", "is not a multiple of " + std::to_string(align));
    if (m.interleave != TensorInterleave::none && m.rank < 3)
        return bad("interleave", "needs a rank of at least 3");
    if (m.nan_fill && !floating) return bad("oobFill", "NaN needs a floating-point type");
    uint64_t bytes = element_bytes(m.type);
    for (uint32_t k = 0; k < m.rank; ++k) {
        if (m.size[k] < 1 || m.size[k] > uint64_t{1} << 32)
            return bad(element("globalDim", k), "is not 1 to 2^32");
        if (k && (m.stride[k - 1] % align || m.stride[k - 1] >> 40))
            return bad(element("globalStrides", k - 1),
                       "is not a multiple of " + std::to_string(align) + " below 2^40");
        if (m.box[k] < 1 || m.box[k] > 256) return bad(element("boxDim", k), "is not 1 to 256");
        if (m.step[k] < 1 || m.step[k] > 8)
            return bad(element("elementStrides", k), "is not 1 to 8");
        bytes *= m.box[k] / m.step[k];
    }
    const uint64_t row = uint64_t{m.box[0]} * element_bytes(m.type);
    if (row % 16) return bad("boxDim[0]", "is not a multiple of 16 bytes");
    if (m.interleave == TensorInterleave::none && m.swizzle != TensorSwizzle::none &&
        row > 16u << static_cast<uint32_t>(m.swizzle))
        return bad("boxDim[0]", "is wider than the span of the swizzle");
    if (bytes > most_box_bytes) return bad("boxDim", "the box is larger than shared memory");
    return {};
}

}  // namespace

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
    w[2] = (rank - 1) << 4 | uint32_t{type_code[type_number]} << 7 |
           static_cast<uint32_t>(interleave) << 11 | swizzled << 13 | uint32_t{nan_fill} << 15 |
           uint32_t{type >= TensorType::tf32} << 16 | uint32_t{promotion} << 17;
    uint64_t bytes = element_bytes(type);
    for (uint32_t k = 0; k < rank; ++k) {
        if (k) {
            w[2 + k] = static_cast<uint32_t>(stride[k - 1] >> 4);
            w[7] |= static_cast<uint32_t>(stride[k - 1] >> 36) << 4 * (k - 1);
            w[14] |= (box[k] - 1) << 8 * (k - 1);
        }
        w[8 + k] = static_cast<uint32_t>(size[k] - 1);
        w[13] |= (step[k] - 1) << 3 * k;
        bytes *= box[k] / step[k];
    }
    w[13] |= (box[0] - 1) << 24;
    w[16] = static_cast<uint32_t>(bytes);
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
    m.type = !tf32 ? type_of[code] : code == 7 ? TensorType::tf32 : TensorType::tf32_ftz;
    m.interleave = static_cast<TensorInterleave>(w[2] >> 11 & 3);
    m.swizzle = static_cast<TensorSwizzle>(w[2] >> 13 & 3);
    m.nan_fill = w[2] >> 15 & 1;
    m.promotion = w[2] >> 17 & 3;
    for (uint32_t k = 0; k < m.rank; ++k) {
        if (k) m.stride[k - 1] = uint64_t{w[2 + k]} << 4 | uint64_t{w[7] >> 4 * (k - 1) & 15} << 36;
        m.size[k] = uint64_t{w[8 + k]} + 1;
        m.step[k] = 1 + (w[13] >> 3 * k & 7);
        m.box[k] = 1 + (k ? w[14] >> 8 * (k - 1) & 255 : w[13] >> 24);
    }
    if (auto ok = check(m); !ok) return ok.error();
    return m;
}

}  // namespace sassemu
