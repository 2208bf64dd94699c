// SPDX-License-Identifier: Apache-2.0
// Launches, attributes of kernels, occupancy, streams and events where they are not the driver's.
#include <climits>
#include <memory>

#include "emu/runtime/state.hpp"
#include "runtime_api.hpp"

namespace sassemu::runtime {
namespace {

bool good(const dim3& d) { return d.x != 0 && d.y != 0 && d.z != 0; }

CUlaunchConfig config_of(const LaunchConfig& c) {
    CUlaunchConfig config{};
    config.gridDimX = c.gridDim.x;
    config.gridDimY = c.gridDim.y;
    config.gridDimZ = c.gridDim.z;
    config.blockDimX = c.blockDim.x;
    config.blockDimY = c.blockDim.y;
    config.blockDimZ = c.blockDim.z;
    config.sharedMemBytes = static_cast<unsigned int>(c.dynamicSmemBytes);
    config.hStream = stream_of(c.stream);
    config.attrs = c.attrs;
    config.numAttrs = c.numAttrs;
    return config;
}

// The driver calls wrong dimensions a wrong value.
Error check(const dim3& grid, const dim3& block, size_t shared) {
    if (!good(grid) || !good(block)) return invalid_configuration;
    return shared > UINT_MAX ? static_cast<Error>(invalid_value) : static_cast<Error>(success);
}

Error as_launch(Error error) {
    return error == invalid_value ? static_cast<Error>(invalid_configuration) : error;
}

CUfunction handle(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

struct Callback {
    StreamCallback function;
    CUstream stream;
    void* data;
};

}  // namespace

Error cudaLaunchKernel(CUkernel kernel, dim3 grid, dim3 block, void** parameters, size_t shared,
                       CUstream stream) {
    if (kernel == nullptr) return invalid_device_function;
    if (const Error error = check(grid, block, shared)) return error;
    return as_launch(SASSEMU_CU(cuLaunchKernel)(handle(kernel), grid.x, grid.y, grid.z, block.x,
                                                block.y, block.z, static_cast<unsigned int>(shared),
                                                stream_of(stream), parameters, nullptr));
}

Error cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** parameters,
                       size_t shared, CUstream stream) {
    CUkernel kernel = nullptr;
    if (const Error error = kernel_of(function, kernel)) return error;
    return cudaLaunchKernel(kernel, grid, block, parameters, shared, stream);
}

Error cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** parameters,
                                  size_t shared, CUstream stream) {
    CUkernel kernel = nullptr;
    if (const Error error = kernel_of(function, kernel)) return error;
    if (const Error error = check(grid, block, shared)) return error;
    return as_launch(SASSEMU_CU(cuLaunchCooperativeKernel)(
        handle(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
        static_cast<unsigned int>(shared), stream_of(stream), parameters));
}

Error cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** parameters) {
    if (config == nullptr) return invalid_value;
    CUkernel kernel = nullptr;
    if (const Error error = kernel_of(function, kernel)) return error;
    if (const Error error = check(config->gridDim, config->blockDim, config->dynamicSmemBytes))
        return error;
    const CUlaunchConfig driver_config = config_of(*config);
    return as_launch(
        SASSEMU_CU(cuLaunchKernelEx)(&driver_config, handle(kernel), parameters, nullptr));
}

// ---- kernels

Error cudaFuncSetCacheConfig(const void* function, CUfunc_cache config) {
    CUfunction f = nullptr;
    if (const Error error = function_of(function, f)) return error;
    return SASSEMU_CU(cuFuncSetCacheConfig)(f, config);
}

Error cudaFuncSetSharedMemConfig(const void* function, int) {
    CUkernel kernel = nullptr;
    return kernel_of(function, kernel);
}

Error cudaFuncGetAttributes(FuncAttributes* out, const void* function) {
    if (out == nullptr) return invalid_value;
    CUfunction f = nullptr;
    if (const Error error = function_of(function, f)) return error;
    FuncAttributes a{};
    Error first = success;
    const auto get = [&](auto& field, int number) {
        int value = 0;
        const Error error = SASSEMU_CU(cuFuncGetAttribute)(&value, number, f);
        if (first == success) first = error;
        field = static_cast<std::remove_reference_t<decltype(field)>>(value);
    };
    get(a.maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    get(a.sharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    get(a.constSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    get(a.localSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    get(a.numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
    get(a.ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
    get(a.binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    get(a.cacheModeCA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
    get(a.maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    get(a.preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    get(a.clusterDimMustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
    get(a.requiredClusterWidth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
    get(a.requiredClusterHeight, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
    get(a.requiredClusterDepth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    get(a.nonPortableClusterSizeAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    get(a.clusterSchedulingPolicyPreference,
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    if (first == success) *out = a;
    return first;
}

// The attributes that can be set have the driver's numbers.
Error cudaFuncSetAttribute(const void* function, int attribute, int value) {
    CUfunction f = nullptr;
    if (const Error error = function_of(function, f)) return error;
    return SASSEMU_CU(cuFuncSetAttribute)(f, attribute, value);
}

Error cudaKernelSetAttributeForDevice(CUkernel kernel, int attribute, int value, int device) {
    return SASSEMU_CU(cuKernelSetAttribute)(attribute, value, kernel, device);
}

Error cudaFuncGetName(const char** name, const void* function) {
    return name != nullptr ? name_of(function, name) : static_cast<Error>(invalid_value);
}

Error cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
    CUkernel kernel = nullptr;
    if (const Error error = kernel_of(function, kernel)) return error;
    return SASSEMU_CU(cuKernelGetParamInfo)(kernel, index, offset, bytes);
}

Error cudaGetFuncBySymbol(CUfunction* out, const void* function) {
    return out != nullptr ? function_of(function, *out) : static_cast<Error>(invalid_value);
}

// ---- occupancy

Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                             int threads, size_t shared,
                                                             unsigned int flags) {
    CUfunction f = nullptr;
    if (const Error error = function_of(function, f)) return error;
    return SASSEMU_CU(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(blocks, f, threads,
                                                                            shared, flags);
}

Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                    size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                  0);
}

Error cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                int threads) {
    CUfunction f = nullptr;
    if (const Error error = function_of(function, f)) return error;
    return SASSEMU_CU(cuOccupancyAvailableDynamicSMemPerBlock)(bytes, f, blocks, threads);
}

Error cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                           const LaunchConfig* config) {
    if (config == nullptr) return invalid_value;
    CUfunction f = nullptr;
    if (const Error error = function_of(function, f)) return error;
    const CUlaunchConfig driver_config = config_of(*config);
    return SASSEMU_CU(cuOccupancyMaxPotentialClusterSize)(size, f, &driver_config);
}

Error cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                     const LaunchConfig* config) {
    if (config == nullptr) return invalid_value;
    CUfunction f = nullptr;
    if (const Error error = function_of(function, f)) return error;
    const CUlaunchConfig driver_config = config_of(*config);
    return SASSEMU_CU(cuOccupancyMaxActiveClusters)(clusters, f, &driver_config);
}

// ---- streams and events

Error cudaStreamCreate(CUstream* stream) { return SASSEMU_CU(cuStreamCreate)(stream, 0); }

Error cudaStreamDestroy(CUstream stream) {
    // The default streams cannot be.
    if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
        return invalid_resource_handle;
    return SASSEMU_CU(cuStreamDestroy_v2)(stream);
}

Error cudaEventCreate(CUevent* event) { return SASSEMU_CU(cuEventCreate)(event, 0); }

Error cudaStreamAddCallback(CUstream stream, StreamCallback function, void* data,
                            unsigned int flags) {
    if (function == nullptr) return invalid_value;
    auto callback = std::make_unique<Callback>(Callback{function, stream, data});
    const auto call = [](CUstream, CUresult result, void* argument) {
        const std::unique_ptr<Callback> own(static_cast<Callback*>(argument));
        own->function(own->stream, result, own->data);
    };
    const Error error =
        SASSEMU_CU(cuStreamAddCallback)(stream_of(stream), call, callback.get(), flags);
    if (error == success) (void)callback.release();  // the call deletes it
    return error;
}

Error cudaStreamAttachMemAsync(CUstream stream, void* pointer, size_t bytes, unsigned int flags) {
    return SASSEMU_CU(cuStreamAttachMemAsync)(stream_of(stream),
                                              reinterpret_cast<CUdeviceptr>(pointer), bytes, flags);
}

Error cudaStreamGetCaptureInfo_abi12(CUstream stream, CUstreamCaptureStatus* status,
                                     unsigned long long* id) {
    return SASSEMU_CU(cuStreamGetCaptureInfo_v2)(stream_of(stream), status, id, nullptr, nullptr,
                                                 nullptr);
}

}  // namespace sassemu::runtime
