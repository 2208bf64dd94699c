// SPDX-License-Identifier: Apache-2.0
// Copies and fills of all forms: each becomes a box of rows that is put into a stream.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "emu/driver/array.hpp"
#include "emu/driver/operation.hpp"

namespace sassemu::driver {

namespace {

// Which stream a copy goes into, and whether the caller waits.
struct How {
    CUstream stream = nullptr;
    bool waits = true;
};

// Whether the program has a page there.
bool is_mapped(uint64_t address) {
    unsigned char in_core = 0;
    return !::mincore(reinterpret_cast<void*>(address / 4096 * 4096), 4096, &in_core);
}

// One side of a copy, and whether it is memory that a GPU knows.
CUresult side_of(uint64_t address, uint64_t bytes, bool host, CopySide& out) {
    out = {};
    out.address = address;
    if (!bytes) return CUDA_SUCCESS;
    Driver& d = Driver::get();
    SASSEMU_CUDA(d.start());
    uint64_t begin = 0;
    Driver::Range range;
    if (d.find_range(address, bytes, begin, range)) return CUDA_SUCCESS;
    if (d.machine().host_pointer(address, bytes)) return CUDA_SUCCESS;
    // Part of something that a GPU knows, and more: too long.
    if (d.find_range(address, 1, begin, range) && range.kind != Driver::Range::Kind::registered)
        return CUDA_ERROR_INVALID_VALUE;
    out.own = true;
    constexpr uint64_t top = uint64_t{1} << 47;
    if (!host || address >= top || bytes > top - address) return CUDA_ERROR_INVALID_VALUE;
    return is_mapped(address) && is_mapped(address + bytes - 1) ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
}

CUresult put_copy(const BoxCopy& box, How how) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(find_stream(how.stream, context, stream));
    const bool own = box.to.own || box.from.own;
    const bool captured = capturing(*stream);
    if (captured && how.waits) {
        const std::lock_guard guard(stream->mutex);
        stream->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (!box.width || !box.height || !box.depth) return CUDA_SUCCESS;
    Machine& machine = Driver::get().machine();
    if (how.waits && box.height * box.depth == 1 && own && machine.idle()) {
        // Nothing is in flight: at once, without a stream.
        const auto done =
            box.to.own
                ? machine.read(box.from.address,
                               {reinterpret_cast<std::byte*>(box.to.address), box.width})
                : machine.write(box.to.address,
                                {reinterpret_cast<const std::byte*>(box.from.address), box.width});
        if (box.to.own != box.from.own)
            return done ? context->error.load() : refused("copy", done.error());
    }
    SASSEMU_CUDA(submit(context, *stream, box, CU_GRAPH_NODE_TYPE_MEMCPY));
    // Pageable memory is the program's again when the call returns.
    if (captured || (!how.waits && !own)) return CUDA_SUCCESS;
    return waited(context, machine.synchronize(stream->id));
}

CUresult copy_bytes(uint64_t to, bool to_host, uint64_t from, bool from_host, size_t bytes,
                    How how) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    BoxCopy box;
    box.width = bytes;
    SASSEMU_CUDA(side_of(to, bytes, to_host, box.to));
    SASSEMU_CUDA(side_of(from, bytes, from_host, box.from));
    return put_copy(box, how);
}

uint64_t as_number(const void* p) { return reinterpret_cast<uint64_t>(p); }

// A side of a 2D or 3D copy.
struct Place {
    size_t x, y, z, level;
    CUmemorytype type;
    const void* host;
    CUdeviceptr device;
    CUarray array;
    size_t pitch, height;
};

CUresult side_of(const Place& p, uint64_t width, uint64_t height, uint64_t depth, CopySide& out) {
    uint64_t base = 0, pitch = p.pitch, rows = p.height;
    bool host = false;
    switch (p.type) {
        case CU_MEMORYTYPE_HOST:
            base = as_number(p.host);
            host = true;
            break;
        case CU_MEMORYTYPE_UNIFIED:
            host = true;
            [[fallthrough]];
        case CU_MEMORYTYPE_DEVICE:
            base = p.device;
            break;
        case CU_MEMORYTYPE_ARRAY: {
            const auto array = Driver::get().arrays.find(bits(p.array));
            if (!array) return CUDA_ERROR_INVALID_HANDLE;
            if (p.x + width > array->row() || p.y + height > array->rows() ||
                p.z + depth > array->slices())
                return CUDA_ERROR_INVALID_VALUE;
            base = array->address;
            pitch = array->row();
            rows = array->rows();
            break;
        }
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    constexpr uint64_t most = uint64_t{1} << 40;
    if (!pitch) pitch = p.x + width;
    if (!rows) rows = p.y + height;
    if (pitch < width || pitch > most || rows > most || p.x > most || p.y > most || p.z > most ||
        pitch * rows > most * 16)
        return CUDA_ERROR_INVALID_VALUE;
    const uint64_t slice = pitch * rows;
    const uint64_t begin = base + p.z * slice + p.y * pitch + p.x;
    const uint64_t end = begin + (depth - 1) * slice + (height - 1) * pitch + width;
    SASSEMU_CUDA(side_of(begin, end - begin, host, out));
    out.pitch = pitch;
    out.slice = slice;
    return CUDA_SUCCESS;
}

CUresult copy_box(const Place& to, const Place& from, size_t width, size_t height, size_t depth,
                  BoxCopy& box) {
    constexpr size_t most = size_t{1} << 40;
    if (width > most || height > most || depth > most) return CUDA_ERROR_INVALID_VALUE;
    if (to.level || from.level) return CUDA_ERROR_INVALID_VALUE;
    box.width = width;
    box.height = height;
    box.depth = depth;
    if (!width || !height || !depth) return CUDA_SUCCESS;
    SASSEMU_CUDA(side_of(to, width, height, depth, box.to));
    return side_of(from, width, height, depth, box.from);
}

template <class T>
Place to_of(const T& c) {
    return {c.dstXInBytes, c.dstY,      c.dstZ,     c.dstLOD,   c.dstMemoryType,
            c.dstHost,     c.dstDevice, c.dstArray, c.dstPitch, c.dstHeight};
}
template <class T>
Place from_of(const T& c) {
    return {c.srcXInBytes, c.srcY,      c.srcZ,     c.srcLOD,   c.srcMemoryType,
            c.srcHost,     c.srcDevice, c.srcArray, c.srcPitch, c.srcHeight};
}

template <class T>
CUresult copy_3d(const T* c, How how) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    BoxCopy box;
    SASSEMU_CUDA(copy_box(to_of(*c), from_of(*c), c->WidthInBytes, c->Height, c->Depth, box));
    return put_copy(box, how);
}

CUresult copy_2d(const CUDA_MEMCPY2D* c, How how) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    BoxCopy box;
    const Place to{c->dstXInBytes, c->dstY,      0,           0,           c->dstMemoryType,
                   c->dstHost,     c->dstDevice, c->dstArray, c->dstPitch, 0};
    const Place from{c->srcXInBytes, c->srcY,      0,           0,           c->srcMemoryType,
                     c->srcHost,     c->srcDevice, c->srcArray, c->srcPitch, 0};
    SASSEMU_CUDA(copy_box(to, from, c->WidthInBytes, c->Height, 1, box));
    return put_copy(box, how);
}

CUresult fill(CUdeviceptr address, size_t pitch, unsigned value, unsigned element, size_t width,
              size_t height, CUstream handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(find_stream(handle, context, stream));
    if (address % element || (height > 1 && pitch % element)) return CUDA_ERROR_INVALID_VALUE;
    if (width > (size_t{1} << 40) || height > (size_t{1} << 40)) return CUDA_ERROR_INVALID_VALUE;
    const RowFill rows{address, pitch, width * element, height, value, element};
    if (!width || !height) return CUDA_SUCCESS;
    if (height > 1 && pitch < rows.width) return CUDA_ERROR_INVALID_VALUE;
    const uint64_t all = (height - 1) * pitch + rows.width;
    CopySide side;
    SASSEMU_CUDA(side_of(address, all, false, side));
    return submit(context, *stream, rows, CU_GRAPH_NODE_TYPE_MEMSET);
}

constexpr How at_once{nullptr, true};
How in(CUstream stream) { return {stream, false}; }

// Texels of an array as plain bytes from `offset` on.
CUresult in_array(CUarray handle, size_t offset, size_t bytes, uint64_t& address) {
    const auto array = Driver::get().arrays.find(bits(handle));
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    if (offset > array->row() * array->rows() || bytes > array->row() * array->rows() - offset)
        return CUDA_ERROR_INVALID_VALUE;
    address = array->address + offset;
    return CUDA_SUCCESS;
}

}  // namespace

CUresult box_of(const CUDA_MEMCPY3D& c, BoxCopy& box) {
    return copy_box(to_of(c), from_of(c), c.WidthInBytes, c.Height, c.Depth, box);
}

}  // namespace sassemu::driver

namespace sassemu::driver::api {

// ---- bytes

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_bytes(to, true, from, true, bytes, at_once);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
    return copy_bytes(to, true, from, true, bytes, in(s));
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return copy_bytes(to, false, as_number(from), true, bytes, at_once);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return copy_bytes(as_number(to), true, from, false, bytes, at_once);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy_bytes(to, false, from, false, bytes, in(nullptr));
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream s) {
    return copy_bytes(to, false, as_number(from), true, bytes, in(s));
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream s) {
    return copy_bytes(as_number(to), true, from, false, bytes, in(s));
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
    return copy_bytes(to, false, from, false, bytes, in(s));
}
static CUresult both(CUcontext one, CUcontext other) {
    Driver& d = Driver::get();
    return d.contexts.find(bits(one)) && d.contexts.find(bits(other)) ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
                      size_t bytes) {
    SASSEMU_CUDA(both(there, here));
    return copy_bytes(to, false, from, false, bytes, at_once);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
                           size_t bytes, CUstream s) {
    SASSEMU_CUDA(both(there, here));
    return copy_bytes(to, false, from, false, bytes, in(s));
}
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                               CUmemcpyAttributes*, size_t*, size_t, CUstream s) {
    for (size_t i = 0; i < count; ++i)
        SASSEMU_CUDA(copy_bytes(to[i], true, from[i], true, bytes[i], in(s)));
    return CUDA_SUCCESS;
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray array, size_t offset, size_t bytes) {
    uint64_t from = 0;
    SASSEMU_CUDA(in_array(array, offset, bytes, from));
    return copy_bytes(as_number(to), true, from, false, bytes, at_once);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray array, size_t offset, size_t bytes, CUstream s) {
    uint64_t from = 0;
    SASSEMU_CUDA(in_array(array, offset, bytes, from));
    return copy_bytes(as_number(to), true, from, false, bytes, in(s));
}
CUresult cuMemcpyHtoA_v2(CUarray array, size_t offset, const void* from, size_t bytes) {
    uint64_t to = 0;
    SASSEMU_CUDA(in_array(array, offset, bytes, to));
    return copy_bytes(to, false, as_number(from), true, bytes, at_once);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray array, size_t offset, const void* from, size_t bytes,
                              CUstream s) {
    uint64_t to = 0;
    SASSEMU_CUDA(in_array(array, offset, bytes, to));
    return copy_bytes(to, false, as_number(from), true, bytes, in(s));
}
CUresult cuMemcpyDtoA_v2(CUarray array, size_t offset, CUdeviceptr from, size_t bytes) {
    uint64_t to = 0;
    SASSEMU_CUDA(in_array(array, offset, bytes, to));
    return copy_bytes(to, false, from, false, bytes, at_once);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray array, size_t offset, size_t bytes) {
    uint64_t from = 0;
    SASSEMU_CUDA(in_array(array, offset, bytes, from));
    return copy_bytes(to, false, from, false, bytes, at_once);
}
CUresult cuMemcpyAtoA_v2(CUarray to_array, size_t to_offset, CUarray array, size_t offset,
                         size_t bytes) {
    uint64_t from = 0, to = 0;
    SASSEMU_CUDA(in_array(array, offset, bytes, from));
    SASSEMU_CUDA(in_array(to_array, to_offset, bytes, to));
    return copy_bytes(to, false, from, false, bytes, at_once);
}

// ---- boxes

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* c) { return copy_2d(c, at_once); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* c) { return copy_2d(c, at_once); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* c, CUstream s) { return copy_2d(c, in(s)); }
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* c) { return copy_3d(c, at_once); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* c, CUstream s) { return copy_3d(c, in(s)); }
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* c) { return copy_3d(c, at_once); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* c, CUstream s) { return copy_3d(c, in(s)); }

// ---- fills

CUresult cuMemsetD8_v2(CUdeviceptr a, unsigned char v, size_t n) {
    return fill(a, 0, v, 1, n, 1, nullptr);
}
CUresult cuMemsetD16_v2(CUdeviceptr a, unsigned short v, size_t n) {
    return fill(a, 0, v, 2, n, 1, nullptr);
}
CUresult cuMemsetD32_v2(CUdeviceptr a, unsigned int v, size_t n) {
    return fill(a, 0, v, 4, n, 1, nullptr);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr a, size_t pitch, unsigned char v, size_t w, size_t h) {
    return fill(a, pitch, v, 1, w, h, nullptr);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr a, size_t pitch, unsigned short v, size_t w, size_t h) {
    return fill(a, pitch, v, 2, w, h, nullptr);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr a, size_t pitch, unsigned int v, size_t w, size_t h) {
    return fill(a, pitch, v, 4, w, h, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr a, unsigned char v, size_t n, CUstream s) {
    return fill(a, 0, v, 1, n, 1, s);
}
CUresult cuMemsetD16Async(CUdeviceptr a, unsigned short v, size_t n, CUstream s) {
    return fill(a, 0, v, 2, n, 1, s);
}
CUresult cuMemsetD32Async(CUdeviceptr a, unsigned int v, size_t n, CUstream s) {
    return fill(a, 0, v, 4, n, 1, s);
}
CUresult cuMemsetD2D8Async(CUdeviceptr a, size_t pitch, unsigned char v, size_t w, size_t h,
                           CUstream s) {
    return fill(a, pitch, v, 1, w, h, s);
}
CUresult cuMemsetD2D16Async(CUdeviceptr a, size_t pitch, unsigned short v, size_t w, size_t h,
                            CUstream s) {
    return fill(a, pitch, v, 2, w, h, s);
}
CUresult cuMemsetD2D32Async(CUdeviceptr a, size_t pitch, unsigned int v, size_t w, size_t h,
                            CUstream s) {
    return fill(a, pitch, v, 4, w, h, s);
}

}  // namespace sassemu::driver::api
