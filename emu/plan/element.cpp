// SPDX-License-Identifier: Apache-2.0
// See element.hpp. Formats: IEEE 754-2019 binary16/32/64; bfloat16 is the upper half of binary32.
#include "emu/plan/element.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace sassemu::plan {
namespace {

struct TypeInfo {
    std::string_view name;
    uint8_t size;
    bool is_float, is_signed;
};
constexpr std::array<TypeInfo, 12> types{{{"u8", 1, false, false},
                                          {"i8", 1, false, true},
                                          {"u16", 2, false, false},
                                          {"i16", 2, false, true},
                                          {"u32", 4, false, false},
                                          {"i32", 4, false, true},
                                          {"u64", 8, false, false},
                                          {"i64", 8, false, true},
                                          {"f16", 2, true, false},
                                          {"bf16", 2, true, false},
                                          {"f32", 4, true, false},
                                          {"f64", 8, true, false}}};

const TypeInfo& info(ElementType type) { return types[static_cast<size_t>(type)]; }

int64_t sign_extend(uint64_t bits, size_t bytes) {
    const unsigned shift = 64 - 8 * static_cast<unsigned>(bytes);
    return static_cast<int64_t>(bits << shift) >> shift;
}

template <class T>
std::string shortest(T value) {
    if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 64> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

template <class T>
std::optional<T> parse_floating(std::string_view text) {
    if (text == "nan") return std::numeric_limits<T>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<T>::infinity();
    if (text == "-inf") return -std::numeric_limits<T>::infinity();
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (stop != end || text.empty()) return std::nullopt;
    if (error == std::errc::result_out_of_range) {
        // Too small becomes zero or a denormal, which is what rounding gives; too large is an
        // error.
        const double wide = std::strtod(std::string(text).c_str(), nullptr);
        if (std::abs(wide) > 1) return std::nullopt;
        return static_cast<T>(wide);
    }
    if (error != std::errc{}) return std::nullopt;
    return value;
}

}  // namespace

std::optional<ElementType> element_type(std::string_view name) {
    for (size_t i = 0; i < types.size(); ++i) {
        if (types[i].name == name) return static_cast<ElementType>(i);
    }
    return std::nullopt;
}

std::string_view element_name(ElementType type) { return info(type).name; }

std::string element_names() {
    std::string names;
    for (const TypeInfo& type : types) {
        if (!names.empty()) names += ", ";
        names += type.name;
    }
    return names;
}

size_t element_size(ElementType type) { return info(type).size; }
bool element_is_float(ElementType type) { return info(type).is_float; }
bool element_is_signed(ElementType type) { return info(type).is_signed; }

uint64_t load_bits(ElementType type, const std::byte* bytes) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes, element_size(type));  // little-endian hosts only, as the guest is
    return bits;
}

void store_bits(ElementType type, uint64_t bits, std::byte* bytes) {
    std::memcpy(bytes, &bits, element_size(type));
}

std::string element_text(ElementType type, uint64_t bits) {
    switch (type) {
        case ElementType::f16:
            return shortest(half_to_float(static_cast<uint16_t>(bits)));
        case ElementType::bf16:
            return shortest(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
        case ElementType::f32:
            return shortest(std::bit_cast<float>(static_cast<uint32_t>(bits)));
        case ElementType::f64:
            return shortest(std::bit_cast<double>(bits));
        default:
            return element_is_signed(type) ? std::to_string(sign_extend(bits, element_size(type)))
                                           : std::to_string(bits);
    }
}

std::string element_hex(ElementType type, uint64_t bits) {
    static constexpr char digits[] = "0123456789abcdef";
    const size_t count = 2 * element_size(type);
    std::string text = "0x" + std::string(count, '0');
    for (size_t i = 0; i < count; ++i) text[2 + i] = digits[(bits >> (4 * (count - 1 - i))) & 15];
    return text;
}

std::optional<uint64_t> parse_element(ElementType type, std::string_view text) {
    const unsigned width = 8 * static_cast<unsigned>(element_size(type));
    const uint64_t mask = width == 64 ? UINT64_MAX : (uint64_t{1} << width) - 1;
    if (text.starts_with("0x") || text.starts_with("0X")) return parse_unsigned(text, mask);
    switch (type) {
        case ElementType::f64:
            if (const auto value = parse_double(text)) return std::bit_cast<uint64_t>(*value);
            return std::nullopt;
        case ElementType::f32:
        case ElementType::f16:
        case ElementType::bf16: {
            const auto value = parse_float(text);
            if (!value) return std::nullopt;
            if (type == ElementType::f16) return float_to_half(*value);
            if (type == ElementType::bf16) return float_to_bfloat(*value);
            return std::bit_cast<uint32_t>(*value);
        }
        default:
            break;
    }
    if (!element_is_signed(type)) return parse_unsigned(text, mask);
    const auto most = static_cast<int64_t>(mask >> 1);
    const auto value = parse_signed(text, -most - 1, most);
    if (!value) return std::nullopt;
    return static_cast<uint64_t>(*value) & mask;
}

std::optional<uint64_t> parse_unsigned(std::string_view text, uint64_t most) {
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        text.remove_prefix(2);
        base = 16;
    }
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, base);
    if (text.empty() || stop != end || error != std::errc{} || value > most) return std::nullopt;
    return value;
}

std::optional<int64_t> parse_signed(std::string_view text, int64_t least, int64_t most) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
        const auto bits = parse_unsigned(text, static_cast<uint64_t>(most));
        if (!bits) return std::nullopt;
        return static_cast<int64_t>(*bits);
    }
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || stop != end || error != std::errc{}) return std::nullopt;
    if (value < least || value > most) return std::nullopt;
    return value;
}

std::optional<double> parse_double(std::string_view text) { return parse_floating<double>(text); }
std::optional<float> parse_float(std::string_view text) { return parse_floating<float>(text); }

double element_to_double(ElementType type, uint64_t bits) {
    switch (type) {
        case ElementType::f16:
            return half_to_float(static_cast<uint16_t>(bits));
        case ElementType::bf16:
            return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
        case ElementType::f32:
            return std::bit_cast<float>(static_cast<uint32_t>(bits));
        case ElementType::f64:
            return std::bit_cast<double>(bits);
        default:
            return element_is_signed(type)
                       ? static_cast<double>(sign_extend(bits, element_size(type)))
                       : static_cast<double>(bits);
    }
}

uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 2^16 and above
    // Below the normal range the exponent stays 0 and the significand is shifted further.
    const uint32_t exponent = magnitude >> 23;
    uint32_t significand, shift, base;
    if (exponent >= 113) {
        significand = magnitude & 0x7fffffu;
        shift = 13;
        base = (exponent - 112) << 10;
    } else {
        significand = (magnitude & 0x7fffffu) | 0x800000u;
        shift = 126 - exponent;
        base = 0;
        if (shift > 24) return static_cast<uint16_t>(sign);
    }
    const uint32_t kept = significand >> shift;
    const uint32_t rest = significand & ((1u << shift) - 1);
    const uint32_t half = 1u << (shift - 1);
    const uint32_t up = rest > half || (rest == half && (kept & 1)) ? 1 : 0;
    return static_cast<uint16_t>(sign | (base + kept + up));  // a carry moves into the exponent
}

uint16_t float_to_bfloat(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    const uint32_t odd = (bits >> 16) & 1;
    return static_cast<uint16_t>((bits + 0x7fffu + odd) >> 16);
}

float half_to_float(uint16_t bits) {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
    const uint32_t exponent = (bits >> 10) & 31;
    const uint32_t significand = bits & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (significand << 13));
    if (exponent != 0) {
        return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (significand << 13));
    }
    const float small = static_cast<float>(significand) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(small));
}

}  // namespace sassemu::plan
