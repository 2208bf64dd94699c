// SPDX-License-Identifier: Apache-2.0
// Levels of detail, in 1/256: of a number that code gives, and of derivatives.
#pragma once

#include <utility>

#include "emu/isa/texture_position.hpp"
#include "emu/isa/texture_tables.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// Cut towards zero, as the bias and the bounds are. The lower bound is the stronger. Where the
// texture allows anisotropy the way from a level to the next is steeper, about its middle: the bias
// of the driver moves it there.
inline int32_t level_within(int32_t level, const TextureDesc& desc) {
    const auto fixed = [](float v, float least, float most, float less = 0) {
        return static_cast<int32_t>(std::clamp(v, least, most) * 256.0f - less);
    };
    const bool steep = desc.anisotropy > 1 && !desc.exact_levels;
    const int32_t quarters = !steep ? 4 : desc.anisotropy < 4 ? 6 : desc.anisotropy < 8 ? 7 : 8;
    const float middle = 128.0f - 512.0f / static_cast<float>(quarters);
    const auto whole = static_cast<int32_t>(middle);
    level += fixed(desc.level_bias, -15.0f, 15.0f, middle) + whole;
    const int32_t f = level & 255;
    level += std::clamp((quarters * (f - whole)) >> 2, 0, 256) - f;
    level = std::min(level, fixed(desc.level_high, 0.0f, 16.0f));
    level = std::max(level, fixed(desc.level_low, 0.0f, 16.0f));
    return std::clamp(level, 0, static_cast<int32_t>(desc.levels - 1) * 256);
}
inline int32_t level_of(float lod, const TextureDesc& desc) {
    const double v = std::clamp(coordinate(lod), -1000.0, 1000.0);
    return level_within(static_cast<int32_t>(v * 256.0), desc);
}

// ---- derivatives ------------------------------------------------------------------------------

// Numbers with 9 bits after the first, cut.
inline double short_number(double v) {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(v) & ~((uint64_t{1} << 43) - 1));
}
inline double last_place(double v) { return __builtin_ldexp(1.0, __builtin_ilogb(v) - 9); }
inline double cut_to(double v, double unit) { return __builtin_floor(v / unit) * unit; }

// A derivative in texels, by a multiplier that leaves out the lowest 6 columns and rounds up.
inline double in_texels(float derivative, uint32_t size) {
    const double v = std::clamp(coordinate(derivative), -0x1p127, 0x1p127);
    if (v == 0) return 0;
    const int width = static_cast<int>(std::bit_width(size));
    const uint32_t n = width > 10 ? size >> (width - 10) : size << (10 - width);
    const auto m = static_cast<uint32_t>(std::bit_cast<uint64_t>(v) >> 43 & 0x1ff) | 0x200;
    uint32_t product = 0;
    for (unsigned b = 0; b < 10; ++b)
        if (n >> b & 1) product += m << b >> 6;
    const double texels =
        short_number(__builtin_ldexp((product + 7) >> 3, __builtin_ilogb(v) - 9 + width - 1));
    return v < 0 ? -texels : texels;
}
// part / 2^shift of it, half of a unit of 1/8 (or 1/64) too large.
inline double portion(double v, double part, double half, int shift) {
    if (v == 0) return 0;
    const double unit = last_place(v);
    return __builtin_ldexp(part * __builtin_floor(v / unit) + half, -shift) * unit;
}
// About the length of a vector: the longer side and 11/32 of the shorter.
inline double length(double x, double y) {
    const double a = std::max(x, y), b = std::min(x, y);
    return a == 0 ? 0 : a + cut_to(portion(b, 11, 4, 5), last_place(a));
}
// About 11/16 of it.
inline double short_length(double x, double y) {
    const double a = portion(std::max(x, y), 11, 4, 4), b = portion(std::min(x, y), 121, 32, 9);
    return a == 0 ? 0 : a + cut_to(b, last_place(a));
}
// |x + y|, the smaller cut to half a unit of the larger.
inline double distance(double x, double y) {
    double a = __builtin_fabs(x), b = __builtin_fabs(y);
    if (a < b) std::swap(a, b);
    if (a == 0) return 0;
    b = cut_to(b, last_place(a) / 2);
    return short_number((x < 0) == (y < 0) ? a + b : a - b);
}
// d: how much x, y, ... change in texels along the first and along the second direction: d[0] and
// d[1] of x. What counts is the longest of both, and of their diagonals at 11/16.
inline int32_t level_of_derivatives(const double* d, const TextureDesc& desc) {
    double longest = std::max(length(__builtin_fabs(d[0]), __builtin_fabs(d[2])),
                              length(__builtin_fabs(d[1]), __builtin_fabs(d[3])));
    for (const double sign : {1.0, -1.0})
        longest = std::max(longest,
                           short_length(distance(d[0], sign * d[1]), distance(d[2], sign * d[3])));
    if (longest == 0) return level_within(-128 * 256, desc);
    const int e = __builtin_ilogb(longest);
    const auto j = static_cast<unsigned>(__builtin_ldexp(longest, 8 - e)) & 255;
    return level_within(e * 256 + logarithms[j], desc);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
