// SPDX-License-Identifier: Apache-2.0
// The 128-byte tensor map (CUtensorMap) that tensor copies read. The layout was recovered by
// encoding 40,000 random maps with the driver (CUDA 13.0, H200); encode() gives its bytes and
// refuses what it refuses.
//
// Little-endian 32-bit words:
//   0, 1    global address
//   2       bits 6:4 rank - 1; 10:7 element type; 12:11 interleave; 14:13 swizzle; 15 NaN fill;
//           16 tf32; 18:17 L2 promotion
//   3..6    strides of dimensions 1..4, in units of 16 bytes, bits 31..0; 7: their bits 35..32,
//   four each 8..12   sizes of the dimensions, minus 1 13      traversal steps minus 1, three bits
//   each from bit 0; 31:24 box size of dimension 0, minus 1 14      box sizes of dimensions 1..4,
//   minus 1, a byte each 16, 18  the driver's own notes (bytes of a box, span of the swizzle);
//   copies do not look at them
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "emu/base/result.hpp"

namespace sassemu {

enum class TensorType : uint8_t {  // as CUtensorMapDataType numbers them
    u8,
    u16,
    u32,
    s32,
    u64,
    s64,
    f16,
    f32,
    f64,
    bf16,
    f32_ftz,
    tf32,
    tf32_ftz
};
enum class TensorInterleave : uint8_t { none, b16, b32 };
enum class TensorSwizzle : uint8_t { none, b32, b64, b128 };

struct TensorMap {
    TensorType type = TensorType::f32;
    uint32_t rank = 1;                   // 1..5
    uint64_t address = 0;                // a multiple of 16
    uint64_t size[5] = {1, 1, 1, 1, 1};  // elements, innermost first: 1..2^32
    uint64_t stride[4] = {};             // bytes, of dimensions 1..: multiples of 16 below 2^40
    uint32_t box[5] = {1, 1, 1, 1, 1};   // elements: 1..256
    uint32_t step[5] = {1, 1, 1, 1, 1};  // 1..8
    TensorInterleave interleave = TensorInterleave::none;
    TensorSwizzle swizzle = TensorSwizzle::none;
    uint8_t promotion = 0;  // L2: 0, 64, 128, 256 bytes
    bool nan_fill = false;

    // Errors name the field and the rule.
    Result<std::array<std::byte, 128>> encode() const;
    // Any bytes: a map that the hardware could not have been given is an error.
    static Result<TensorMap> decode(const std::byte* bytes);
};

uint32_t element_bytes(TensorType type);

}  // namespace sassemu
