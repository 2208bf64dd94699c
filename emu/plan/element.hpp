// SPDX-License-Identifier: Apache-2.0
// The element types of plan buffers: sizes, names, text, comparison. What belongs here: single
// values. What does not: whole buffers (compare.hpp) and random fills (philox.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sassemu::plan {

enum class ElementType : uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

std::optional<ElementType> element_type(std::string_view name);
std::string_view element_name(ElementType type);
std::string element_names();            // "u8, i8, ...", for messages
size_t element_size(ElementType type);  // bytes
bool element_is_float(ElementType type);
bool element_is_signed(ElementType type);  // signed integer

// An element's bits from little-endian memory, zero-extended; `bytes` holds element_size bytes.
uint64_t load_bits(ElementType type, const std::byte* bytes);
void store_bits(ElementType type, uint64_t bits, std::byte* bytes);

// Decimal text that reads back to the same value; "nan", "inf", "-inf" where it is none.
std::string element_text(ElementType type, uint64_t bits);
std::string element_hex(ElementType type, uint64_t bits);  // "0x3f800000", all digits

// A literal as bits: decimal, or "0x..." for the bit pattern itself (a NaN's payload, say). Empty:
// malformed or out of range.
std::optional<uint64_t> parse_element(ElementType type, std::string_view text);

// Integers, decimal or 0x...; empty: malformed or out of the range named.
std::optional<uint64_t> parse_unsigned(std::string_view text, uint64_t most = UINT64_MAX);
std::optional<int64_t> parse_signed(std::string_view text, int64_t least, int64_t most);
std::optional<double> parse_double(std::string_view text);
std::optional<float> parse_float(std::string_view text);  // rounded once, from the text

// As a double; exact for all floating types.
double element_to_double(ElementType type, uint64_t bits);
// Round to nearest even, as the IEEE conversions do; NaN stays a quiet NaN.
uint16_t float_to_half(float value);
uint16_t float_to_bfloat(float value);
float half_to_float(uint16_t bits);

}  // namespace sassemu::plan
