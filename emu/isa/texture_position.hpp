// SPDX-License-Identifier: Apache-2.0
// From a coordinate to texels: positions on a grid of 1/256 texel, and the faces of a cube. What is
// there is read in texture_sample.cpp, and blended in texture_blend.cpp.
//
// Measured on an H200 (tests/hardware/textures), as everything about textures here that does not
// say otherwise. A normalised coordinate is cut to 21 bits after the point (22 beyond 8,192 texels,
// 23 beyond 65,536) and multiplied exactly; then a linear filter's position is rounded to the
// nearest 1/256, halves up. Subnormal coordinates and NaN are 0.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "emu/gpu.hpp"
#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// How one dimension of a level is addressed.
struct Axis {
    uint32_t size;
    AddressMode mode;
    bool normalized;

    // Wrap and mirror exist for normalised coordinates only.
    Axis(uint32_t n, AddressMode m, bool unit) : size(n), mode(m), normalized(unit) {
        if (!unit && (m == AddressMode::wrap || m == AddressMode::mirror))
            mode = AddressMode::clamp;
    }
    bool periodic() const { return mode == AddressMode::wrap || mode == AddressMode::mirror; }
};

// As the texture unit reads a coordinate.
inline double coordinate(float c) {
    return c != c || __builtin_fabs(c) < 0x1p-126f ? 0.0 : static_cast<double>(c);
}

// A coordinate times the size, in 2^-bits.
struct Position {
    int64_t value;
    unsigned bits;
};
inline unsigned position_bits(uint32_t size) { return size <= 8192 ? 21 : size <= 65536 ? 22 : 23; }
inline Position scaled(double u, const Axis& axis) {
    const unsigned bits = position_bits(axis.size);
    const double one = static_cast<double>(int64_t{1} << bits);
    if (axis.periodic())  // twice, for the mirrored half; there is no place at infinity
        u = __builtin_isinf(u) ? 0.0 : __builtin_fmod(u, 2.0);
    else
        u = std::clamp(u, -0x1p16, 0x1p16);
    return {static_cast<int64_t>(__builtin_floor(u * one)) * axis.size, bits};
}

// The same of a place on a face, from -1 to 1.
inline Position scaled_on_face(float s, const Axis& axis) {
    const unsigned bits = position_bits(axis.size);
    const int64_t half = int64_t{1} << (bits - 1);
    // Infinity is the edge on its side, which is the first one to a dimension that wraps.
    if (__builtin_isinf(s)) {
        const bool last = s > 0 && axis.mode != AddressMode::wrap;
        return {last ? int64_t{axis.size} << bits : 0, bits};
    }
    const double v = std::clamp(coordinate(s), -2.0, 2.0) * static_cast<double>(half);
    return {(static_cast<int64_t>(__builtin_floor(v)) + half) * axis.size, bits};
}

// The texel at a coordinate, not yet brought into range.
inline int64_t texel_at(float c, const Axis& axis) {
    const double x = coordinate(c);
    if (!axis.normalized)
        return static_cast<int64_t>(__builtin_floor(std::clamp(x, -0x1p28, 0x1p28)));
    const Position p = scaled(x, axis);
    return p.value >> p.bits;
}

// Where a linear filter stands, in 1/256 texel from the middle of the first.
inline int64_t between_texels(const Position& p) {
    return (p.value - (int64_t{1} << (p.bits - 1)) + (int64_t{1} << (p.bits - 9))) >> (p.bits - 8);
}
inline int64_t between_texels(double x, const Axis& axis) {
    if (!axis.normalized)
        return static_cast<int64_t>(
            __builtin_floor(std::clamp(x, -0x1p28, 0x1p28) * 256.0 - 127.5));
    return between_texels(scaled(x, axis));
}

// A texel brought into range; -1: the border.
inline int64_t wrapped(int64_t i, const Axis& axis) {
    const int64_t n = axis.size;
    switch (axis.mode) {
        case AddressMode::border:
            return i < 0 || i >= n ? -1 : i;
        case AddressMode::clamp:
            return std::clamp<int64_t>(i, 0, n - 1);
        case AddressMode::wrap:
            return (i % n + n) % n;
        default: {
            const int64_t j = (i % (2 * n) + 2 * n) % (2 * n);
            return j < n ? j : 2 * n - 1 - j;
        }
    }
}

// ---- cubes ------------------------------------------------------------------------------------

// The face that a direction meets (+x -x +y -y +z -z), and where, from -1 to 1. Code divides by the
// largest component itself.
struct OnCube {
    unsigned face;
    float s, t;
};
inline OnCube on_cube(float x, float y, float z) {
    const auto length = [](float v) { return v != v ? -1.0 : __builtin_fabs(coordinate(v)); };
    const double ax = length(x), ay = length(y), az = length(z);
    if (az >= ay && az >= ax) return z < 0 ? OnCube{5, -x, -y} : OnCube{4, x, -y};
    if (ay >= ax) return y < 0 ? OnCube{3, x, -z} : OnCube{2, x, z};
    return x < 0 ? OnCube{1, z, -y} : OnCube{0, -z, -y};
}

struct FaceTexel {
    unsigned face;
    int64_t x, y;
};
// The texel that lies where (x, y) would, one step outside of a face on one side.
inline FaceTexel across_edge(const FaceTexel& at, int64_t n) {
    // Of each face: the axes along s, t and out of it, and their signs.
    static constexpr int8_t axes[6][3] = {{2, 1, 0}, {2, 1, 0}, {0, 2, 1},
                                          {0, 2, 1}, {0, 1, 2}, {0, 1, 2}};
    static constexpr int8_t signs[6][3] = {{-1, -1, 1}, {1, -1, -1}, {1, 1, 1},
                                           {1, -1, -1}, {1, -1, 1},  {-1, -1, -1}};
    int64_t v[3];
    const auto* axis = axes[at.face];
    const auto* sign = signs[at.face];
    const bool beside = at.x < 0 || at.x >= n;
    v[axis[0]] = sign[0] * std::clamp(2 * at.x + 1 - n, -n, n);
    v[axis[1]] = sign[1] * std::clamp(2 * at.y + 1 - n, -n, n);
    v[axis[2]] = sign[2] * (n - 1);
    const auto major = static_cast<unsigned>(axis[beside ? 0 : 1]);
    const unsigned face = 2 * major + (v[major] < 0);
    axis = axes[face];
    sign = signs[face];
    return {face, (sign[0] * v[axis[0]] + n - 1) / 2, (sign[1] * v[axis[1]] + n - 1) / 2};
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
