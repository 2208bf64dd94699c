// SPDX-License-Identifier: Apache-2.0
// The plan reader's part for textures and surfaces: their fields, and that their texels fill their
// buffer. What can be no texture is refused where textures are made (memory/textures.cpp).
#include <algorithm>
#include <cmath>

#include "emu/plan/read_parts.hpp"

namespace sassemu::plan {
namespace {

Result<void> read_size(const Field& field, const char* name, uint64_t most, uint32_t* target) {
    if (const Field size = field.member(name)) {
        SASSEMU_ASSIGN(const uint64_t value, size.unsigned_number(most));
        *target = static_cast<uint32_t>(value);
    }
    return {};
}

Result<void> read_flag(const Field& field, const char* name, bool* target) {
    if (const Field flag = field.member(name)) {
        SASSEMU_ASSIGN(*target, flag.boolean());
    }
    return {};
}

Result<void> read_float(const Field& field, float* target) {
    SASSEMU_ASSIGN(const double value, field.number());
    if (!std::isfinite(static_cast<float>(value))) return field.error("is no finite float");
    *target = static_cast<float>(value);
    return {};
}

Result<void> read_filter(const Field& field, const char* name, FilterMode* target) {
    if (const Field filter = field.member(name)) {
        SASSEMU_ASSIGN(const size_t mode, filter.one_of({"point", "linear"}));
        *target = static_cast<FilterMode>(mode);
    }
    return {};
}

// Where and what the texels are: of textures and surfaces.
Result<void> read_texels(const Field& field, TextureArg& arg) {
    SASSEMU_ASSIGN(const Field buffer, required(field, "buffer"));
    SASSEMU_ASSIGN(arg.buffer, buffer.string());
    for (const auto& [name, target] :
         {std::pair{"offset", &arg.offset}, {"pitch", &arg.desc.pitch}})
        if (const Field bytes = field.member(name)) {
            SASSEMU_ASSIGN(*target, bytes.unsigned_number(uint64_t{1} << 40));
        }
    SASSEMU_ASSIGN(const Field width, required(field, "width"));
    SASSEMU_ASSIGN(const uint64_t texels, width.unsigned_number(1 << 27, 1));
    arg.desc.width = static_cast<uint32_t>(texels);
    SASSEMU_TRY(read_size(field, "height", 1 << 20, &arg.desc.height));
    SASSEMU_TRY(read_size(field, "depth", 1 << 20, &arg.desc.depth));
    SASSEMU_TRY(read_size(field, "layers", 1 << 20, &arg.desc.layers));
    SASSEMU_TRY(read_flag(field, "cubemap", &arg.desc.cube));
    if (arg.desc.depth != 0 && arg.desc.height == 0) {
        return field.error("a texture with a depth needs a height");
    }
    SASSEMU_ASSIGN(const Field format, required(field, "format"));
    SASSEMU_ASSIGN(const size_t index,
                   format.one_of({"u8", "i8", "u16", "i16", "u32", "i32", "f16", "f32"}));
    arg.desc.format = static_cast<TextureFormat>(index);
    if (const Field channels = field.member("channels")) {
        SASSEMU_ASSIGN(const uint64_t count, channels.unsigned_number(4));
        if (count != 1 && count != 2 && count != 4) return channels.error("must be 1, 2 or 4");
        arg.desc.channels = static_cast<uint32_t>(count);
    }
    return {};
}

// How they are sampled.
Result<void> read_sampler(const Field& field, TextureDesc& desc) {
    if (const Field modes = field.member("addressMode")) {
        SASSEMU_TRY(modes.array());
        if (modes.node->items.size() > 3) return modes.error("at most three dimensions");
        for (size_t i = 0; i < modes.node->items.size(); ++i) {
            SASSEMU_ASSIGN(const size_t mode,
                           modes.item(i).one_of({"wrap", "clamp", "mirror", "border"}));
            desc.address_mode[i] = static_cast<AddressMode>(mode);
        }
    }
    if (const Field colour = field.member("borderColor")) {
        SASSEMU_TRY(colour.array());
        if (colour.node->items.size() > 4) return colour.error("at most four components");
        for (size_t i = 0; i < colour.node->items.size(); ++i)
            SASSEMU_TRY(read_float(colour.item(i), &desc.border[i]));
    }
    SASSEMU_TRY(read_filter(field, "filter", &desc.filter));
    if (const Field mode = field.member("readMode")) {
        SASSEMU_ASSIGN(const size_t normalized, mode.one_of({"element", "normalized"}));
        desc.read_normalized = normalized == 1;
    }
    SASSEMU_TRY(read_flag(field, "normalizedCoords", &desc.normalized_coords));
    SASSEMU_TRY(read_flag(field, "sRGB", &desc.srgb));
    SASSEMU_TRY(read_flag(field, "seamlessCubemap", &desc.seamless));
    SASSEMU_TRY(read_size(field, "maxAnisotropy", 16, &desc.anisotropy));
    SASSEMU_TRY(read_flag(field, "disableTrilinearOptimization", &desc.exact_levels));
    SASSEMU_TRY(read_filter(field, "mipmapFilter", &desc.level_filter));
    for (const auto& [name, target] : {std::pair{"mipmapLevelBias", &desc.level_bias},
                                       {"minMipmapLevelClamp", &desc.level_low},
                                       {"maxMipmapLevelClamp", &desc.level_high}})
        if (const Field number = field.member(name)) SASSEMU_TRY(read_float(number, target));
    return {};
}

}  // namespace

Result<TextureArg> read_texture(const Field& field, bool surface) {
    TextureArg arg;
    arg.surface = surface;
    if (surface) {
        SASSEMU_TRY(field.object({"buffer", "offset", "width", "height", "depth", "layers",
                                  "cubemap", "pitch", "format", "channels"}));
        SASSEMU_TRY(read_texels(field, arg));
        return arg;
    }
    SASSEMU_TRY(field.object({"buffer",
                              "offset",
                              "width",
                              "height",
                              "depth",
                              "layers",
                              "cubemap",
                              "mipmapLevels",
                              "pitch",
                              "format",
                              "channels",
                              "linear",
                              "addressMode",
                              "borderColor",
                              "filter",
                              "readMode",
                              "normalizedCoords",
                              "sRGB",
                              "seamlessCubemap",
                              "maxAnisotropy",
                              "mipmapFilter",
                              "mipmapLevelBias",
                              "minMipmapLevelClamp",
                              "maxMipmapLevelClamp",
                              "disableTrilinearOptimization"}));
    SASSEMU_TRY(read_texels(field, arg));
    if (const Field levels = field.member("mipmapLevels")) {
        SASSEMU_ASSIGN(const uint64_t count, levels.unsigned_number(32, 1));
        arg.desc.levels = static_cast<uint32_t>(count);
    }
    SASSEMU_TRY(read_flag(field, "linear", &arg.desc.linear_memory));
    SASSEMU_TRY(read_sampler(field, arg.desc));
    return arg;
}

Result<void> check_texture(const Buffer& buffer, const TextureArg& arg, const Where& where) {
    const TextureDesc& desc = arg.desc;
    const uint64_t row = uint64_t{desc.width} * desc.texel_bytes();
    if (desc.pitch && desc.pitch < row)
        return make_error(ErrorCode::input, where,
                          "a row takes " + std::to_string(row) + " bytes, more than its pitch of " +
                              std::to_string(desc.pitch));
    // Everything is below 2^40: only the last product may be too large, and is then as large as can
    // be.
    const auto times = [](uint64_t x, uint64_t y) {
        return x && y > INT64_MAX / x ? uint64_t{INT64_MAX} : x * y;
    };
    uint64_t needed = 0;
    if (desc.pitch) {
        needed = times(desc.pitch, uint64_t{desc.extent(1)} * desc.slices() - 1) + row;
    } else {
        for (unsigned level = 0; level < desc.levels; ++level)
            needed += times(uint64_t{desc.extent(0, level)} * desc.texel_bytes(),
                            desc.extent(1, level) * desc.slices(level));
    }
    // A texture of all of a buffer has its size; one of a part lies inside.
    if (arg.offset || desc.pitch ? arg.offset <= buffer.bytes && needed <= buffer.bytes - arg.offset
                                 : needed == buffer.bytes)
        return {};
    return make_error(ErrorCode::input, where,
                      "the texels take " + std::to_string(needed) + " bytes, buffer '" +
                          buffer.name + "' has " + std::to_string(buffer.bytes));
}

}  // namespace sassemu::plan
