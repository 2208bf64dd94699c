// SPDX-License-Identifier: Apache-2.0
// Sampling: from the coordinates of one lane to a texel or a blend of texels. Follows the CUDA
// Programming Guide, "Texture Fetching"; registers and encodings are texture.cpp's.
//
// Measured on an H200 (cubins/texture_linear), bit for bit: the four weights of a plane are
// multiples of 1/256, that of the far corner being the rounded product and the others what is left
// of each side; a blend of floats is rounded once, ties away from zero; unsigned normalised texels
// are blended as 16-bit integers, rounded half up. Believed, until measured: a coordinate between
// multiples of 1/256 rounds to the nearest, the third dimension multiplies exactly, signed
// normalised texels blend as floats, coordinates of point sampling are exact, and components that a
// format lacks read as 0, 0 and 1.
#pragma once

#include "emu/isa/memory_access.hpp"
#include "emu/memory/textures.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

struct Texel {
    uint32_t component[4] = {};  // bits as they go to registers
};

// An object's texels in device memory. `address` of the first bad texel is kept for the fault.
class Sampler {
  public:
    Sampler(Warp& w, const TextureObject& object) : w_(w), object_(object), desc_(object.desc) {}

    bool failed() const { return failed_; }
    uint64_t address() const { return address_; }
    // Components are floats in [0, 1] or [-1, 1], or of a float format; else integers.
    bool is_float() const {
        return desc_.read_normalized || desc_.format == TextureFormat::f16 ||
               desc_.format == TextureFormat::f32;
    }

    Texel point(const float* coordinate, unsigned dims);
    Texel linear(const float* coordinate, unsigned dims);
    Texel fetch(const int32_t* coordinate, unsigned dims);  // integer coordinates; outside: zero
    // One component of the four texels that linear filtering would blend, in the order of PTX tld4.
    Texel gather(const float* coordinate, unsigned component);

  private:
    int64_t size(unsigned dim) const {
        const uint32_t n = dim == 0 ? desc_.width : dim == 1 ? desc_.height : desc_.depth;
        return n ? n : 1;
    }
    bool absent(unsigned dim) const { return dim == 1 ? desc_.height == 0 : desc_.depth == 0; }
    AddressMode mode(unsigned dim) const {
        const AddressMode m = desc_.address_mode[dim];
        // Wrap and mirror exist for normalized coordinates only.
        if (!desc_.normalized_coords && (m == AddressMode::wrap || m == AddressMode::mirror))
            return AddressMode::clamp;
        return m;
    }
    // The coordinate in texels.
    double place(float c, unsigned dim) const {
        const double x = c == c ? static_cast<double>(c) : 0.0;
        return desc_.normalized_coords ? x * static_cast<double>(size(dim)) : x;
    }
    // An index on the grid, brought into range; -1: the border.
    int64_t wrap(double index, unsigned dim) const;
    // Lower neighbour and weight of the upper one, in 1/256.
    void split(float c, unsigned dim, double* low, uint32_t* weight) const;
    Texel read(int64_t x, int64_t y, int64_t z);
    uint32_t component(const std::byte* at) const;
    Texel border() const { return Texel{}; }

    Warp& w_;
    const TextureObject& object_;
    const TextureDesc& desc_;
    bool failed_ = false;
    uint64_t address_ = 0;
};

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
