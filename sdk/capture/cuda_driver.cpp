// SPDX-License-Identifier: Apache-2.0
// See cuda_driver.hpp.
#include "cuda_driver.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "options.hpp"

namespace sassemu::capture {

namespace {

// What a kernel did that ends its context: every call after it gives the error again.
bool is_broken(CUresult result) {
    switch (result) {
        case CUDA_ERROR_ECC_UNCORRECTABLE:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
            return true;
        default:
            return false;
    }
}

}  // namespace

void check(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    const char* text = nullptr;
    cuGetErrorName(result, &text);
    const std::string all = std::string(what) + ": " + (text ? text : "an unknown error");
    if (is_broken(result)) throw Broken(all);
    throw Failure(all);
}

namespace {

struct Format {
    const char* name;
    uint32_t bytes;
};
Format format_of(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
            return {"u8", 1};
        case CU_AD_FORMAT_SIGNED_INT8:
            return {"i8", 1};
        case CU_AD_FORMAT_UNSIGNED_INT16:
            return {"u16", 2};
        case CU_AD_FORMAT_SIGNED_INT16:
            return {"i16", 2};
        case CU_AD_FORMAT_UNSIGNED_INT32:
            return {"u32", 4};
        case CU_AD_FORMAT_SIGNED_INT32:
            return {"i32", 4};
        case CU_AD_FORMAT_HALF:
            return {"f16", 2};
        case CU_AD_FORMAT_FLOAT:
            return {"f32", 4};
        default:
            return {nullptr, 0};
    }
}

CUDA_ARRAY3D_DESCRIPTOR description(CUarray array) {
    CUDA_ARRAY3D_DESCRIPTOR d{};
    check(cuArray3DGetDescriptor(&d, array), "an array");
    return d;
}

uint64_t row_of(const CUDA_ARRAY3D_DESCRIPTOR& d) {
    return d.Width * format_of(d.Format).bytes * d.NumChannels;
}

uint64_t bytes_of(const CUDA_ARRAY3D_DESCRIPTOR& d) {
    return row_of(d) * std::max<size_t>(d.Height, 1) * std::max<size_t>(d.Depth, 1);
}

// How many it takes.
uint64_t copy(CUarray array, std::byte* to, const std::byte* from) {
    const CUDA_ARRAY3D_DESCRIPTOR d = description(array);
    CUDA_MEMCPY3D c{};
    c.WidthInBytes = row_of(d);
    c.Height = std::max<size_t>(d.Height, 1);
    c.Depth = std::max<size_t>(d.Depth, 1);
    c.srcMemoryType = to ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    c.dstMemoryType = to ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    c.srcArray = to ? array : nullptr;
    c.dstArray = to ? nullptr : array;
    c.srcHost = from;
    c.dstHost = to;
    c.srcPitch = c.dstPitch = c.WidthInBytes;
    c.srcHeight = c.dstHeight = c.Height;
    check(cuMemcpy3D(&c), "the bytes of an array");
    return bytes_of(d);
}

CUarray level_of(uint64_t mipmapped, uint32_t level) {
    CUarray array = nullptr;
    if (cuMipmappedArrayGetLevel(&array, reinterpret_cast<CUmipmappedArray>(mipmapped), level) !=
        CUDA_SUCCESS)
        return nullptr;
    return array;
}

void copy(const Range& range, std::byte* to, const std::byte* from) {
    if (!range.levels) {
        copy(reinterpret_cast<CUarray>(range.array), to, from);
        return;
    }
    for (uint32_t level = 0; level < range.levels; ++level) {
        const uint64_t done = copy(level_of(range.array, level), to, from);
        (to ? to += done : to);
        (from ? from += done : from);
    }
}

void describe_array(TextureObject& t, const CUDA_ARRAY3D_DESCRIPTOR& d) {
    t.channels = d.NumChannels;
    t.width = static_cast<uint32_t>(d.Width);
    t.height = static_cast<uint32_t>(d.Height);
    const auto slices = static_cast<uint32_t>(d.Depth);
    t.cube = d.Flags & CUDA_ARRAY3D_CUBEMAP;
    if (d.Flags & CUDA_ARRAY3D_LAYERED)
        t.layers = t.cube ? slices / 6 : slices;
    else if (!t.cube)
        t.depth = slices;
}

TextureObject describe(uint64_t handle, const TextureSource& source) {
    TextureObject t;
    t.handle = handle;
    t.surface = source.surface;
    const auto refuse = [&](const char* what) {
        t.refused = std::string(t.surface ? "a surface" : "a texture") + " of " + what;
        return t;
    };
    CUarray_format format{};
    const auto& res = source.resource.res;
    switch (source.resource.resType) {
        case CU_RESOURCE_TYPE_ARRAY: {
            const CUDA_ARRAY3D_DESCRIPTOR d = description(res.array.hArray);
            format = d.Format;
            describe_array(t, d);
            t.memory.array = reinterpret_cast<uint64_t>(res.array.hArray);
            t.memory.bytes = bytes_of(d);
            break;
        }
        case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
            t.memory.array = reinterpret_cast<uint64_t>(res.mipmap.hMipmappedArray);
            while (const CUarray array = level_of(t.memory.array, t.memory.levels)) {
                const CUDA_ARRAY3D_DESCRIPTOR d = description(array);
                format = d.Format;
                if (!t.memory.levels++) describe_array(t, d);
                t.memory.bytes += bytes_of(d);
            }
            break;
        }
        case CU_RESOURCE_TYPE_LINEAR:
            format = res.linear.format;
            t.channels = res.linear.numChannels;
            t.address = res.linear.devPtr;
            t.linear = true;
            if (format_of(format).bytes)
                t.width = static_cast<uint32_t>(res.linear.sizeInBytes /
                                                (format_of(format).bytes * t.channels));
            break;
        case CU_RESOURCE_TYPE_PITCH2D:
            format = res.pitch2D.format;
            t.channels = res.pitch2D.numChannels;
            t.address = res.pitch2D.devPtr;
            t.width = static_cast<uint32_t>(res.pitch2D.width);
            t.height = static_cast<uint32_t>(res.pitch2D.height);
            t.pitch = res.pitch2D.pitchInBytes;
            break;
        default:
            return refuse("an unknown resource");
    }
    if (!format_of(format).name) return refuse("an unusual format");
    t.format = format_of(format).name;
    if (source.view) return refuse("a part or another view of its array");
    static constexpr const char* modes[] = {"wrap", "clamp", "mirror", "border"};
    for (int i = 0; i < 3; ++i) t.address_mode[i] = modes[source.texture.addressMode[i] & 3];
    const auto filter = [](CUfilter_mode mode) {
        return mode == CU_TR_FILTER_MODE_LINEAR ? "linear" : "point";
    };
    t.filter = filter(source.texture.filterMode);
    t.level_filter = filter(source.texture.mipmapFilterMode);
    t.level_bias = source.texture.mipmapLevelBias;
    t.level_low = source.texture.minMipmapLevelClamp;
    t.level_high = source.texture.maxMipmapLevelClamp;
    t.anisotropy = source.texture.maxAnisotropy;
    std::ranges::copy(source.texture.borderColor, t.border);
    t.srgb = source.texture.flags & CU_TRSF_SRGB;
    t.seamless = source.texture.flags & CU_TRSF_SEAMLESS_CUBEMAP;
    t.normalized = source.texture.flags & CU_TRSF_NORMALIZED_COORDINATES;
    const bool integer = format != CU_AD_FORMAT_HALF && format != CU_AD_FORMAT_FLOAT;
    t.read_normalized = !t.surface && integer && format_of(format).bytes < 4 &&
                        !(source.texture.flags & CU_TRSF_READ_AS_INTEGER);
    return t;
}
}  // namespace

// On a thread of its own, for a launch may wait for one that this one keeps from coming.
void CudaDriver::synchronize() {
    CUcontext context = nullptr;
    check(cuCtxGetCurrent(&context), "the context");
    auto promise = std::make_shared<std::promise<CUresult>>();
    std::future<CUresult> done = promise->get_future();
    std::thread([context, promise] {
        const Inside guard;
        const CUresult current = cuCtxSetCurrent(context);
        promise->set_value(current == CUDA_SUCCESS ? cuCtxSynchronize() : current);
    }).detach();
    if (done.wait_for(std::chrono::seconds(wait_)) != std::future_status::ready)
        throw Stuck("what was launched has not ended after " + std::to_string(wait_) +
                    " s (wait=)");
    check(done.get(), "what was launched");
}

uint64_t CudaDriver::context() {
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    return reinterpret_cast<uint64_t>(context);
}

bool CudaDriver::shared(const Range& range) {
    const auto at = shared_.lower_bound(range.address);
    CUdevice device = 0;
    cuCtxGetDevice(&device);
    return (range.kind == MemoryKind::device && range.device != static_cast<uint32_t>(device)) ||
           (at != shared_.end() && *at - range.address < range.bytes);
}

std::optional<Range> CudaDriver::range_of(uint64_t address) {
    CUdeviceptr start = 0;
    size_t bytes = 0;
    unsigned type = 0, managed = 0;
    int device = 0;
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* data[] = {&start, &bytes, &type, &managed, &device};
    if (cuPointerGetAttributes(5, which, data, address) != CUDA_SUCCESS || !start || !bytes)
        return {};
    const MemoryKind kind = managed                      ? MemoryKind::managed
                            : type == CU_MEMORYTYPE_HOST ? MemoryKind::host
                                                         : MemoryKind::device;
    const Range range{start, bytes, kind, 0, static_cast<uint32_t>(std::max(device, 0))};
    return range;
}
std::vector<uint64_t> CudaDriver::allocations() {
    return {allocations_.begin(), allocations_.end()};
}

void CudaDriver::read(const Range& from, std::span<std::byte> out) {
    if (from.array) return copy(from, out.data(), nullptr);
    check(cuMemcpy(reinterpret_cast<CUdeviceptr>(out.data()), from.address, out.size()),
          "reading its memory");
}
void CudaDriver::write(const Range& to, std::span<const std::byte> bytes) {
    if (to.array) return copy(to, nullptr, bytes.data());
    check(cuMemcpy(to.address, reinterpret_cast<CUdeviceptr>(bytes.data()), bytes.size()),
          "writing its memory");
}

std::optional<Range> CudaDriver::variable(const Launch& launch, const std::string& name) {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (cuModuleGetGlobal(&address, &bytes, reinterpret_cast<CUmodule>(launch.module),
                          name.c_str()) != CUDA_SUCCESS ||
        !bytes)
        return {};
    CUdevice device = 0;
    cuCtxGetDevice(&device);
    return Range{address, bytes, MemoryKind::device, 0, static_cast<uint32_t>(device)};
}

std::optional<TextureObject> CudaDriver::texture(uint64_t handle) {
    const auto found = textures_.find(handle);
    if (found == textures_.end()) return {};
    return describe(handle, found->second);
}

void CudaDriver::launch_again() { check(again_(), "launching it again"); }

Device CudaDriver::device() {
    Device d;
    CUdevice device = 0;
    check(cuCtxGetDevice(&device), "the device");
    d.number = static_cast<uint32_t>(device);
    char name[256] = "";
    cuDeviceGetName(name, sizeof name, device);
    d.name = name;
    cuDriverGetVersion(&d.driver);
    const auto attribute = [&](const char* key, CUdevice_attribute which) {
        int value = 0;
        if (cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS && value > 0)
            d.profile[key] = static_cast<uint64_t>(value);
    };
    attribute("sms", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    attribute("sharedPerSm", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    attribute("sharedPerCta", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    attribute("residentCtas", CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    attribute("residentThreads", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    const auto limit = [&](const char* key, CUlimit which) {
        size_t value = 0;
        if (cuCtxGetLimit(&value, which) == CUDA_SUCCESS && value) d.limits[key] = value;
    };
    limit("stack", CU_LIMIT_STACK_SIZE);
    limit("heap", CU_LIMIT_MALLOC_HEAP_SIZE);
    return d;
}

}  // namespace sassemu::capture
