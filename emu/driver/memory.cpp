// SPDX-License-Identifier: Apache-2.0
// Memory: allocating, freeing, registering, what a pointer is, pools.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "emu/driver/operation.hpp"

namespace sassemu::driver {

using Range = Driver::Range;

// Of stream-ordered allocations. What is freed goes back at once, so that nothing is ever kept.
struct Pool {
    uint32_t device = 0;
    CUmemPoolProps props{};
    std::mutex mutex;
    uint64_t values[16] = {0, 1, 1, 1};
    bool of_device = false;
};

namespace {

constexpr uint64_t device_bytes = uint64_t{141} << 30;

CUresult allocate(const std::shared_ptr<Context>& context, size_t bytes, CUmemoryPool pool,
                  CUdeviceptr* out) {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    Driver& d = Driver::get();
    {
        const std::shared_lock guard(d.ranges_mutex);
        if (bytes > device_bytes || d.device_bytes_used + bytes > device_bytes * d.count())
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const auto address = d.gpu(context->device).allocate(bytes, "memory of the program");
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    d.add_range(*address, {bytes, Range::Kind::device, context->device, 0, 0, context, pool});
    *out = *address;
    return CUDA_SUCCESS;
}

// Memory of the host's own that GPUs reach at the same address, with room behind it for vector
// loads that begin inside.
CUresult allocate_host(size_t bytes, Range range, const char* name, void** out) {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > (uint64_t{1} << 40)) return CUDA_ERROR_OUT_OF_MEMORY;
    const size_t mapped = (bytes + 4095) / 4096 * 4096 + 4096;
    void* const at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    if (bytes >= (4 << 20)) ::madvise(at, mapped, MADV_HUGEPAGE);
    const auto adopted =
        Driver::get().machine().adopt_host(static_cast<std::byte*>(at), bytes, name);
    if (!adopted) {
        ::munmap(at, mapped);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    range.bytes = bytes;
    Driver::get().add_range(*adopted, std::move(range));
    *out = at;
    return CUDA_SUCCESS;
}

CUmemoryPool default_pool(uint32_t device) {
    static std::mutex mutex;
    static auto& pools = *new std::map<uint32_t, CUmemoryPool>;
    const std::lock_guard guard(mutex);
    CUmemoryPool& pool = pools[device];
    if (!pool) {
        auto made = std::make_shared<Pool>();
        made->device = device;
        made->of_device = true;
        pool = as_handle<CUmemoryPool>(Driver::get().pools.add(std::move(made)));
    }
    return pool;
}
std::map<CUdevice, CUmemoryPool>& chosen_pools() {
    static auto& pools = *new std::map<CUdevice, CUmemoryPool>;
    return pools;
}
CUresult pool_of(CUmemoryPool handle, std::shared_ptr<Pool>& out) {
    out = Driver::get().pools.find(bits(handle));
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
bool is_device(CUdevice device) {
    return device >= 0 && static_cast<uint32_t>(device) < Driver::get().count();
}

// What is not of cuMemAlloc and the like: a variable of a module, say.
bool of_machine(CUdeviceptr address) {
    Driver& d = Driver::get();
    return d.start() == CUDA_SUCCESS && d.machine().host_pointer(address, 1);
}

template <class T>
CUresult give(void* to, T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    std::memcpy(to, bytes.data(), bytes.size());
    return CUDA_SUCCESS;
}

CUresult pointer_attribute(void* value, CUpointer_attribute which, CUdeviceptr address,
                           bool lenient) {
    uint64_t begin = 0;
    Range range;
    const bool known = Driver::get().find_range(address, 1, begin, range);
    const bool module = !known && of_machine(address);
    if (!known && !module) {
        if (lenient) {
            // Nothing of CUDA's: zeros, and -2 for a device.
            if (which == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) return give(value, int{-2});
            const bool wide = which <= CU_POINTER_ATTRIBUTE_HOST_POINTER &&
                              which != CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
            return wide ? give(value, uint64_t{0}) : give(value, uint32_t{0});
        }
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (module) begin = address;
    const bool host = known && range.kind != Range::Kind::device;
    const auto context = range.context.lock();
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return give(value, context ? context->handle : nullptr);
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return give(
                value, unsigned{host && range.kind != Range::Kind::managed ? CU_MEMORYTYPE_HOST
                                                                           : CU_MEMORYTYPE_DEVICE});
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return give(value, address);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            if (!host) return CUDA_ERROR_INVALID_VALUE;
            return give(value, address);
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return give(value, int{0});
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            return give(value, range.id);
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return give(value, unsigned{known && range.kind == Range::Kind::managed});
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return give(value, static_cast<int>(range.device));
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            return give(value, int{0});
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
            return give(value, begin);
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
            return give(value, size_t{range.bytes});
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return give(value, int{1});
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return give(value, uint64_t{0});
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return give(value, int{3});
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return give(value, range.pool);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // namespace

}  // namespace sassemu::driver

namespace sassemu::driver::api {

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    const std::shared_lock guard(Driver::get().ranges_mutex);
    *total = device_bytes;
    *free = device_bytes - std::min(device_bytes, Driver::get().device_bytes_used);
    return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    return allocate(context, bytes, nullptr, out);
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height,
                            unsigned int element) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
    if (!width || !height || width > (size_t{1} << 40)) return CUDA_ERROR_INVALID_VALUE;
    const size_t row = (width + 511) / 512 * 512;
    if (height > (size_t{1} << 41) / row) return CUDA_ERROR_OUT_OF_MEMORY;
    SASSEMU_CUDA(allocate(context, row * height, nullptr, out));
    *pitch = row;
    return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (!address) return CUDA_SUCCESS;
    uint64_t begin = 0;
    Range range;
    if (!Driver::get().find_range(address, 1, begin, range) || begin != address ||
        (range.kind != Range::Kind::device && range.kind != Range::Kind::managed))
        return CUDA_ERROR_INVALID_VALUE;
    // Freeing waits for what uses the memory, as the driver does.
    SASSEMU_CUDA(waited(context, Driver::get().machine().synchronize()));
    return free_memory(address);
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    uint64_t at = 0;
    Range range;
    if (!Driver::get().find_range(address, 1, at, range)) return CUDA_ERROR_NOT_FOUND;
    if (begin) *begin = at;
    if (bytes) *bytes = range.bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned int flags) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (flags & ~7u) return CUDA_ERROR_INVALID_VALUE;
    return allocate_host(bytes,
                         {0, Range::Kind::pinned, context->device, flags, 0, context, nullptr},
                         "pinned memory of the program", out);
}
CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
    return api::cuMemHostAlloc(out, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
}
CUresult cuMemFreeHost(void* address) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (!address) return CUDA_SUCCESS;
    uint64_t begin = 0;
    Range range;
    const auto at = reinterpret_cast<uint64_t>(address);
    if (!Driver::get().find_range(at, 1, begin, range) || begin != at ||
        range.kind != Range::Kind::pinned)
        return CUDA_ERROR_INVALID_VALUE;
    SASSEMU_CUDA(waited(context, Driver::get().machine().synchronize()));
    return free_memory(at);
}
CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned int flags) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (!address || !bytes || flags & ~15u) return CUDA_ERROR_INVALID_VALUE;
    const auto at = reinterpret_cast<uint64_t>(address);
    if (at + bytes < at || at + bytes > (uint64_t{1} << 47)) return CUDA_ERROR_INVALID_VALUE;
    // All of it is there, or nothing is registered.
    const uint64_t first = at / 4096 * 4096, last = (at + bytes + 4095) / 4096 * 4096;
    std::vector<unsigned char> pages(256);
    for (uint64_t page = first; page < last; page += 256 * 4096)
        if (::mincore(reinterpret_cast<void*>(page), std::min<uint64_t>(last - page, 256 * 4096),
                      pages.data()))
            return CUDA_ERROR_INVALID_VALUE;
    // Vector loads of a kernel may look at 64 bytes behind it.
    (void)::mmap(reinterpret_cast<void*>(last), 4096, PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    uint64_t begin = 0;
    Range range;
    if (Driver::get().find_range(at, 1, begin, range))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    const auto adopted = Driver::get().machine().adopt_host(static_cast<std::byte*>(address), bytes,
                                                            "registered memory of the program");
    if (!adopted) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    Driver::get().add_range(
        at, {bytes, Range::Kind::registered, context->device, flags, 0, context, nullptr});
    return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* address) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    uint64_t begin = 0;
    Range range;
    const auto at = reinterpret_cast<uint64_t>(address);
    if (!Driver::get().find_range(at, 1, begin, range) || begin != at ||
        range.kind != Range::Kind::registered)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    SASSEMU_CUDA(waited(context, Driver::get().machine().synchronize()));
    return free_memory(at);
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* address, unsigned int flags) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    uint64_t begin = 0;
    Range range;
    const auto at = reinterpret_cast<uint64_t>(address);
    if (flags || !Driver::get().find_range(at, 1, begin, range) ||
        range.kind == Range::Kind::device)
        return CUDA_ERROR_INVALID_VALUE;
    *out = at;
    return CUDA_SUCCESS;
}
CUresult cuMemHostGetFlags(unsigned int* flags, void* address) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    uint64_t begin = 0;
    Range range;
    if (!Driver::get().find_range(reinterpret_cast<uint64_t>(address), 1, begin, range) ||
        range.kind != Range::Kind::pinned)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = range.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned int flags) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    void* at = nullptr;
    SASSEMU_CUDA(
        allocate_host(bytes, {0, Range::Kind::managed, context->device, flags, 0, context, nullptr},
                      "managed memory of the program", &at));
    *out = reinterpret_cast<uint64_t>(at);
    return CUDA_SUCCESS;
}

// ---- hints: memory stays where it is

static CUresult hinted(CUdeviceptr address, size_t bytes) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    uint64_t begin = 0;
    Range range;
    return bytes && Driver::get().find_range(address, bytes, begin, range)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned int flags,
                               CUstream handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(find_stream(handle, context, stream));
    return flags ? CUDA_ERROR_INVALID_VALUE : hinted(address, bytes);
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream handle) {
    if (device != -1 && !is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return api::cuMemPrefetchAsync_v2(address, bytes, {}, 0, handle);
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation) {
    if (advice < 1 || advice > 6) return CUDA_ERROR_INVALID_VALUE;
    return hinted(address, bytes);
}
CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
    if (device != -1 && !is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    return api::cuMemAdvise_v2(address, bytes, advice, {});
}

// ---- what a pointer is

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
    return pointer_attribute(value, which, address, false);
}
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* which, void** values,
                                CUdeviceptr address) {
    for (unsigned i = 0; i < count; ++i) {
        if (!values[i]) return CUDA_ERROR_INVALID_VALUE;
        const CUresult why = pointer_attribute(values[i], which[i], address, true);
        // Of a pointer that has it not: zero.
        if (why != CUDA_SUCCESS && which[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
            (void)give(values[i], uint64_t{0});
        else if (why != CUDA_SUCCESS)
            return why;
    }
    return CUDA_SUCCESS;
}
CUresult cuPointerSetAttribute(const void*, CUpointer_attribute which, CUdeviceptr address) {
    if (which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    return hinted(address, 1);
}

// ---- in the order of a stream

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool handle,
                                 CUstream stream_handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(find_stream(stream_handle, context, stream));
    std::shared_ptr<Pool> pool;
    SASSEMU_CUDA(pool_of(handle, pool));
    return allocate(context, bytes, handle, out);
}
CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream stream) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    return api::cuMemAllocFromPoolAsync(out, bytes, default_pool(context->device), stream);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(find_stream(handle, context, stream));
    if (!address) return CUDA_SUCCESS;
    uint64_t begin = 0;
    Range range;
    if (!Driver::get().find_range(address, 1, begin, range) || begin != address ||
        range.kind != Range::Kind::device)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(context, *stream, FreeOperation{address}, CU_GRAPH_NODE_TYPE_MEM_FREE);
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *out = default_pool(static_cast<uint32_t>(device));
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard guard(Driver::get().mutex);
    const auto chosen = chosen_pools().find(device);
    *out = chosen == chosen_pools().end() ? default_pool(static_cast<uint32_t>(device))
                                          : chosen->second;
    return CUDA_SUCCESS;
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    std::shared_ptr<Pool> pool;
    SASSEMU_CUDA(pool_of(handle, pool));
    if (pool->device != static_cast<uint32_t>(device)) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(Driver::get().mutex);
    chosen_pools()[device] = handle;
    return CUDA_SUCCESS;
}
CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* props) {
    if (props->allocType != 1 || props->location.type != 1) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(props->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    if (props->handleTypes) return CUDA_ERROR_NOT_SUPPORTED;
    auto pool = std::make_shared<Pool>();
    pool->device = static_cast<uint32_t>(props->location.id);
    pool->props = *props;
    *out = as_handle<CUmemoryPool>(Driver::get().pools.add(std::move(pool)));
    return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    std::shared_ptr<Pool> pool;
    SASSEMU_CUDA(pool_of(handle, pool));
    if (pool->of_device) return CUDA_ERROR_INVALID_VALUE;
    Driver::get().pools.take(bits(handle));
    return CUDA_SUCCESS;
}
CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
    std::shared_ptr<Pool> pool;
    return pool_of(handle, pool);
}
CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute which, void* value) {
    std::shared_ptr<Pool> pool;
    SASSEMU_CUDA(pool_of(handle, pool));
    const std::lock_guard guard(pool->mutex);
    if (which >= 1 && which <= 3) {
        int small = 0;
        std::memcpy(&small, value, sizeof small);
        pool->values[which] = static_cast<uint64_t>(small != 0);
    } else if (which == 4 || which == 6 || which == 8) {
        if (which == 4) std::memcpy(&pool->values[which], value, 8);
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute which, void* value) {
    std::shared_ptr<Pool> pool;
    SASSEMU_CUDA(pool_of(handle, pool));
    if (which >= 5 && which <= 8) {
        uint64_t used = 0;
        const std::shared_lock guard(Driver::get().ranges_mutex);
        for (const auto& [address, range] : Driver::get().ranges)
            if (range.pool == handle) used += range.bytes;
        return give(value, used);
    }
    const std::lock_guard guard(pool->mutex);
    if (which >= 1 && which <= 3) return give(value, static_cast<int>(pool->values[which]));
    if (which == 4) return give(value, pool->values[4]);
    return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* access, size_t count) {
    std::shared_ptr<Pool> pool;
    SASSEMU_CUDA(pool_of(handle, pool));
    SASSEMU_CUDA(Driver::get().start());
    for (size_t i = 0; i < count; ++i) {
        if (access[i].location.type != 1 || !is_device(access[i].location.id))
            return CUDA_ERROR_INVALID_VALUE;
        if (static_cast<uint32_t>(access[i].location.id) != pool->device && access[i].flags)
            (void)Driver::get().machine().peer_access(static_cast<uint32_t>(access[i].location.id),
                                                      pool->device, true);
    }
    return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                            CUmemLocation* location) {
    std::shared_ptr<Pool> pool;
    SASSEMU_CUDA(pool_of(handle, pool));
    if (location->type != 1 || !is_device(location->id)) return CUDA_ERROR_INVALID_VALUE;
    *flags = static_cast<uint32_t>(location->id) == pool->device ? 3 : 0;
    return CUDA_SUCCESS;
}

}  // namespace sassemu::driver::api
