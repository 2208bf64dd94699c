// SPDX-License-Identifier: Apache-2.0
// Primary and other contexts, the calling thread's stack of them, limits, peers.
#include "emu/driver/driver.hpp"

namespace sassemu::driver {

namespace {

bool is_device(CUdevice device) {
    return device >= 0 && static_cast<uint32_t>(device) < Driver::get().count();
}

CUresult make_current(uint32_t device, unsigned flags, CUcontext* out) {
    SASSEMU_CUDA(Driver::get().start());
    *out = Driver::get().make_context(device, flags, false)->handle;
    context_stack.push_back(*out);
    return CUDA_SUCCESS;
}

// The context of a handle; null: of the calling thread.
CUresult context_of(CUcontext handle, std::shared_ptr<Context>& out) {
    if (!handle) return current(out);
    out = Driver::get().contexts.find(bits(handle));
    return out ? out->error.load() : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

}  // namespace sassemu::driver

namespace sassemu::driver::api {

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    Driver& d = Driver::get();
    SASSEMU_CUDA(d.start());
    const std::lock_guard guard(d.mutex);
    Device& primary = d.devices[device];
    if (!primary.primary)
        primary.primary =
            d.make_context(static_cast<uint32_t>(device), primary.flags, true)->handle;
    ++primary.retained;
    *out = primary.primary;
    return CUDA_SUCCESS;
}
static CUresult end_primary(CUdevice device, bool all) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    Driver& d = Driver::get();
    std::shared_ptr<Context> gone;
    {
        const std::lock_guard guard(d.mutex);
        Device& primary = d.devices[device];
        if (!primary.primary) return all ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
        if (!all && --primary.retained) return CUDA_SUCCESS;
        primary.retained = 0;
        gone = d.contexts.find(bits(primary.primary));
        primary.primary = nullptr;
    }
    if (gone) d.destroy(gone);
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return end_primary(device, false); }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) { return end_primary(device, true); }
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
    Driver& d = Driver::get();
    const std::lock_guard guard(d.mutex);
    d.devices[device].flags = flags;
    if (const auto context = d.contexts.find(bits(d.devices[device].primary)))
        context->flags = flags;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    Driver& d = Driver::get();
    const std::lock_guard guard(d.mutex);
    *flags = d.devices[device].flags;
    *active = d.devices[device].primary != nullptr;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* out, unsigned int flags, CUdevice device) {
    if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
    return make_current(static_cast<uint32_t>(device), flags, out);
}
CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* how, unsigned int flags,
                        CUdevice device) {
    if (how && (how->numExecAffinityParams || how->cigParams)) return CUDA_ERROR_NOT_SUPPORTED;
    return api::cuCtxCreate_v2(out, flags, device);
}
CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam*, int count, unsigned int flags,
                        CUdevice device) {
    if (count) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return api::cuCtxCreate_v2(out, flags, device);
}
CUresult cuCtxDestroy_v2(CUcontext handle) {
    const auto context = Driver::get().contexts.find(bits(handle));
    if (!context || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context_stack.empty() && context_stack.back() == handle) context_stack.pop_back();
    Driver::get().destroy(context);
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    if (!Driver::get().contexts.find(bits(handle))) return CUDA_ERROR_INVALID_CONTEXT;
    context_stack.push_back(handle);
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* out) {
    if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (out) *out = context_stack.back();
    context_stack.pop_back();
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext handle) {
    if (handle && !Driver::get().contexts.find(bits(handle))) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context_stack.empty()) context_stack.pop_back();
    if (handle) context_stack.push_back(handle);
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* out) {
    *out = context_stack.empty() ? nullptr : context_stack.back();
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    *out = static_cast<CUdevice>(context->device);
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice_v2(CUdevice* out, CUcontext handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(context_of(handle, context));
    *out = static_cast<CUdevice>(context->device);
    return CUDA_SUCCESS;
}
CUresult cuCtxGetFlags(unsigned int* flags) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    *flags = context->flags;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetFlags(unsigned int flags) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
    context->flags = flags;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(context_of(handle, context));
    *id = bits(context->handle);
    return CUDA_SUCCESS;
}
CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(context_of(handle, context));
    *version = 3020;
    return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    return waited(context, Driver::get().machine().synchronize());
}
CUresult cuCtxSynchronize_v2(CUcontext handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(context_of(handle, context));
    return waited(context, Driver::get().machine().synchronize());
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (limit < 0 || limit >= CU_LIMIT_COUNT) return CUDA_ERROR_INVALID_VALUE;
    if (limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (limit == CU_LIMIT_STACK_SIZE) {
        if (value > (512 << 10)) return CUDA_ERROR_INVALID_VALUE;
        Driver::get().machine().set_stack(value);
    }
    context->limits[limit] = value;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (limit < 0 || limit >= CU_LIMIT_COUNT) return CUDA_ERROR_INVALID_VALUE;
    *value = context->limits[limit];
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCacheConfig(CUfunc_cache* out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    *out = context->cache;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (config < 0 || config > 3) return CUDA_ERROR_INVALID_VALUE;
    context->cache = config;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    *out = context->banks;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (config < 0 || config > 2) return CUDA_ERROR_INVALID_VALUE;
    context->banks = config;
    return CUDA_SUCCESS;
}
CUresult cuCtxResetPersistingL2Cache() {
    std::shared_ptr<Context> context;
    return current(context);
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    const auto other = Driver::get().contexts.find(bits(peer));
    if (!other) return CUDA_ERROR_INVALID_CONTEXT;
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (other->device == context->device) return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard guard(context->mutex);
    if (!context->peers.insert(other->device).second) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    const auto done = Driver::get().machine().peer_access(context->device, other->device, true);
    return done ? CUDA_SUCCESS : refused("cuCtxEnablePeerAccess", done.error());
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    const auto other = Driver::get().contexts.find(bits(peer));
    if (!other) return CUDA_ERROR_INVALID_CONTEXT;
    const std::lock_guard guard(context->mutex);
    if (!context->peers.erase(other->device)) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    const auto done = Driver::get().machine().peer_access(context->device, other->device, false);
    return done ? CUDA_SUCCESS : refused("cuCtxDisablePeerAccess", done.error());
}

}  // namespace sassemu::driver::api
