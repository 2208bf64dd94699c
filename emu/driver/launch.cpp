// SPDX-License-Identifier: Apache-2.0
// Launches, host functions, occupancy.
#include <algorithm>
#include <cstring>

#include "emu/driver/image.hpp"
#include "emu/driver/operation.hpp"

namespace sassemu::driver {

namespace {

// The parameter block, of pointers to each parameter or of a buffer.
CUresult pack(const sassemu::Kernel& k, void** parameters, void** extra,
              std::vector<std::byte>& out) {
    out.assign(k.param_size, std::byte{});
    if (extra) {
        if (parameters) return CUDA_ERROR_INVALID_VALUE;
        const void* buffer = nullptr;
        const size_t* size = nullptr;
        for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
            if (i > 8) return CUDA_ERROR_INVALID_VALUE;
            if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
                buffer = extra[i + 1];
            else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
                size = static_cast<const size_t*>(extra[i + 1]);
            else
                return CUDA_ERROR_INVALID_VALUE;
        }
        if (!size || (*size && !buffer)) return CUDA_ERROR_INVALID_VALUE;
        if (*size > out.size()) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(out.data(), buffer, *size);
        return CUDA_SUCCESS;
    }
    if (k.param_size && !parameters) return CUDA_ERROR_INVALID_VALUE;
    for (const Parameter& p : k.parameters) {
        if (!parameters[p.ordinal]) return CUDA_ERROR_INVALID_VALUE;
        if (uint64_t{p.offset} + p.size > out.size()) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(out.data() + p.offset, parameters[p.ordinal], p.size);
    }
    return CUDA_SUCCESS;
}

// As the device counts them: how many CTAs of the function an SM holds.
int resident_ctas(const Function& f, int threads, size_t dynamic) {
    const DeviceProfile& d = Driver::get().config.devices[f.device];
    const sassemu::Kernel& k = *f.kernel;
    if (threads <= 0 || threads > 1024) return 0;
    const auto warps = static_cast<uint32_t>((threads + 31) / 32);
    const uint32_t per_warp = std::max(1u, (k.registers + 7) / 8 * 8 * 32);
    uint64_t most =
        std::min<uint64_t>(d.resident_ctas_per_sm, d.resident_threads_per_sm / (warps * 32));
    most = std::min<uint64_t>(most, d.registers_per_sm / (uint64_t{per_warp} * warps));
    uint64_t shared = k.shared_static + dynamic;
    if (sm_of(f.device) >= 80 && !k.shared_reserved) shared += 1024;  // the system's, of each CTA
    if (shared > uint64_t{d.shared_per_cta} + 1024) return 0;
    if (shared) most = std::min<uint64_t>(most, d.shared_per_sm / ((shared + 127) / 128 * 128));
    return static_cast<int>(most);
}

CUresult checked(const Function& f, const LaunchRequest& r) {
    const uint64_t threads = r.block.count();
    if (!threads || threads > 1024 || r.block.x > 1024 || r.block.y > 1024 || r.block.z > 64)
        return CUDA_ERROR_INVALID_VALUE;
    if (!r.grid.count() || r.grid.x > 0x7fffffffu || r.grid.y > 65535 || r.grid.z > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    if (r.dynamic_shared > static_cast<uint32_t>(f.max_dynamic_shared))
        return CUDA_ERROR_INVALID_VALUE;
    if (const auto& m = f.kernel->max_threads; m && m->x && threads > uint64_t{m->x} * m->y * m->z)
        return CUDA_ERROR_INVALID_VALUE;
    if (r.cluster.count() > (f.non_portable ? 16u : 8u)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

}  // namespace

CUresult make_launch(const std::shared_ptr<Context>& context, CUfunction handle,
                     const unsigned (&grid)[3], const unsigned (&block)[3], unsigned shared,
                     void** parameters, void** extra, LaunchOperation& out) {
    SASSEMU_CUDA(find_function(handle, context, out.function));
    const Function& f = *out.function;
    LaunchRequest& r = out.request;
    r.module = f.id;
    r.kernel = f.kernel->name;
    r.grid = {grid[0], grid[1], grid[2]};
    r.block = {block[0], block[1], block[2]};
    r.dynamic_shared = shared;
    SASSEMU_CUDA(checked(f, r));
    return pack(*f.kernel, parameters, extra, r.params);
}

}  // namespace sassemu::driver

namespace sassemu::driver::api {

static CUresult launch(CUfunction function, const unsigned (&grid)[3], const unsigned (&block)[3],
                       unsigned shared, CUstream stream, void** parameters, void** extra,
                       const CUlaunchConfig* how, bool cooperative) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> in;
    SASSEMU_CUDA(find_stream(stream, context, in));
    LaunchOperation operation;
    SASSEMU_CUDA(make_launch(context, function, grid, block, shared, parameters, extra, operation));
    LaunchRequest& r = operation.request;
    r.cooperative = cooperative;
    std::vector<std::shared_ptr<Event>> record;
    for (unsigned i = 0; how && i < how->numAttrs; ++i) {
        const CUlaunchAttribute& a = how->attrs[i];
        switch (a.id) {
            case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                r.cooperative = a.value.cooperative != 0;
                break;
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                r.cluster = {a.value.clusterDim.x, a.value.clusterDim.y, a.value.clusterDim.z};
                if (!r.cluster.count()) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
                r.explicit_cluster = true;
                break;
            case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
                r.may_overlap = a.value.programmaticStreamSerializationAllowed != 0;
                break;
            case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
            case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: {
                auto event = Driver::get().events.find(bits(a.value.programmaticEvent.event));
                if (!event) return CUDA_ERROR_INVALID_HANDLE;
                record.push_back(std::move(event));
                break;
            }
            default:
                if (a.id < 0 || a.id > 18) return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (r.explicit_cluster && r.cluster.count() > (operation.function->non_portable ? 16u : 8u))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    SASSEMU_CUDA(submit(context, *in, std::move(operation), CU_GRAPH_NODE_TYPE_KERNEL));
    // Such an event may come earlier on a GPU; at the end is one of the times allowed.
    for (const auto& event : record)
        SASSEMU_CUDA(
            submit(context, *in, EventOperation{event, false}, CU_GRAPH_NODE_TYPE_EVENT_RECORD));
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                        void** parameters, void** extra) {
    return launch(f, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, extra, nullptr, false);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* how, CUfunction f, void** parameters,
                          void** extra) {
    if (how->numAttrs && !how->attrs) return CUDA_ERROR_INVALID_VALUE;
    return launch(f, {how->gridDimX, how->gridDimY, how->gridDimZ},
                  {how->blockDimX, how->blockDimY, how->blockDimZ}, how->sharedMemBytes,
                  how->hStream, parameters, extra, how, false);
}
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                   void** parameters) {
    return launch(f, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, nullptr, nullptr,
                  true);
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user) {
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::shared_ptr<Stream> in;
    SASSEMU_CUDA(find_stream(stream, context, in));
    return submit(context, *in, HostOperation{function, user}, CU_GRAPH_NODE_TYPE_HOST);
}
CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void* user, unsigned int) {
    return api::cuLaunchHostFunc(stream, function, user);
}

// ---- occupancy

static CUresult function_here(CUfunction handle, std::shared_ptr<Function>& out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    return find_function(handle, context, out);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, CUfunction handle, int threads,
                                                     size_t dynamic) {
    std::shared_ptr<Function> f;
    SASSEMU_CUDA(function_here(handle, f));
    if (threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    *count = resident_ctas(*f, threads, dynamic);
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count, CUfunction handle,
                                                              int threads, size_t dynamic,
                                                              unsigned flags) {
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    return api::cuOccupancyMaxActiveBlocksPerMultiprocessor(count, handle, threads, dynamic);
}
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle,
                                          CUoccupancyB2DSize shared_of, size_t shared, int limit) {
    std::shared_ptr<Function> f;
    SASSEMU_CUDA(function_here(handle, f));
    int most = 0;
    SASSEMU_CUDA(api::cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle));
    if (limit > 0) most = std::min(most, limit);
    int best = 0;
    *block = *grid = 0;
    // The largest block among those that keep the most threads on an SM.
    for (int threads = (most + 31) / 32 * 32; threads > 0; threads -= 32) {
        const int size = std::min(threads, most);
        const int ctas = resident_ctas(*f, size, shared_of ? shared_of(size) : shared);
        if (ctas * size <= best) continue;
        best = ctas * size;
        *block = size;
        *grid = ctas * static_cast<int>(Driver::get().config.devices[f->device].sms);
    }
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of, size_t shared,
                                                   int limit, unsigned flags) {
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    return api::cuOccupancyMaxPotentialBlockSize(grid, block, handle, shared_of, shared, limit);
}
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int ctas,
                                                 int threads) {
    std::shared_ptr<Function> f;
    SASSEMU_CUDA(function_here(handle, f));
    if (ctas <= 0 || threads <= 0 || resident_ctas(*f, threads, 0) < ctas)
        return CUDA_ERROR_INVALID_VALUE;
    const DeviceProfile& d = Driver::get().config.devices[f->device];
    size_t low = 0, high = d.shared_per_cta;
    while (low < high) {
        const size_t middle = (low + high + 1) / 2;
        if (resident_ctas(*f, threads, middle) >= ctas)
            low = middle;
        else
            high = middle - 1;
    }
    *bytes = low;
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction handle,
                                            const CUlaunchConfig* how) {
    std::shared_ptr<Function> f;
    SASSEMU_CUDA(function_here(handle, f));
    const auto threads = static_cast<int>(how->blockDimX * how->blockDimY * how->blockDimZ);
    if (!resident_ctas(*f, threads, how->sharedMemBytes)) return CUDA_ERROR_INVALID_VALUE;
    *size = f->non_portable ? 16 : 8;
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* count, CUfunction handle, const CUlaunchConfig* how) {
    std::shared_ptr<Function> f;
    SASSEMU_CUDA(function_here(handle, f));
    if (how->numAttrs && !how->attrs) return CUDA_ERROR_INVALID_VALUE;
    unsigned cluster = f->kernel->cluster
                           ? f->kernel->cluster->x * f->kernel->cluster->y * f->kernel->cluster->z
                           : 1;
    for (unsigned i = 0; i < how->numAttrs; ++i)
        if (how->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            cluster = how->attrs[i].value.clusterDim.x * how->attrs[i].value.clusterDim.y *
                      how->attrs[i].value.clusterDim.z;
    if (!cluster || cluster > 16) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const auto threads = static_cast<int>(how->blockDimX * how->blockDimY * how->blockDimZ);
    const auto per_sm = static_cast<unsigned>(resident_ctas(*f, threads, how->sharedMemBytes));
    *count = static_cast<int>(per_sm * Driver::get().config.devices[f->device].sms / cluster);
    return CUDA_SUCCESS;
}

}  // namespace sassemu::driver::api
