// SPDX-License-Identifier: Apache-2.0
// Memory: allocations, copies and fills of one to three dimensions, what a pointer is. Everything
// is one address space, so that copies leave it to the driver what their ends are.
#include "emu/runtime/copies.hpp"
#include "emu/runtime/state.hpp"
#include "runtime_api.hpp"

namespace sassemu::runtime {
namespace {

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

Error check_kind(int kind) {
    return kind >= 0 && kind <= 4 ? static_cast<Error>(success)
                                  : static_cast<Error>(invalid_memcpy_direction);
}

// Waits for a stream or not.
struct When {
    bool waits = true;
    CUstream stream = nullptr;
};

Error copy(void* to, const void* from, size_t bytes, int kind, When when) {
    if (const Error error = check_kind(kind)) return error;
    if (bytes == 0) return success;
    if (to == nullptr || from == nullptr) return invalid_value;
    if (!when.waits)
        return SASSEMU_CU(cuMemcpyAsync)(address(to), address(from), bytes, stream_of(when.stream));
    return own_stream() ? SASSEMU_CU(cuMemcpy_ptds)(address(to), address(from), bytes)
                        : SASSEMU_CU(cuMemcpy)(address(to), address(from), bytes);
}

Error copy(const CUDA_MEMCPY3D& c, When when) {
    if (c.WidthInBytes == 0 || c.Height == 0 || c.Depth == 0) return success;
    if (!when.waits) return SASSEMU_CU(cuMemcpy3DAsync_v2)(&c, stream_of(when.stream));
    return own_stream() ? SASSEMU_CU(cuMemcpy3D_v2_ptds)(&c) : SASSEMU_CU(cuMemcpy3D_v2)(&c);
}

Error copy(Side to, Side from, size_t width, size_t height, int kind, When when) {
    if (const Error error = check_kind(kind)) return error;
    for (const Side* side : {&to, &from})
        if (side->array == nullptr && height > 1 && width > side->pitch) return 12;  // pitch value
    return copy(copy_of(to, from, width, height, 1), when);
}

// Bytes that lie row after row in an array, from a place in it on: a row's rest, rows, a rest.
template <class Visit>
Error in_rows(CUarray array, size_t x, size_t y, size_t bytes, const Visit& visit) {
    size_t width = 0;
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    if (const Error error = SASSEMU_CU(cuArray3DGetDescriptor_v2)(&descriptor, array)) return error;
    if (const Error error = texel_bytes(array, width)) return error;
    width *= descriptor.Width;
    if (x >= width && bytes != 0) return invalid_value;
    for (size_t done = 0; done < bytes;) {
        const size_t left = bytes - done;
        const bool whole = x == 0 && left >= width;
        const size_t columns = whole ? width : std::min(left, width - x);
        const size_t rows = whole ? left / width : 1;
        if (const Error error = visit(x, y, done, columns, rows)) return error;
        done += columns * rows;
        y += rows;
        x = 0;
    }
    return success;
}

Error fill(CUdeviceptr to, int value, size_t bytes, When when) {
    if (bytes == 0) return success;
    const auto byte = static_cast<unsigned char>(value);
    if (!when.waits) return SASSEMU_CU(cuMemsetD8Async)(to, byte, bytes, stream_of(when.stream));
    return own_stream() ? SASSEMU_CU(cuMemsetD8_v2_ptds)(to, byte, bytes)
                        : SASSEMU_CU(cuMemsetD8_v2)(to, byte, bytes);
}

Error fill(CUdeviceptr to, size_t pitch, int value, size_t width, size_t height, When when) {
    if (width == 0 || height == 0) return success;
    const auto byte = static_cast<unsigned char>(value);
    if (!when.waits)
        return SASSEMU_CU(cuMemsetD2D8Async)(to, pitch, byte, width, height,
                                             stream_of(when.stream));
    return own_stream() ? SASSEMU_CU(cuMemsetD2D8_v2_ptds)(to, pitch, byte, width, height)
                        : SASSEMU_CU(cuMemsetD2D8_v2)(to, pitch, byte, width, height);
}

Error fill(const PitchedPtr& to, int value, const Extent& extent, When when) {
    if (extent.height == to.ysize || extent.depth <= 1)
        return fill(address(to.ptr), to.pitch, value, extent.width, extent.height * extent.depth,
                    when);
    for (size_t z = 0; z < extent.depth; ++z)
        if (const Error error = fill(address(to.ptr) + z * to.pitch * to.ysize, to.pitch, value,
                                     extent.width, extent.height, when))
            return error;
    return success;
}

Error copy3d(const Copy3D* c, When when) {
    if (c == nullptr) return invalid_value;
    if (const Error error = check_kind(c->kind)) return error;
    CUDA_MEMCPY3D driver_copy{};
    if (const Error error = copy_of(*c, driver_copy)) return error;
    return copy(driver_copy, when);
}

Error copy_peer(const PeerCopy3D* p, When when) {
    if (p == nullptr) return invalid_value;
    const Copy3D same{p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                      p->dstPos,   p->dstPtr, p->extent, 4};
    CUDA_MEMCPY3D c{};
    if (const Error error = copy_of(same, c)) return error;
    CUDA_MEMCPY3D_PEER peer{};
    if (const Error error = primary_context(p->srcDevice, peer.srcContext)) return error;
    if (const Error error = primary_context(p->dstDevice, peer.dstContext)) return error;
    peer.srcXInBytes = c.srcXInBytes;
    peer.srcY = c.srcY;
    peer.srcZ = c.srcZ;
    peer.srcMemoryType = c.srcMemoryType;
    peer.srcDevice = c.srcDevice;
    peer.srcArray = c.srcArray;
    peer.srcPitch = c.srcPitch;
    peer.srcHeight = c.srcHeight;
    peer.dstXInBytes = c.dstXInBytes;
    peer.dstY = c.dstY;
    peer.dstZ = c.dstZ;
    peer.dstMemoryType = c.dstMemoryType;
    peer.dstDevice = c.dstDevice;
    peer.dstArray = c.dstArray;
    peer.dstPitch = c.dstPitch;
    peer.dstHeight = c.dstHeight;
    peer.WidthInBytes = c.WidthInBytes;
    peer.Height = c.Height;
    peer.Depth = c.Depth;
    if (!when.waits) return SASSEMU_CU(cuMemcpy3DPeerAsync)(&peer, stream_of(when.stream));
    return own_stream() ? SASSEMU_CU(cuMemcpy3DPeer_ptds)(&peer)
                        : SASSEMU_CU(cuMemcpy3DPeer)(&peer);
}

Error copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, int kind,
                     When when) {
    void* to = nullptr;
    if (const Error error = in_symbol(symbol, offset, bytes, to)) return error;
    return copy(to, from, bytes, kind, when);
}

Error copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, int kind,
                       When when) {
    void* from = nullptr;
    if (const Error error = in_symbol(symbol, offset, bytes, from)) return error;
    return copy(to, from, bytes, kind, when);
}

Error copy_to_array(CUarray to, size_t x, size_t y, const void* from, size_t bytes, int kind,
                    When when) {
    return in_rows(to, x, y, bytes, [&](size_t cx, size_t cy, size_t done, size_t w, size_t h) {
        return copy({to, nullptr, 0, cx, cy}, {nullptr, static_cast<const char*>(from) + done, w},
                    w, h, kind, when);
    });
}

Error copy_from_array(void* to, CUarray from, size_t x, size_t y, size_t bytes, int kind,
                      When when) {
    return in_rows(from, x, y, bytes, [&](size_t cx, size_t cy, size_t done, size_t w, size_t h) {
        return copy({nullptr, static_cast<char*>(to) + done, w}, {from, nullptr, 0, cx, cy}, w, h,
                    kind, when);
    });
}

}  // namespace

Error in_symbol(const void* symbol, size_t offset, size_t bytes, void*& place) {
    CUdeviceptr base = 0;
    size_t all = 0;
    if (const Error error = variable_of(symbol, base, all)) return error;
    if (offset > all || bytes > all - offset) return invalid_value;
    place = reinterpret_cast<void*>(base + offset);
    return success;
}

Error texel_bytes(CUarray array, size_t& bytes) {
    CUDA_ARRAY3D_DESCRIPTOR d{};
    if (const Error error = SASSEMU_CU(cuArray3DGetDescriptor_v2)(&d, array)) return error;
    const int bits = format_bits(d.Format);
    if (bits == 0) return invalid_value;
    bytes = static_cast<size_t>(bits) / 8 * d.NumChannels;
    return success;
}

int format_bits(int format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return 8;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 16;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 32;
        default:
            return 0;
    }
}

CUDA_MEMCPY3D copy_of(const Side& to, const Side& from, size_t width, size_t height, size_t depth) {
    constexpr int is_array = 3, unified = 4;
    CUDA_MEMCPY3D c{};
    c.srcMemoryType = from.array != nullptr ? is_array : unified;
    c.srcArray = from.array;
    c.srcDevice = address(from.pointer);
    c.srcPitch = from.pitch;
    c.srcHeight = from.rows != 0 ? from.rows : height;
    c.srcXInBytes = from.x;
    c.srcY = from.y;
    c.srcZ = from.z;
    c.dstMemoryType = to.array != nullptr ? is_array : unified;
    c.dstArray = to.array;
    c.dstDevice = address(to.pointer);
    c.dstPitch = to.pitch;
    c.dstHeight = to.rows != 0 ? to.rows : height;
    c.dstXInBytes = to.x;
    c.dstY = to.y;
    c.dstZ = to.z;
    c.WidthInBytes = width;
    c.Height = height;
    c.Depth = depth;
    return c;
}

// Where an array takes part, widths and positions in it are in texels.
Error copy_of(const Copy3D& c, CUDA_MEMCPY3D& out) {
    const bool to_array = c.dstArray != nullptr, from_array = c.srcArray != nullptr;
    if (to_array == (c.dstPtr.ptr != nullptr) || from_array == (c.srcPtr.ptr != nullptr))
        return invalid_value;
    size_t to_texel = 1, from_texel = 1;
    if (to_array)
        if (const Error error = texel_bytes(c.dstArray, to_texel)) return error;
    if (from_array)
        if (const Error error = texel_bytes(c.srcArray, from_texel)) return error;
    if (to_array && from_array && to_texel != from_texel) return invalid_value;
    const size_t texel = to_array ? to_texel : from_texel;
    out = copy_of({c.dstArray, c.dstPtr.ptr, c.dstPtr.pitch, c.dstPos.x * to_texel, c.dstPos.y,
                   c.dstPos.z, c.dstPtr.ysize},
                  {c.srcArray, c.srcPtr.ptr, c.srcPtr.pitch, c.srcPos.x * from_texel, c.srcPos.y,
                   c.srcPos.z, c.srcPtr.ysize},
                  c.extent.width * texel, c.extent.height, c.extent.depth);
    return success;
}

// ---- allocations

Error cudaMalloc(CUdeviceptr* pointer, size_t bytes) {
    if (pointer == nullptr) return invalid_value;
    *pointer = 0;
    return bytes != 0 ? SASSEMU_CU(cuMemAlloc_v2)(pointer, bytes) : CUDA_SUCCESS;
}

Error cudaMallocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
    return SASSEMU_CU(cuMemAllocManaged)(pointer, bytes, flags);
}

Error cudaMallocPitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height) {
    if (pointer == nullptr || pitch == nullptr) return invalid_value;
    *pointer = 0;
    *pitch = 0;
    constexpr unsigned int widest_access = 16;
    if (width == 0 || height == 0) return success;
    return SASSEMU_CU(cuMemAllocPitch_v2)(pointer, pitch, width, height, widest_access);
}

Error cudaMalloc3D(PitchedPtr* out, Extent extent) {
    if (out == nullptr) return invalid_value;
    CUdeviceptr pointer = 0;
    size_t pitch = 0;
    if (const Error error =
            cudaMallocPitch(&pointer, &pitch, extent.width, extent.height * extent.depth))
        return error;
    *out = {reinterpret_cast<void*>(pointer), pitch, extent.width, extent.height};
    return success;
}

Error cudaFree(CUdeviceptr pointer) {
    return pointer != 0 ? SASSEMU_CU(cuMemFree_v2)(pointer) : CUDA_SUCCESS;
}

Error cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    if (pointer == nullptr) return invalid_value;
    *pointer = nullptr;
    return bytes != 0 ? SASSEMU_CU(cuMemHostAlloc)(pointer, bytes, flags) : CUDA_SUCCESS;
}

Error cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }

Error cudaFreeHost(void* pointer) {
    return pointer != nullptr ? SASSEMU_CU(cuMemFreeHost)(pointer) : CUDA_SUCCESS;
}

Error cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
    return SASSEMU_CU(cuMemHostRegister_v2)(pointer, bytes, flags);
}

Error cudaPointerGetAttributes(PointerAttributes* out, const void* pointer) {
    if (out == nullptr) return invalid_value;
    constexpr int unregistered = 0, managed = 3, no_device_at_all = -2;
    const auto get = [&](auto& value, int attribute) {
        return SASSEMU_CU(cuPointerGetAttribute)(&value, attribute, address(pointer));
    };
    unsigned int type = 0;
    int device = 0, is_managed = 0;
    CUdeviceptr on_device = 0;
    void* on_host = nullptr;
    const Error known = get(type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    if (known != success && known != invalid_value) return known;
    if (known == invalid_value) {
        out->type = unregistered;
        out->device = no_device_at_all;
        out->devicePointer = nullptr;
        out->hostPointer = const_cast<void*>(pointer);
        return success;
    }
    (void)get(is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
    (void)get(device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
    (void)get(on_device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
    (void)get(on_host, CU_POINTER_ATTRIBUTE_HOST_POINTER);
    out->type = is_managed != 0 ? managed : static_cast<int>(type);  // host 1, device 2
    out->device = device;
    out->devicePointer = reinterpret_cast<void*>(on_device);
    out->hostPointer = on_host;
    return success;
}

// Until CUDA 13 the place was a device, -1 the host.
static CUmemLocation location_of(int device) {
    constexpr int on_device = 1, on_host = 2;
    return device < 0 ? CUmemLocation{on_host, 0} : CUmemLocation{on_device, device};
}
Error cudaMemPrefetchAsync_abi12(CUdeviceptr pointer, size_t bytes, int device, CUstream stream) {
    return SASSEMU_CU(cuMemPrefetchAsync_v2)(pointer, bytes, location_of(device), 0,
                                             stream_of(stream));
}
Error cudaMemAdvise_abi12(CUdeviceptr pointer, size_t bytes, int advice, int device) {
    return SASSEMU_CU(cuMemAdvise_v2)(pointer, bytes, advice, location_of(device));
}

// ---- copies

Error cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
    return copy(to, from, bytes, kind, {});
}
Error cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, CUstream stream) {
    return copy(to, from, bytes, kind, {false, stream});
}

Error cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                          CUstream stream) {
    CUcontext to_context = nullptr, from_context = nullptr;
    if (const Error error = primary_context(to_device, to_context)) return error;
    if (const Error error = primary_context(from_device, from_context)) return error;
    return SASSEMU_CU(cuMemcpyPeerAsync)(address(to), to_context, address(from), from_context,
                                         bytes, stream_of(stream));
}
Error cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
    CUcontext to_context = nullptr, from_context = nullptr;
    if (const Error error = primary_context(to_device, to_context)) return error;
    if (const Error error = primary_context(from_device, from_context)) return error;
    return SASSEMU_CU(cuMemcpyPeer)(address(to), to_context, address(from), from_context, bytes);
}

Error cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                   size_t height, int kind) {
    return copy({nullptr, to, to_pitch}, {nullptr, from, from_pitch}, width, height, kind, {});
}
Error cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                        size_t width, size_t height, int kind, CUstream stream) {
    return copy({nullptr, to, to_pitch}, {nullptr, from, from_pitch}, width, height, kind,
                {false, stream});
}
Error cudaMemcpy2DToArray(CUarray to, size_t x, size_t y, const void* from, size_t pitch,
                          size_t width, size_t height, int kind) {
    return copy({to, nullptr, 0, x, y}, {nullptr, from, pitch}, width, height, kind, {});
}
Error cudaMemcpy2DToArrayAsync(CUarray to, size_t x, size_t y, const void* from, size_t pitch,
                               size_t width, size_t height, int kind, CUstream stream) {
    return copy({to, nullptr, 0, x, y}, {nullptr, from, pitch}, width, height, kind,
                {false, stream});
}
Error cudaMemcpy2DFromArray(void* to, size_t pitch, CUarray from, size_t x, size_t y, size_t width,
                            size_t height, int kind) {
    return copy({nullptr, to, pitch}, {from, nullptr, 0, x, y}, width, height, kind, {});
}
Error cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, CUarray from, size_t x, size_t y,
                                 size_t width, size_t height, int kind, CUstream stream) {
    return copy({nullptr, to, pitch}, {from, nullptr, 0, x, y}, width, height, kind,
                {false, stream});
}
Error cudaMemcpy2DArrayToArray(CUarray to, size_t to_x, size_t to_y, CUarray from, size_t from_x,
                               size_t from_y, size_t width, size_t height, int kind) {
    return copy({to, nullptr, 0, to_x, to_y}, {from, nullptr, 0, from_x, from_y}, width, height,
                kind, {});
}
Error cudaMemcpyToArray(CUarray to, size_t x, size_t y, const void* from, size_t bytes, int kind) {
    return copy_to_array(to, x, y, from, bytes, kind, {});
}
Error cudaMemcpyToArrayAsync(CUarray to, size_t x, size_t y, const void* from, size_t bytes,
                             int kind, CUstream stream) {
    return copy_to_array(to, x, y, from, bytes, kind, {false, stream});
}
Error cudaMemcpyFromArray(void* to, CUarray from, size_t x, size_t y, size_t bytes, int kind) {
    return copy_from_array(to, from, x, y, bytes, kind, {});
}
Error cudaMemcpyFromArrayAsync(void* to, CUarray from, size_t x, size_t y, size_t bytes, int kind,
                               CUstream stream) {
    return copy_from_array(to, from, x, y, bytes, kind, {false, stream});
}
// Rows of both, as far as they go at once.
Error cudaMemcpyArrayToArray(CUarray to, size_t to_x, size_t to_y, CUarray from, size_t from_x,
                             size_t from_y, size_t bytes, int kind) {
    return in_rows(
        from, from_x, from_y, bytes, [&](size_t fx, size_t fy, size_t done, size_t w, size_t h) {
            for (size_t row = 0; row < h; ++row) {
                // What is done lies before this place in the other array too.
                size_t column = 0;
                const Error error =
                    in_rows(to, to_x, to_y, done + (row + 1) * w,
                            [&](size_t tx, size_t ty, size_t at, size_t tw, size_t th) -> Error {
                                const size_t begin = done + row * w + column;
                                if (column == w || at + tw * th <= begin) return success;
                                const size_t inside = begin - at;
                                const size_t x = tx + inside % tw, y = ty + inside / tw;
                                const size_t n = std::min(w - column, tw - inside % tw);
                                const Error one =
                                    copy({to, nullptr, 0, x, y},
                                         {from, nullptr, 0, fx + column, fy + row}, n, 1, kind, {});
                                column += n;
                                return one;
                            });
                if (error != success) return error;
            }
            return static_cast<Error>(success);
        });
}
Error cudaMemcpy3D(const Copy3D* c) { return copy3d(c, {}); }
Error cudaMemcpy3DAsync(const Copy3D* c, CUstream stream) { return copy3d(c, {false, stream}); }
Error cudaMemcpy3DPeer(const PeerCopy3D* p) { return copy_peer(p, {}); }
Error cudaMemcpy3DPeerAsync(const PeerCopy3D* p, CUstream stream) {
    return copy_peer(p, {false, stream});
}
Error cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                         int kind) {
    return copy_to_symbol(symbol, from, bytes, offset, kind, {});
}
Error cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                              int kind, CUstream stream) {
    return copy_to_symbol(symbol, from, bytes, offset, kind, {false, stream});
}
Error cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, int kind) {
    return copy_from_symbol(to, symbol, bytes, offset, kind, {});
}
Error cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, int kind,
                                CUstream stream) {
    return copy_from_symbol(to, symbol, bytes, offset, kind, {false, stream});
}
// The order of the stream is more than the attributes ask for.
Error cudaMemcpyBatchAsync_abi13(void* const* to, const void* const* from, const size_t* bytes,
                                 size_t count, CUmemcpyAttributes* attributes, size_t*, size_t,
                                 CUstream stream) {
    if (to == nullptr || from == nullptr || bytes == nullptr || count == 0 ||
        attributes == nullptr || stream_of(stream) == nullptr)
        return invalid_value;
    for (size_t i = 0; i < count; ++i)
        if (const Error error = copy(to[i], from[i], bytes[i], 4, {false, stream})) return error;
    return success;
}

// ---- fills

Error cudaMemset(CUdeviceptr to, int value, size_t bytes) { return fill(to, value, bytes, {}); }
Error cudaMemsetAsync(CUdeviceptr to, int value, size_t bytes, CUstream stream) {
    return fill(to, value, bytes, {false, stream});
}
Error cudaMemset2D(CUdeviceptr to, size_t pitch, int value, size_t width, size_t height) {
    return fill(to, pitch, value, width, height, {});
}
Error cudaMemset2DAsync(CUdeviceptr to, size_t pitch, int value, size_t width, size_t height,
                        CUstream stream) {
    return fill(to, pitch, value, width, height, {false, stream});
}
Error cudaMemset3D(PitchedPtr to, int value, Extent extent) { return fill(to, value, extent, {}); }
Error cudaMemset3DAsync(PitchedPtr to, int value, Extent extent, CUstream stream) {
    return fill(to, value, extent, {false, stream});
}

}  // namespace sassemu::runtime
