// SPDX-License-Identifier: Apache-2.0
// Validation of texture descriptions.
#include "emu/memory/textures.hpp"

#include "emu/base/text.hpp"

namespace sassemu {

namespace {

uint32_t format_bytes(TextureFormat f) {
    switch (f) {
        case TextureFormat::u8:
        case TextureFormat::s8:
            return 1;
        case TextureFormat::u16:
        case TextureFormat::s16:
        case TextureFormat::f16:
            return 2;
        default:
            return 4;
    }
}

}  // namespace

Result<uint64_t> TextureTable::add(const TextureDesc& desc, bool surface, uint64_t wanted) {
    const std::string where = surface ? "surface" : "texture";
    if (desc.channels != 1 && desc.channels != 2 && desc.channels != 4)
        return Error{ErrorCode::input, where, std::to_string(desc.channels) + " channels per texel",
                     "use 1, 2 or 4"};
    if (desc.width == 0) return Error{ErrorCode::input, where, "width 0", ""};
    TextureObject object;
    object.desc = desc;
    object.surface = surface;
    object.texel_bytes = format_bytes(desc.format) * desc.channels;
    const uint64_t row = uint64_t{desc.width} * object.texel_bytes;
    if (desc.pitch == 0)
        object.desc.pitch = row;
    else if (desc.pitch < row)
        return Error{ErrorCode::input, where,
                     "pitch " + std::to_string(desc.pitch) + " is less than a row of " +
                         std::to_string(row) + " bytes",
                     ""};
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
