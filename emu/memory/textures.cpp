// SPDX-License-Identifier: Apache-2.0
// Validation of texture descriptions.
#include "emu/memory/textures.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/base/text.hpp"

namespace sassemu {

namespace {

// Why no GPU has such a texture or surface; nullptr: it may.
const char* impossible(const TextureDesc& d, bool surface) {
    const bool integer = d.format < TextureFormat::f16;
    const bool word = d.format == TextureFormat::u32 || d.format == TextureFormat::s32;
    if (d.channels != 1 && d.channels != 2 && d.channels != 4)
        return "a texel has 1, 2 or 4 channels";
    if (d.width == 0) return "width 0";
    if (d.linear_memory && (d.height || d.depth || d.layers || d.cube || d.levels > 1))
        return "linear memory has one dimension, and neither layers nor levels of detail";
    if (d.depth && (d.layers || d.cube)) return "layers and faces have no depth";
    if (d.cube && d.width != d.height) return "the faces of a cube map are not square";
    if (d.levels == 0) return "no level of detail";
    const uint32_t largest = std::max({d.width, d.height, d.depth});
    if (d.levels > static_cast<uint32_t>(std::bit_width(largest)) ||
        d.levels > TextureObject::most_levels)
        return "more levels of detail than halvings to one texel";
    if (d.levels > 1 && d.pitch) return "levels of detail are packed, and have no pitch";
    if (surface) return nullptr;
    if (d.read_normalized && word) return "32-bit integers are not read as normalised ones";
    if (d.filter == FilterMode::linear && integer && !d.read_normalized && !d.linear_memory)
        return "integers are not filtered linearly, unless read as normalised ones";
    if (d.anisotropy > 16) return "more anisotropy than 16";
    for (const float v : {d.level_bias, d.level_low, d.level_high})
        if (!std::isfinite(v)) return "a level of detail that is no number";
    return nullptr;
}

}  // namespace

Result<uint64_t> TextureTable::add(const TextureDesc& desc, bool surface, uint64_t wanted) {
    const std::string where = surface ? "surface" : "texture";
    if (const char* why = impossible(desc, surface)) return Error{ErrorCode::input, where, why, ""};
    TextureObject object;
    object.desc = desc;
    object.surface = surface;
    object.texel_bytes = desc.texel_bytes();
    const uint64_t row = uint64_t{desc.width} * object.texel_bytes;
    if (desc.pitch == 0)
        object.desc.pitch = row;
    else if (desc.pitch < row)
        return Error{ErrorCode::input, where,
                     "pitch " + std::to_string(desc.pitch) + " is less than a row of " +
                         std::to_string(row) + " bytes",
                     ""};
    for (uint32_t level = 1; level < desc.levels; ++level)
        object.level_begin[level] = object.level_begin[level - 1] +
                                    uint64_t{desc.extent(0, level - 1)} * object.texel_bytes *
                                        desc.extent(1, level - 1) * desc.slices(level - 1);
    if (!wanted) {
        objects_.push_back(object);
        return objects_.size();
    }
    const uint64_t index = wanted & index_bits;
    if (index == 0 || find(wanted))
        return Error{ErrorCode::input, where, "handle " + hex(wanted) + " is no free handle",
                     "the low 20 bits tell handles apart, and are not 0"};
    if (objects_.size() < index) objects_.resize(index);
    objects_[index - 1] = object;
    return wanted;
}

}  // namespace sassemu
