// SPDX-License-Identifier: Apache-2.0
// The 128-byte tensor map (CUtensorMap) that tensor copies read. The layout was recovered by
// encoding 40,000 random maps of boxes with the driver (CUDA 13.0, H200) and 40,000 of images
// (H100); encode() gives its bytes and refuses what it refuses. What sm_100 adds (types of 4 and 6
// bits, atomicity of swizzles) is read off what ptxas 13.0 makes of tensormap.replace; its rules
// are those of the driver's manual.
//
// Little-endian 32-bit words:
//   0, 1    global address
//   2       bit 0 images; bits 6:4 rank - 1; 10:7 element type; 12:11 interleave; 14:13 swizzle;
//           15 NaN fill; 16 tf32; 18:17 L2 promotion; 21:19 atomicity of the swizzle
//   3..6    strides of dimensions 1..4, in units of 16 bytes, bits 31..0
//   7       their bits 35..32, four each
//   8..12   sizes of the dimensions, minus 1
//   13      traversal steps minus 1, three bits each from bit 0; 31:24 box size of dimension 0, or
//           channels per pixel, minus 1
//   14      box sizes of dimensions 1..4, minus 1, a byte each; of images, signed: the lower
//   corners
//           of W, H, D in bits 15:0, the upper ones in 31:16: one of 16 bits, two of 8, three of 5
//   15      of images: pixels per column, minus 1
//   16, 18  the driver's own notes (bytes of a box, span of the swizzle); copies do not look at
//   them
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
    tf32_ftz,
    b4x16,      // 4 bits, packed here and there
    b4x16_p64,  // 16 of 4 bits, in shared memory in 16 bytes
    b6x16_p32   // 16 of 6 bits, in shared memory in 16 bytes
};
enum class TensorInterleave : uint8_t { none, b16, b32 };
enum class TensorSwizzle : uint8_t { none, b32, b64, b128 };
// What changes places within 128 bytes; b32_flip: the halves of each 16 bytes too, in odd rows.
enum class TensorAtom : uint8_t { b16, b32, b32_flip, b64 };

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
    TensorAtom atom = TensorAtom::b16;  // of b128
    uint8_t promotion = 0;              // L2: 0, 64, 128, 256 bytes
    bool nan_fill = false;
    // Of images (im2col), in place of the box: the corners that bound where a column's pixels are,
    // relative to the first and the last one of W, H, D; pixels of a column, channels of each.
    bool image = false;
    int32_t lower[3] = {}, upper[3] = {};
    uint32_t pixels = 1, channels = 1;  // 1..1024, 1..256

    // Errors name the field and the rule.
    Result<std::array<std::byte, 128>> encode() const;
    // Any bytes: a map that the hardware could not have been given is an error.
    static Result<TensorMap> decode(const std::byte* bytes);
};

// What dimension 0 is counted in: elements of one type, or as many as packed ones need.
struct TensorUnit {
    uint32_t elements = 1, near = 1, far = 1;  // bytes in shared and in global memory
};
TensorUnit tensor_unit(TensorType type);
inline bool is_packed(TensorType type) { return type >= TensorType::b4x16; }
uint32_t element_bytes(TensorType type);  // not of packed types

}  // namespace sassemu
