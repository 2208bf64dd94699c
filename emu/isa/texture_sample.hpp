// SPDX-License-Identifier: Apache-2.0
// Sampling: from the coordinates of one lane to a texel or a blend of texels. Registers and
// encodings are texture.cpp's, arithmetic is in texture_position.hpp, texture_level.hpp and
// texture_blend.hpp.
#pragma once

#include "emu/isa/memory_access.hpp"
#include "emu/isa/texture_blend.hpp"
#include "emu/isa/texture_position.hpp"
#include "emu/memory/textures.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// What one lane asks for.
struct Lookup {
    unsigned dims = 2;  // of coordinates: 1 to 3
    bool cube = false, clamp = false;
    float at[3] = {};        // of samples
    int32_t texel[3] = {};   // of fetches
    int32_t offset[3] = {};  // texels
    uint32_t layer = 0;
    int32_t level = 0;       // of samples in 1/256
    uint32_t component = 0;  // of gathers
};

// An object's texels in device memory. `address` of the first bad texel is kept for the fault.
class Sampler {
  public:
    Sampler(Warp& w, const TextureObject& object)
        : w_(w), object_(object), desc_(object.desc), format_(object.desc) {}

    bool failed() const { return failed_; }
    uint64_t address() const { return address_; }

    Texel sample(const Lookup& l);
    // Integer coordinates. Outside of the texture, of its layers or levels: zero, or where the
    // instruction clamps (not levels), the nearest texel.
    Texel fetch(const Lookup& l);
    // One component of the four texels that linear filtering would blend, in the order of PTX tld4.
    Texel gather(const Lookup& l);

  private:
    // A seamless cube is left over its edges, or not at all.
    Axis axis(unsigned dim, unsigned level) const {
        return {desc_.extent(dim, level),
                desc_.cube && desc_.seamless ? AddressMode::clamp : desc_.address_mode[dim],
                desc_.normalized_coords};
    }
    uint64_t slice(uint32_t layer) const {
        return desc_.layers ? uint64_t{std::min(layer, desc_.layers - 1)} * (desc_.cube ? 6 : 1)
                            : 0;
    }
    // The raw texel.
    Texel read(unsigned level, int64_t x, int64_t y, uint64_t slice);
    Texel point(const Lookup& l, unsigned level);
    void linear(const Lookup& l, unsigned level, uint32_t weight, Blend& sum);
    // What a filter finds at an index of each dimension.
    Texel at(const Lookup& l, unsigned level, const Axis* axes, const int64_t* index);
    // Four texels about a place on a face, in the order (0, 0) (1, 0) (0, 1) (1, 1). `corner`:
    // which of them lies beyond a corner of the cube, where there is none; 4: none.
    struct Quad {
        Texel texel[4];
        unsigned corner = 4;
    };
    Quad on_face(unsigned level, uint64_t layer, unsigned face, const int64_t* low,
                 unsigned wanted);
    Texel values(const Texel& raw) const {
        Texel t;
        for (unsigned k = 0; k < 4; ++k) t.component[k] = format_.value(raw.component[k], k);
        return t;
    }

    Warp& w_;
    const TextureObject& object_;
    const TextureDesc& desc_;
    const Format format_;
    bool failed_ = false;
    uint64_t address_ = 0;
};

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
