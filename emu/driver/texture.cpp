// SPDX-License-Identifier: Apache-2.0
// Arrays, texture and surface objects, tensor maps.
#include <algorithm>
#include <cstring>

#include "emu/async/tensor_map.hpp"
#include "emu/driver/array.hpp"

namespace sassemu::driver {

Array::~Array() {
    if (!of && address) (void)Driver::get().machine().release(address);
}

namespace {

bool format_of(CUarray_format format, TextureFormat& out) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
            out = TextureFormat::u8;
            return true;
        case CU_AD_FORMAT_UNSIGNED_INT16:
            out = TextureFormat::u16;
            return true;
        case CU_AD_FORMAT_UNSIGNED_INT32:
            out = TextureFormat::u32;
            return true;
        case CU_AD_FORMAT_SIGNED_INT8:
            out = TextureFormat::s8;
            return true;
        case CU_AD_FORMAT_SIGNED_INT16:
            out = TextureFormat::s16;
            return true;
        case CU_AD_FORMAT_SIGNED_INT32:
            out = TextureFormat::s32;
            return true;
        case CU_AD_FORMAT_HALF:
            out = TextureFormat::f16;
            return true;
        case CU_AD_FORMAT_FLOAT:
            out = TextureFormat::f32;
            return true;
        default:
            return false;
    }
}

CUresult make_array(const CUDA_ARRAY3D_DESCRIPTOR& d, uint32_t levels,
                    std::shared_ptr<Array>& out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    TextureDesc texel;
    if (!format_of(d.Format, texel.format)) {
        say("an array of format " + std::to_string(d.Format) +
            " is not there: u8, s8, u16, s16, u32, s32, f16, f32 are");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (d.Flags & ~15u) return CUDA_ERROR_NOT_SUPPORTED;
    texel.channels = d.NumChannels;
    if (!d.Width || d.Width > 131072 || d.Height > 131072 || d.Depth > 16384)
        return CUDA_ERROR_INVALID_VALUE;
    if (d.Flags & CUDA_ARRAY3D_CUBEMAP && (d.Width != d.Height || d.Depth % 6 || !d.Depth))
        return CUDA_ERROR_INVALID_VALUE;
    const auto longest = static_cast<uint32_t>(std::max({d.Width, d.Height, d.Depth}));
    if (!levels || levels > 18 || longest >> (levels - 1) == 0) return CUDA_ERROR_INVALID_VALUE;
    out = std::make_shared<Array>();
    out->context = context;
    out->device = context->device;
    out->what = d;
    out->levels = levels;
    out->texel = texel.texel_bytes();
    const bool layered = d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    uint64_t bytes = 0;
    for (uint32_t level = 0; level < levels; ++level)
        bytes += std::max<uint64_t>(d.Width >> level, 1) * out->texel *
                 std::max<uint64_t>(d.Height >> level, 1) *
                 std::max<uint64_t>(layered ? d.Depth : d.Depth >> level, 1);
    const auto address = Driver::get().gpu(context->device).allocate(bytes, "array of the program");
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    out->address = *address;
    return CUDA_SUCCESS;
}

CUresult dimensions(const Array& a, TextureDesc& t) {
    t.address = a.address;
    t.width = static_cast<uint32_t>(a.what.Width);
    t.height = static_cast<uint32_t>(a.what.Height);
    t.levels = a.levels;
    t.channels = a.what.NumChannels;
    t.cube = a.what.Flags & CUDA_ARRAY3D_CUBEMAP;
    const auto depth = static_cast<uint32_t>(a.what.Depth);
    if (t.cube)
        t.layers = a.what.Flags & CUDA_ARRAY3D_LAYERED ? depth / 6 : 0;
    else if (a.what.Flags & CUDA_ARRAY3D_LAYERED)
        t.layers = depth;
    else
        t.depth = depth;
    return format_of(a.what.Format, t.format) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult resource(const CUDA_RESOURCE_DESC& r, TextureDesc& t) {
    Driver& d = Driver::get();
    if (r.flags) return CUDA_ERROR_INVALID_VALUE;
    switch (r.resType) {
        case CU_RESOURCE_TYPE_ARRAY: {
            const auto array = d.arrays.find(bits(r.res.array.hArray));
            return array ? dimensions(*array, t) : CUDA_ERROR_INVALID_HANDLE;
        }
        case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
            const auto array = d.mipmaps.find(bits(r.res.mipmap.hMipmappedArray));
            return array ? dimensions(*array, t) : CUDA_ERROR_INVALID_HANDLE;
        }
        case CU_RESOURCE_TYPE_LINEAR: {
            t.linear_memory = true;
            t.channels = r.res.linear.numChannels;
            if (!format_of(r.res.linear.format, t.format)) return CUDA_ERROR_INVALID_VALUE;
            if (t.channels != 1 && t.channels != 2 && t.channels != 4)
                return CUDA_ERROR_INVALID_VALUE;
            t.address = r.res.linear.devPtr;
            const uint64_t texels = r.res.linear.sizeInBytes / t.texel_bytes();
            if (!texels || texels > (1u << 28)) return CUDA_ERROR_INVALID_VALUE;
            t.width = static_cast<uint32_t>(texels);
            break;
        }
        case CU_RESOURCE_TYPE_PITCH2D:
            t.channels = r.res.pitch2D.numChannels;
            if (!format_of(r.res.pitch2D.format, t.format)) return CUDA_ERROR_INVALID_VALUE;
            t.address = r.res.pitch2D.devPtr;
            if (!r.res.pitch2D.width || r.res.pitch2D.width > 131072 || !r.res.pitch2D.height ||
                r.res.pitch2D.height > 131072)
                return CUDA_ERROR_INVALID_VALUE;
            t.width = static_cast<uint32_t>(r.res.pitch2D.width);
            t.height = static_cast<uint32_t>(r.res.pitch2D.height);
            t.pitch = r.res.pitch2D.pitchInBytes;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return d.machine().host_pointer(t.address, 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// What the program has made, to be asked for.
struct Made {
    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC texture{};
    CUDA_RESOURCE_VIEW_DESC view{};
    bool surface = false;
};
std::mutex made_mutex;
std::map<uint64_t, Made>& made() {
    static auto& all = *new std::map<uint64_t, Made>;
    return all;
}
CUresult find_made(uint64_t handle, bool surface, Made& out) {
    const std::lock_guard guard(made_mutex);
    const auto found = made().find(handle);
    if (found == made().end() || found->second.surface != surface) return CUDA_ERROR_INVALID_VALUE;
    out = found->second;
    return CUDA_SUCCESS;
}
CUresult forget(uint64_t handle, bool surface) {
    if (!handle) return CUDA_SUCCESS;
    const std::lock_guard guard(made_mutex);
    const auto found = made().find(handle);
    if (found == made().end() || found->second.surface != surface) return CUDA_ERROR_INVALID_VALUE;
    made().erase(found);
    return CUDA_SUCCESS;
}

CUresult encoded(CUtensorMap* out, const TensorMap& map) {
    if (reinterpret_cast<uintptr_t>(out) % 64) return CUDA_ERROR_INVALID_VALUE;
    const auto bytes = map.encode();
    if (!bytes) {
        say("tensor map: " + bytes.error().message());
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(out, bytes->data(), bytes->size());
    return CUDA_SUCCESS;
}

// What both forms have.
CUresult begin_map(TensorMap& map, int type, unsigned rank, void* address, const uint64_t* size,
                   const uint64_t* stride, const uint32_t* step, int interleave, int swizzle,
                   int promotion, int fill) {
    if (type < 0 || type > 15 || rank < 1 || rank > 5 || interleave < 0 || interleave > 2 ||
        swizzle < 0 || swizzle > 6 || promotion < 0 || promotion > 3 || fill < 0 || fill > 1)
        return CUDA_ERROR_INVALID_VALUE;
    map.type = static_cast<TensorType>(type);
    map.rank = rank;
    map.address = reinterpret_cast<uint64_t>(address);
    for (unsigned i = 0; i < rank; ++i) {
        map.size[i] = size[i];
        map.step[i] = step[i];
        if (i + 1 < rank) map.stride[i] = stride[i];
    }
    map.interleave = static_cast<TensorInterleave>(interleave);
    map.swizzle = static_cast<TensorSwizzle>(std::min(swizzle, 3));
    if (swizzle > 3) map.atom = static_cast<TensorAtom>(swizzle - 3);
    map.promotion = static_cast<uint8_t>(promotion);
    map.nan_fill = fill == 1;
    return CUDA_SUCCESS;
}

}  // namespace

}  // namespace sassemu::driver

namespace sassemu::driver::api {

// ---- arrays

CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* d) {
    std::shared_ptr<Array> array;
    SASSEMU_CUDA(make_array(*d, 1, array));
    *out = as_handle<CUarray>(Driver::get().arrays.add(std::move(array)));
    return CUDA_SUCCESS;
}
CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* d) {
    const CUDA_ARRAY3D_DESCRIPTOR all{d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
    return api::cuArray3DCreate_v2(out, &all);
}
CUresult cuArrayDestroy(CUarray handle) {
    Driver& d = Driver::get();
    const auto array = d.arrays.find(bits(handle));
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    if (array->of) return CUDA_ERROR_INVALID_VALUE;  // a level goes with its array
    (void)d.machine().synchronize();
    d.arrays.take(bits(handle));
    return CUDA_SUCCESS;
}
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
    const auto array = Driver::get().arrays.find(bits(handle));
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    *out = array->what;
    return CUDA_SUCCESS;
}
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
    const auto array = Driver::get().arrays.find(bits(handle));
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    *out = {array->what.Width, array->what.Height, array->what.Format, array->what.NumChannels};
    return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* d,
                                unsigned int levels) {
    std::shared_ptr<Array> array;
    SASSEMU_CUDA(make_array(*d, levels, array));
    *out = as_handle<CUmipmappedArray>(Driver::get().mipmaps.add(std::move(array)));
    return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle, unsigned int level) {
    Driver& d = Driver::get();
    const auto array = d.mipmaps.find(bits(handle));
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    if (level >= array->levels) return CUDA_ERROR_INVALID_VALUE;
    auto one = std::make_shared<Array>();
    one->context = array->context;
    one->device = array->device;
    one->what = array->what;
    one->texel = array->texel;
    one->of = array;
    one->address = array->address;
    const bool layered = array->what.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    for (unsigned i = 0; i < level; ++i) {
        one->address += one->row() * one->rows() * one->slices();
        one->what.Width = std::max<size_t>(one->what.Width / 2, 1);
        if (one->what.Height) one->what.Height = std::max<size_t>(one->what.Height / 2, 1);
        if (one->what.Depth && !layered) one->what.Depth = std::max<size_t>(one->what.Depth / 2, 1);
    }
    *out = as_handle<CUarray>(d.arrays.add(std::move(one)));
    return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
    Driver& d = Driver::get();
    const auto array = d.mipmaps.find(bits(handle));
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    (void)d.machine().synchronize();
    d.mipmaps.take(bits(handle));
    std::vector<uint64_t> gone;
    d.arrays.each([&](uint64_t level, const auto& one) {
        if (one->of == array) gone.push_back(level);
    });
    for (const uint64_t level : gone) d.arrays.take(level);
    return CUDA_SUCCESS;
}

// ---- objects

CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* r,
                           const CUDA_TEXTURE_DESC* how, const CUDA_RESOURCE_VIEW_DESC* view) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (!how) return CUDA_ERROR_INVALID_VALUE;
    if (view && view->format) {
        say("cuTexObjectCreate: a resource view of another format is not there");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    TextureDesc t;
    SASSEMU_CUDA(resource(*r, t));
    for (int i = 0; i < 3; ++i) {
        if (how->addressMode[i] < 0 || how->addressMode[i] > 3) return CUDA_ERROR_INVALID_VALUE;
        t.address_mode[i] = static_cast<AddressMode>(how->addressMode[i]);
    }
    if (how->filterMode < 0 || how->filterMode > 1 || how->mipmapFilterMode < 0 ||
        how->mipmapFilterMode > 1)
        return CUDA_ERROR_INVALID_VALUE;
    const bool integer = t.format < TextureFormat::f16;
    t.filter = static_cast<FilterMode>(how->filterMode);
    t.level_filter = static_cast<FilterMode>(how->mipmapFilterMode);
    t.level_bias = how->mipmapLevelBias;
    t.level_low = how->minMipmapLevelClamp;
    t.level_high = how->maxMipmapLevelClamp;
    t.anisotropy = std::max(1u, how->maxAnisotropy);
    std::copy(how->borderColor, how->borderColor + 4, t.border);
    t.normalized_coords = how->flags & CU_TRSF_NORMALIZED_COORDINATES;
    const bool word = t.format == TextureFormat::u32 || t.format == TextureFormat::s32;
    t.read_normalized = integer && !word && !(how->flags & CU_TRSF_READ_AS_INTEGER);
    t.srgb = how->flags & CU_TRSF_SRGB;
    t.seamless = how->flags & CU_TRSF_SEAMLESS_CUBEMAP;
    t.exact_levels = how->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    const auto handle = Driver::get().gpu(context->device).create_texture(t);
    if (!handle) return refused("cuTexObjectCreate", handle.error());
    const std::lock_guard guard(made_mutex);
    made()[*handle] = {*r, *how, view ? *view : CUDA_RESOURCE_VIEW_DESC{}, false};
    *out = *handle;
    return CUDA_SUCCESS;
}
CUresult cuTexObjectDestroy(CUtexObject handle) { return forget(handle, false); }
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject handle) {
    Made m;
    SASSEMU_CUDA(find_made(handle, false, m));
    *out = m.resource;
    return CUDA_SUCCESS;
}
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject handle) {
    Made m;
    SASSEMU_CUDA(find_made(handle, false, m));
    *out = m.texture;
    return CUDA_SUCCESS;
}
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject handle) {
    Made m;
    SASSEMU_CUDA(find_made(handle, false, m));
    *out = m.view;
    return CUDA_SUCCESS;
}
CUresult cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* r) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (r->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    TextureDesc t;
    SASSEMU_CUDA(resource(*r, t));
    const auto handle = Driver::get().gpu(context->device).create_surface(t);
    if (!handle) return refused("cuSurfObjectCreate", handle.error());
    const std::lock_guard guard(made_mutex);
    made()[*handle] = {*r, {}, {}, true};
    *out = *handle;
    return CUDA_SUCCESS;
}
CUresult cuSurfObjectDestroy(CUsurfObject handle) { return forget(handle, true); }
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject handle) {
    Made m;
    SASSEMU_CUDA(find_made(handle, true, m));
    *out = m.resource;
    return CUDA_SUCCESS;
}

// ---- tensor maps

CUresult cuTensorMapEncodeTiled(CUtensorMap* out, CUtensorMapDataType type, unsigned int rank,
                                void* address, const unsigned long long* size,
                                const unsigned long long* stride, const unsigned int* box,
                                const unsigned int* step, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
    TensorMap map;
    if (rank < 1 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
    uint64_t sizes[5] = {}, strides[5] = {};
    for (unsigned i = 0; i < rank; ++i) sizes[i] = size[i];
    for (unsigned i = 0; i + 1 < rank; ++i) strides[i] = stride[i];
    SASSEMU_CUDA(begin_map(map, type, rank, address, sizes, strides, step, interleave, swizzle,
                           promotion, fill));
    std::copy(box, box + rank, map.box);
    return encoded(out, map);
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap* out, CUtensorMapDataType type, unsigned int rank,
                                 void* address, const unsigned long long* size,
                                 const unsigned long long* stride, const int* lower,
                                 const int* upper, unsigned int channels, unsigned int pixels,
                                 const unsigned int* step, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill) {
    TensorMap map;
    if (rank < 3 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
    uint64_t sizes[5] = {}, strides[5] = {};
    for (unsigned i = 0; i < rank; ++i) sizes[i] = size[i];
    for (unsigned i = 0; i + 1 < rank; ++i) strides[i] = stride[i];
    SASSEMU_CUDA(begin_map(map, type, rank, address, sizes, strides, step, interleave, swizzle,
                           promotion, fill));
    map.image = true;
    for (unsigned i = 0; i + 2 < rank; ++i) {
        map.lower[i] = lower[i];
        map.upper[i] = upper[i];
    }
    map.channels = channels;
    map.pixels = pixels;
    return encoded(out, map);
}
CUresult cuTensorMapReplaceAddress(CUtensorMap* out, void* address) {
    auto map = TensorMap::decode(reinterpret_cast<const std::byte*>(out));
    if (!map) return CUDA_ERROR_INVALID_VALUE;
    map->address = reinterpret_cast<uint64_t>(address);
    return encoded(out, *map);
}

}  // namespace sassemu::driver::api
