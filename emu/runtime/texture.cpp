// SPDX-License-Identifier: Apache-2.0
// Arrays, textures and surfaces: the runtime's descriptions of formats and ways to read, as the
// driver has them.
#include <cstring>

#include "emu/runtime/copies.hpp"
#include "emu/runtime/state.hpp"
#include "runtime_api.hpp"

namespace sassemu::runtime {
namespace {

enum : int { is_signed = 0, is_unsigned = 1, is_float = 2, is_nothing = 3 };
enum : int { as_array = 0, as_mipmap = 1, as_linear = 2, as_pitch2d = 3 };

struct Format {
    int format = 0;  // 0: none
    unsigned int channels = 0;
};

// One, two or four channels of one width.
Format format_of(const ChannelDesc& d) {
    const int bits[4] = {d.x, d.y, d.z, d.w};
    unsigned int channels = 0;
    while (channels < 4 && bits[channels] != 0) ++channels;
    for (unsigned int i = 0; i < 4; ++i)
        if (bits[i] != (i < channels ? d.x : 0)) return {};
    if (channels == 0 || channels == 3) return {};
    struct Row {
        int kind, bits, format;
    };
    constexpr Row rows[] = {{is_signed, 8, CU_AD_FORMAT_SIGNED_INT8},
                            {is_signed, 16, CU_AD_FORMAT_SIGNED_INT16},
                            {is_signed, 32, CU_AD_FORMAT_SIGNED_INT32},
                            {is_unsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
                            {is_unsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
                            {is_unsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
                            {is_float, 16, CU_AD_FORMAT_HALF},
                            {is_float, 32, CU_AD_FORMAT_FLOAT}};
    for (const Row& row : rows)
        if (row.kind == d.kind && row.bits == d.x) return {row.format, channels};
    return {};
}

ChannelDesc desc_of(int format, unsigned int channels) {
    const int bits = format_bits(format);
    int kind = is_unsigned;
    if (format == CU_AD_FORMAT_HALF || format == CU_AD_FORMAT_FLOAT) kind = is_float;
    if (format >= CU_AD_FORMAT_SIGNED_INT8 && format <= CU_AD_FORMAT_SIGNED_INT32) kind = is_signed;
    if (bits == 0) return {0, 0, 0, 0, is_nothing};
    const auto channel = [&](unsigned int i) { return i < channels ? bits : 0; };
    return {bits, channel(1), channel(2), channel(3), kind};
}

Error resource_of(const ResourceDesc& r, CUDA_RESOURCE_DESC& out) {
    out = {};
    out.resType = r.resType;
    Format format;
    switch (r.resType) {
        case as_array:
            out.res.array.hArray = r.res.array.array;
            return success;
        case as_mipmap:
            out.res.mipmap.hMipmappedArray = r.res.mipmap.mipmap;
            return success;
        case as_linear:
            format = format_of(r.res.linear.desc);
            out.res.linear.devPtr = reinterpret_cast<CUdeviceptr>(r.res.linear.devPtr);
            out.res.linear.format = format.format;
            out.res.linear.numChannels = format.channels;
            out.res.linear.sizeInBytes = r.res.linear.sizeInBytes;
            break;
        case as_pitch2d:
            format = format_of(r.res.pitch2D.desc);
            out.res.pitch2D.devPtr = reinterpret_cast<CUdeviceptr>(r.res.pitch2D.devPtr);
            out.res.pitch2D.format = format.format;
            out.res.pitch2D.numChannels = format.channels;
            out.res.pitch2D.width = r.res.pitch2D.width;
            out.res.pitch2D.height = r.res.pitch2D.height;
            out.res.pitch2D.pitchInBytes = r.res.pitch2D.pitchInBytes;
            break;
        default:
            return invalid_value;
    }
    return format.format != 0 ? static_cast<Error>(success)
                              : static_cast<Error>(invalid_channel_descriptor);
}

// What lies behind the largest of the union has been there since CUDA 13 only, and is not touched.
void resource_of(const CUDA_RESOURCE_DESC& r, ResourceDesc& out) {
    out.resType = r.resType;
    std::memset(&out.res, 0, sizeof out.res.pitch2D);
    if (r.resType == as_array) out.res.array.array = r.res.array.hArray;
    if (r.resType == as_mipmap) out.res.mipmap.mipmap = r.res.mipmap.hMipmappedArray;
    if (r.resType == as_linear) {
        out.res.linear.devPtr = reinterpret_cast<void*>(r.res.linear.devPtr);
        out.res.linear.desc = desc_of(r.res.linear.format, r.res.linear.numChannels);
        out.res.linear.sizeInBytes = r.res.linear.sizeInBytes;
    }
    if (r.resType == as_pitch2d) {
        out.res.pitch2D.devPtr = reinterpret_cast<void*>(r.res.pitch2D.devPtr);
        out.res.pitch2D.desc = desc_of(r.res.pitch2D.format, r.res.pitch2D.numChannels);
        out.res.pitch2D.width = r.res.pitch2D.width;
        out.res.pitch2D.height = r.res.pitch2D.height;
        out.res.pitch2D.pitchInBytes = r.res.pitch2D.pitchInBytes;
    }
}

constexpr int as_element = 0, as_normalized = 1;

Error array_desc(const ChannelDesc* desc, const Extent& extent, unsigned int flags,
                 CUDA_ARRAY3D_DESCRIPTOR& out) {
    if (desc == nullptr) return invalid_value;
    const Format format = format_of(*desc);
    if (format.format == 0) return invalid_channel_descriptor;
    out = {extent.width, extent.height, extent.depth, format.format, format.channels, flags};
    return success;
}

// Both lie alike; the reserved words at the end have been there since CUDA 13 only.
static_assert(sizeof(ViewDesc) == sizeof(CUDA_RESOURCE_VIEW_DESC));
constexpr size_t view_bytes = offsetof(ViewDesc, reserved);

}  // namespace

ChannelDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    return {x, y, z, w, kind};
}

Error cudaGetChannelDesc(ChannelDesc* desc, CUarray array) {
    if (desc == nullptr) return invalid_value;
    CUDA_ARRAY3D_DESCRIPTOR d{};
    if (const Error error = SASSEMU_CU(cuArray3DGetDescriptor_v2)(&d, array)) return error;
    *desc = desc_of(d.Format, d.NumChannels);
    return success;
}

Error cudaMalloc3DArray(CUarray* array, const ChannelDesc* desc, Extent extent,
                        unsigned int flags) {
    if (array == nullptr) return invalid_value;
    CUDA_ARRAY3D_DESCRIPTOR d{};
    if (const Error error = array_desc(desc, extent, flags, d)) return error;
    return SASSEMU_CU(cuArray3DCreate_v2)(array, &d);
}

Error cudaMallocArray(CUarray* array, const ChannelDesc* desc, size_t width, size_t height,
                      unsigned int flags) {
    return cudaMalloc3DArray(array, desc, {width, height, 0}, flags);
}

Error cudaFreeArray(CUarray array) {
    return array != nullptr ? SASSEMU_CU(cuArrayDestroy)(array) : CUDA_SUCCESS;
}

Error cudaMallocMipmappedArray(CUmipmappedArray* array, const ChannelDesc* desc, Extent extent,
                               unsigned int levels, unsigned int flags) {
    if (array == nullptr) return invalid_value;
    CUDA_ARRAY3D_DESCRIPTOR d{};
    if (const Error error = array_desc(desc, extent, flags, d)) return error;
    return SASSEMU_CU(cuMipmappedArrayCreate)(array, &d, levels);
}

Error cudaFreeMipmappedArray(CUmipmappedArray array) {
    return array != nullptr ? SASSEMU_CU(cuMipmappedArrayDestroy)(array) : CUDA_SUCCESS;
}

Error cudaArrayGetInfo(ChannelDesc* desc, Extent* extent, unsigned int* flags, CUarray array) {
    CUDA_ARRAY3D_DESCRIPTOR d{};
    if (const Error error = SASSEMU_CU(cuArray3DGetDescriptor_v2)(&d, array)) return error;
    if (desc != nullptr) *desc = desc_of(d.Format, d.NumChannels);
    if (extent != nullptr) *extent = {d.Width, d.Height, d.Depth};
    if (flags != nullptr) *flags = d.Flags;
    return success;
}

Error cudaCreateTextureObject(unsigned long long* texture, const ResourceDesc* resource,
                              const TextureDesc* how, const ViewDesc* view) {
    if (texture == nullptr || resource == nullptr || how == nullptr) return invalid_value;
    CUDA_RESOURCE_DESC r{};
    if (const Error error = resource_of(*resource, r)) return error;
    CUDA_TEXTURE_DESC t{};
    std::memcpy(t.addressMode, how->addressMode, sizeof t.addressMode);
    std::memcpy(t.borderColor, how->borderColor, sizeof t.borderColor);
    t.filterMode = how->filterMode;
    t.maxAnisotropy = how->maxAnisotropy;
    t.mipmapFilterMode = how->mipmapFilterMode;
    t.mipmapLevelBias = how->mipmapLevelBias;
    t.minMipmapLevelClamp = how->minMipmapLevelClamp;
    t.maxMipmapLevelClamp = how->maxMipmapLevelClamp;
    const auto flag = [&](bool set, unsigned int bit) { t.flags |= set ? bit : 0; };
    flag(how->readMode == as_element, CU_TRSF_READ_AS_INTEGER);
    flag(how->normalizedCoords != 0, CU_TRSF_NORMALIZED_COORDINATES);
    flag(how->sRGB != 0, CU_TRSF_SRGB);
    flag(how->disableTrilinearOptimization != 0, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
    flag(how->seamlessCubemap != 0, CU_TRSF_SEAMLESS_CUBEMAP);
    CUDA_RESOURCE_VIEW_DESC v{};
    if (view != nullptr) std::memcpy(&v, view, view_bytes);
    return SASSEMU_CU(cuTexObjectCreate)(texture, &r, &t, view != nullptr ? &v : nullptr);
}

Error cudaGetTextureObjectResourceDesc(ResourceDesc* resource, unsigned long long texture) {
    if (resource == nullptr) return invalid_value;
    CUDA_RESOURCE_DESC r{};
    if (const Error error = SASSEMU_CU(cuTexObjectGetResourceDesc)(&r, texture)) return error;
    resource_of(r, *resource);
    return success;
}

Error cudaGetTextureObjectTextureDesc(TextureDesc* how, unsigned long long texture) {
    if (how == nullptr) return invalid_value;
    CUDA_TEXTURE_DESC t{};
    if (const Error error = SASSEMU_CU(cuTexObjectGetTextureDesc)(&t, texture)) return error;
    const auto flag = [&](unsigned int bit) { return (t.flags & bit) != 0 ? 1 : 0; };
    *how = {};
    std::memcpy(how->addressMode, t.addressMode, sizeof t.addressMode);
    std::memcpy(how->borderColor, t.borderColor, sizeof t.borderColor);
    how->filterMode = t.filterMode;
    how->readMode = flag(CU_TRSF_READ_AS_INTEGER) != 0 ? as_element : as_normalized;
    how->sRGB = flag(CU_TRSF_SRGB);
    how->normalizedCoords = flag(CU_TRSF_NORMALIZED_COORDINATES);
    how->maxAnisotropy = t.maxAnisotropy;
    how->mipmapFilterMode = t.mipmapFilterMode;
    how->mipmapLevelBias = t.mipmapLevelBias;
    how->minMipmapLevelClamp = t.minMipmapLevelClamp;
    how->maxMipmapLevelClamp = t.maxMipmapLevelClamp;
    how->disableTrilinearOptimization = flag(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
    how->seamlessCubemap = flag(CU_TRSF_SEAMLESS_CUBEMAP);
    return success;
}

Error cudaGetTextureObjectResourceViewDesc(ViewDesc* view, unsigned long long texture) {
    if (view == nullptr) return invalid_value;
    CUDA_RESOURCE_VIEW_DESC v{};
    if (const Error error = SASSEMU_CU(cuTexObjectGetResourceViewDesc)(&v, texture)) return error;
    std::memcpy(view, &v, view_bytes);
    return success;
}

Error cudaCreateSurfaceObject(unsigned long long* surface, const ResourceDesc* resource) {
    if (surface == nullptr || resource == nullptr) return invalid_value;
    CUDA_RESOURCE_DESC r{};
    if (const Error error = resource_of(*resource, r)) return error;
    return SASSEMU_CU(cuSurfObjectCreate)(surface, &r);
}

Error cudaGetSurfaceObjectResourceDesc(ResourceDesc* resource, unsigned long long surface) {
    if (resource == nullptr) return invalid_value;
    CUDA_RESOURCE_DESC r{};
    if (const Error error = SASSEMU_CU(cuSurfObjectGetResourceDesc)(&r, surface)) return error;
    resource_of(r, *resource);
    return success;
}

}  // namespace sassemu::runtime
