// SPDX-License-Identifier: Apache-2.0
// Texel formats, and the weighted sums of linear filters. Where the texels lie: texture_sample.cpp.
//
// Weights are 1/256, 256 in all. Floats of four texels (a plane of a level) are cut to the unit of
// the largest among those with a weight, 28 bits (halves 15, colours 8) below its power of two. The
// planes of a level and the level before are added as integers, cut downwards to a unit that
// changes with every fourth exponent. The sum is rounded once, ties away from zero (colours as
// halves). Normalised integers are summed as 16-bit ones and rounded half up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/gpu.hpp"
#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// Four components: of memory in the format's own bits, signs extended; or as registers get them.
struct Texel {
    uint32_t component[4] = {};
};

// Of a texture with this format: what it does to single components.
class Format {
  public:
    explicit Format(const TextureDesc& desc) : desc_(desc) {}

    // Components are floats in [0, 1] or [-1, 1], or of a float format; else integers.
    bool is_float() const {
        return desc_.read_normalized || desc_.format == TextureFormat::f16 ||
               desc_.format == TextureFormat::f32;
    }
    Texel load(const std::byte* at) const;
    Texel border() const;
    // What a register gets of a component.
    uint32_t value(uint32_t bits, unsigned component) const;

  private:
    friend class Blend;
    bool colour(unsigned component) const {
        return desc_.srgb && desc_.format == TextureFormat::u8 && desc_.read_normalized &&
               component < (desc_.channels == 4 ? 3u : 1u);
    }
    const TextureDesc& desc_;
};

// The sum of a linear filter.
class Blend {
  public:
    explicit Blend(const Format& format) : format_(format) {}
    // A level begins, of up to two planes.
    void level() { ++levels_; }
    // A plane of up to four texels begins.
    void plane() {
        planes_[count_].texels = 0;
        planes_[count_++].level = levels_;
    }
    void add(const Texel& texel, uint32_t weight) {
        Plane& p = planes_[count_ - 1];
        p.texel[p.texels] = texel;
        p.weight[p.texels++] = weight;
    }
    Texel sum() const;

  private:
    struct Plane {
        unsigned texels, level;
        Texel texel[4];
        uint32_t weight[4];
    };
    enum class Kind { f32, f16, colour };
    uint32_t floats(unsigned component, Kind kind) const;
    uint32_t integers(unsigned component) const;

    const Format& format_;
    unsigned count_ = 0, levels_ = 0;
    Plane planes_[4];
};

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
