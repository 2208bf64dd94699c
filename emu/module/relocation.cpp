// SPDX-License-Identifier: Apache-2.0
// One relocation -> bytes. Belongs here: where each R_CUDA type puts its bits. Does not belong
// here: which value it gets (link.cpp).
//
// The bit positions were derived by linking own files and comparing words before and after
// nvlink (types 37 3b 40 42 4a 73 ...), and by toggling the bits of a CALL.ABS word and reading
// its target back (3a, 4b). A descriptor is what nvlink leaves to the driver; here it is the
// function's address. A name ending in _N says the field's first bit within the 128-bit
// instruction; LO and HI are halves of a 64-bit value.
#include <array>

#include "emu/module/link.hpp"

namespace sassemu {
namespace {

// `count` bits of (value >> shift) go to bit `at`. Up to two pieces per type.
struct Piece {
    std::uint8_t at = 0, count = 0, shift = 0;
};

enum class Overflow : std::uint8_t { truncate, unsigned_fit, signed_fit };

struct Shape {
    std::uint32_t type = 0;
    std::uint8_t width = 0;  // bytes of the unit at r_offset
    Piece first, second;
    Overflow overflow = Overflow::truncate;
    std::uint8_t value_bits = 64;  // for the overflow check
    std::int8_t bank_at = -1;      // 5-bit constant bank goes here
    std::uint8_t granularity = 1;  // the value must be a multiple of this
};

constexpr auto truncate = Overflow::truncate;
constexpr auto unsigned_fit = Overflow::unsigned_fit;
constexpr auto signed_fit = Overflow::signed_fit;

constexpr std::array shapes = {
    Shape{0x01, 4, {0, 32, 0}, {}, unsigned_fit, 32},           // R_CUDA_32
    Shape{0x02, 8, {0, 64, 0}, {}},                             // R_CUDA_64
    Shape{0x03, 4, {0, 32, 0}, {}, unsigned_fit, 32},           // R_CUDA_G32
    Shape{0x04, 8, {0, 64, 0}, {}},                             // R_CUDA_G64
    Shape{0x06, 4, {0, 20, 0}, {}, unsigned_fit, 20},           // R_CUDA_TEX_HEADER_INDEX
    Shape{0x07, 4, {20, 12, 0}, {}, unsigned_fit, 12},          // R_CUDA_SAMP_HEADER_INDEX
    Shape{0x23, 8, {0, 64, 0}, {}},                             // R_CUDA_FUNC_DESC_64
    Shape{0x34, 4, {0, 32, 0}, {}, unsigned_fit, 32},           // R_CUDA_SURF_HEADER_INDEX
    Shape{0x65, 4, {0, 32, 0}, {}, unsigned_fit, 32},           // R_CUDA_SAMP_HEADER_INDEX_0
    Shape{0x37, 16, {32, 32, 0}, {}, unsigned_fit, 32},         // R_CUDA_ABS32_32
    Shape{0x38, 16, {32, 32, 0}, {}},                           // R_CUDA_ABS32_LO_32
    Shape{0x39, 16, {32, 32, 32}, {}},                          // R_CUDA_ABS32_HI_32
    Shape{0x3a, 16, {34, 47, 2}, {}, unsigned_fit, 49, -1, 4},  // R_CUDA_ABS47_34
    Shape{0x3b, 16, {32, 16, 0}, {}, unsigned_fit, 16},         // R_CUDA_ABS16_32
    Shape{0x3c, 16, {32, 24, 0}, {}, unsigned_fit, 24},         // R_CUDA_ABS24_32
    Shape{0x3e, 16, {32, 32, 0}, {}},                           // R_CUDA_FUNC_DESC32_LO_32
    Shape{0x3f, 16, {32, 32, 32}, {}},                          // R_CUDA_FUNC_DESC32_HI_32
    Shape{0x40, 16, {40, 14, 2}, {}, signed_fit, 17, 54, 4},    // R_CUDA_CONST_FIELD19_40
    Shape{0x42, 16, {38, 16, 0}, {}, signed_fit, 17, 54},       // R_CUDA_CONST_FIELD21_38
    Shape{0x46, 4, {0, 32, 0}, {}},                             // R_CUDA_32_LO
    Shape{0x47, 4, {0, 32, 32}, {}},                            // R_CUDA_32_HI
    Shape{0x4a, 16, {40, 24, 0}, {}, unsigned_fit, 24},         // R_CUDA_ABS24_40
    Shape{0x4b, 16, {16, 8, 2}, {34, 47, 10}, unsigned_fit, 57, -1, 4},  // R_CUDA_ABS55_16_34
    Shape{0x64, 16, {44, 20, 0}, {}, unsigned_fit, 20},                  // R_CUDA_ABS20_44
    Shape{0x66, 8, {0, 64, 0}, {}},                                      // R_CUDA_UNIFIED
    Shape{0x67, 4, {0, 32, 0}, {}, unsigned_fit, 32},                    // R_CUDA_UNIFIED_32
    Shape{0x70, 16, {32, 32, 0}, {}},                                    // R_CUDA_UNIFIED32_LO_32
    Shape{0x71, 16, {32, 32, 32}, {}},                                   // R_CUDA_UNIFIED32_HI_32
    Shape{0x72, 16, {16, 8, 2}, {34, 48, 10}, truncate, 58, -1, 4},      // R_CUDA_ABS56_16_34
    Shape{0x73, 16, {37, 17, 0}, {}, signed_fit, 18, 54},                // R_CUDA_CONST_FIELD22_37
};

constexpr std::uint32_t byte_types = 0x4c;        // 4c..53 R_CUDA_8_0..56: one byte of the value
constexpr std::uint32_t generic_bytes = 0x54;     // 54..5b R_CUDA_G8_0..56
constexpr std::uint32_t descriptor_bytes = 0x5c;  // 5c..63 R_CUDA_FUNC_DESC_8_0..56
constexpr std::uint32_t unified_bytes = 0x68;     // 68..6f R_CUDA_UNIFIED_8_0..56
constexpr std::uint32_t clear32 = 0x48, clear64 = 0x49;  // R_CUDA_UNUSED_CLEAR32/64
// R_CUDA_YIELD_OPCODE9_0, R_CUDA_YIELD_CLEAR_PRED4_87: mark a YIELD that a linker may turn into
// another instruction; nvlink leaves the word as it is, and so do we.
constexpr std::uint32_t yield_opcode = 0x44, yield_predicate = 0x45;

void put_bits(std::span<std::uint8_t> unit, unsigned at, unsigned count, std::uint64_t value) {
    for (unsigned i = 0; i < count; ++i) {
        const unsigned bit = at + i;
        const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
        if (((value >> i) & 1U) != 0) {
            unit[bit / 8] = static_cast<std::uint8_t>(unit[bit / 8] | mask);
        } else {
            unit[bit / 8] = static_cast<std::uint8_t>(unit[bit / 8] & ~mask);
        }
    }
}

bool fits(std::uint64_t value, const Shape& shape) {
    const unsigned bits = shape.value_bits;
    if (shape.overflow == Overflow::truncate) return true;
    if (shape.overflow == Overflow::unsigned_fit) return bits == 64 || (value >> bits) == 0;
    const auto number = static_cast<std::int64_t>(value);
    const std::int64_t half = std::int64_t{1} << (bits - 1);
    return number >= -half && number < half;
}

std::string type_label(std::uint32_t type) {
    const auto name = relocation_name(type);
    return "relocation type " + std::to_string(type) +
           (name.empty() ? std::string() : " (" + std::string(name) + ")");
}

bool is_byte_type(std::uint32_t type, std::uint32_t base) {
    return type >= base && type < base + 8;
}

}  // namespace

bool relocation_needs_value(std::uint32_t type) {
    return type != 0 && type != yield_opcode && type != yield_predicate && type != clear32 &&
           type != clear64;
}

Result<void> apply_relocation(std::span<std::uint8_t> bytes, std::uint64_t offset,
                              std::uint32_t type, RelocationValue value, std::string_view where) {
    const auto unit = [&](std::uint64_t width) -> std::span<std::uint8_t> {
        if (offset > bytes.size() || width > bytes.size() - offset) return {};
        return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(width));
    };
    const auto outside = [&] {
        return make_error(ErrorCode::input, std::string(where),
                          type_label(type) + " at " + std::to_string(offset) +
                              " leaves the section of " + std::to_string(bytes.size()) + " bytes");
    };
    if (type == 0 || type == yield_opcode || type == yield_predicate) return {};
    if (type == clear32 || type == clear64) {
        const auto target = unit(type == clear32 ? 4 : 8);
        if (target.empty()) return outside();
        for (auto& byte : target) byte = 0;
        return {};
    }
    for (const std::uint32_t base : {byte_types, generic_bytes, descriptor_bytes, unified_bytes}) {
        if (!is_byte_type(type, base)) continue;
        const auto target = unit(1);
        if (target.empty()) return outside();
        target[0] = static_cast<std::uint8_t>(value.address >> (8 * (type - base)));
        return {};
    }
    for (const auto& shape : shapes) {
        if (shape.type != type) continue;
        const auto target = unit(shape.width);
        if (target.empty()) return outside();
        if (!fits(value.address, shape) || value.address % shape.granularity != 0) {
            return make_error(ErrorCode::input, std::string(where),
                              type_label(type) + ": the value " + std::to_string(value.address) +
                                  " does not fit its field");
        }
        put_bits(target, shape.first.at, shape.first.count, value.address >> shape.first.shift);
        put_bits(target, shape.second.at, shape.second.count, value.address >> shape.second.shift);
        if (shape.bank_at >= 0) {
            put_bits(target, static_cast<unsigned>(shape.bank_at), 5, value.bank);
        }
        return {};
    }
    return make_error(ErrorCode::unsupported, std::string(where),
                      type_label(type) + " is not supported");
}

}  // namespace sassemu
