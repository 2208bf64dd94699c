// SPDX-License-Identifier: Apache-2.0
// Devices: properties in the three layouts that programs were compiled for, flags, peers, versions,
// entry points of the driver.
#include <algorithm>
#include <cstring>

#include "emu/runtime/state.hpp"
#include "runtime_api.hpp"

namespace sassemu::runtime {
namespace {

// Attributes have one number in both APIs.
class Attributes {
  public:
    explicit Attributes(int device) : device_(device) {}
    int operator[](int number) {
        int value = 0;
        const Error error = SASSEMU_CU(cuDeviceGetAttribute)(&value, number, device_);
        // One that the driver does not know is one that the device does not have.
        if (error != success && error != invalid_value) error_ = error;
        return error == success ? value : 0;
    }
    void put(int& field, int number) { field = (*this)[number]; }
    void put(unsigned int& field, int number) {
        field = static_cast<unsigned int>((*this)[number]);
    }
    void put(size_t& field, int number) { field = static_cast<unsigned int>((*this)[number]); }
    template <size_t n>
    void put(int (&field)[n], std::initializer_list<int> numbers) {
        size_t i = 0;
        for (const int number : numbers)
            if (i < n) field[i++] = (*this)[number];
    }
    Error error() const { return error_; }

  private:
    int device_;
    Error error_ = success;
};

template <class Prop>
void fill_textures(Prop& p, Attributes& a) {
    a.put(p.maxTexture1D, 21);
    a.put(p.maxTexture1DMipmap, 77);
    a.put(p.maxTexture2D, {22, 23});
    a.put(p.maxTexture2DMipmap, {73, 74});
    a.put(p.maxTexture2DLinear, {70, 71, 72});
    a.put(p.maxTexture2DGather, {45, 46});
    a.put(p.maxTexture3D, {24, 25, 26});
    a.put(p.maxTexture3DAlt, {47, 48, 49});
    a.put(p.maxTextureCubemap, 52);
    a.put(p.maxTexture1DLayered, {42, 43});
    a.put(p.maxTexture2DLayered, {27, 28, 29});
    a.put(p.maxTextureCubemapLayered, {53, 54});
    a.put(p.maxSurface1D, 55);
    a.put(p.maxSurface2D, {56, 57});
    a.put(p.maxSurface3D, {58, 59, 60});
    a.put(p.maxSurface1DLayered, {61, 62});
    a.put(p.maxSurface2DLayered, {63, 64, 65});
    a.put(p.maxSurfaceCubemap, 66);
    a.put(p.maxSurfaceCubemapLayered, {67, 68});
    a.put(p.surfaceAlignment, 30);
    a.put(p.textureAlignment, 14);
    a.put(p.texturePitchAlignment, 51);
}

template <class Prop>
void fill_limits(Prop& p, Attributes& a) {
    a.put(p.sharedMemPerBlock, 8);
    a.put(p.regsPerBlock, 12);
    a.put(p.warpSize, 10);
    a.put(p.memPitch, 11);
    a.put(p.maxThreadsPerBlock, 1);
    a.put(p.maxThreadsDim, {2, 3, 4});
    a.put(p.maxGridSize, {5, 6, 7});
    a.put(p.totalConstMem, 9);
    a.put(p.major, 75);
    a.put(p.minor, 76);
    a.put(p.multiProcessorCount, 16);
    a.put(p.memoryBusWidth, 37);
    a.put(p.l2CacheSize, 38);
    a.put(p.persistingL2CacheMaxSize, 108);
    a.put(p.maxThreadsPerMultiProcessor, 39);
    a.put(p.sharedMemPerMultiprocessor, 81);
    a.put(p.regsPerMultiprocessor, 82);
    a.put(p.sharedMemPerBlockOptin, 97);
    a.put(p.maxBlocksPerMultiProcessor, 106);
    a.put(p.accessPolicyMaxWindowSize, 109);
    a.put(p.reservedSharedMemPerBlock, 111);
}

template <class Prop>
void fill_abilities(Prop& p, Attributes& a) {
    a.put(p.integrated, 18);
    a.put(p.canMapHostMemory, 19);
    a.put(p.concurrentKernels, 31);
    a.put(p.ECCEnabled, 32);
    a.put(p.pciBusID, 33);
    a.put(p.pciDeviceID, 34);
    a.put(p.pciDomainID, 50);
    a.put(p.tccDriver, 35);
    a.put(p.asyncEngineCount, 40);
    a.put(p.unifiedAddressing, 41);
    a.put(p.streamPrioritiesSupported, 78);
    a.put(p.globalL1CacheSupported, 79);
    a.put(p.localL1CacheSupported, 80);
    a.put(p.managedMemory, 83);
    a.put(p.isMultiGpuBoard, 84);
    a.put(p.multiGpuBoardGroupID, 85);
    a.put(p.hostNativeAtomicSupported, 86);
    a.put(p.pageableMemoryAccess, 88);
    a.put(p.concurrentManagedAccess, 89);
    a.put(p.computePreemptionSupported, 90);
    a.put(p.canUseHostPointerForRegisteredMem, 91);
    a.put(p.cooperativeLaunch, 95);
    a.put(p.pageableMemoryAccessUsesHostPageTables, 100);
    a.put(p.directManagedMemAccessFromHost, 101);
    if constexpr (requires { p.clockRate; }) {
        a.put(p.clockRate, 13);
        a.put(p.deviceOverlap, 15);
        a.put(p.kernelExecTimeoutEnabled, 17);
        a.put(p.computeMode, 20);
        a.put(p.maxTexture1DLinear, 69);
        a.put(p.memoryClockRate, 36);
        a.put(p.singleToDoublePrecisionPerfRatio, 87);
        a.put(p.cooperativeMultiDeviceLaunch, 96);
    }
    if constexpr (requires { p.clusterLaunch; }) {
        a.put(p.hostRegisterSupported, 99);
        a.put(p.sparseCudaArraySupported, 112);
        a.put(p.hostRegisterReadOnlySupported, 113);
        a.put(p.timelineSemaphoreInteropSupported, 114);
        a.put(p.memoryPoolsSupported, 115);
        a.put(p.gpuDirectRDMASupported, 116);
        a.put(p.gpuDirectRDMAFlushWritesOptions, 117);
        a.put(p.gpuDirectRDMAWritesOrdering, 118);
        a.put(p.memoryPoolSupportedHandleTypes, 119);
        a.put(p.deferredMappingCudaArraySupported, 121);
        a.put(p.ipcEventSupported, 125);
        a.put(p.clusterLaunch, 120);
        a.put(p.unifiedFunctionPointers, 129);
    }
    if constexpr (requires { p.deviceNumaId; }) {
        a.put(p.deviceNumaConfig, 130);
        a.put(p.deviceNumaId, 131);
        a.put(p.mpsEnabled, 133);
        a.put(p.hostNumaId, 134);
        a.put(p.gpuPciDeviceID, 139);
        a.put(p.gpuPciSubsystemID, 140);
        a.put(p.hostNumaMultinodeIpcSupported, 143);
    }
}

template <class Prop>
Error fill(Prop* out, int device) {
    if (out == nullptr) return invalid_value;
    CUdevice handle = 0;
    if (const Error error = SASSEMU_CU(cuDeviceGet)(&handle, device)) return error;
    Prop p;
    std::memset(&p, 0, sizeof p);
    if (const Error error = SASSEMU_CU(cuDeviceGetName)(p.name, sizeof p.name, handle))
        return error;
    if (const Error error = SASSEMU_CU(cuDeviceTotalMem_v2)(&p.totalGlobalMem, handle))
        return error;
    (void)SASSEMU_CU(cuDeviceGetUuid_v2)(&p.uuid, handle);
    Attributes attributes(handle);
    fill_limits(p, attributes);
    fill_abilities(p, attributes);
    fill_textures(p, attributes);
    if (attributes.error() != success) return attributes.error();
    *out = p;
    return success;
}

// What a stream of the calling thread's kind of entry point is asked for by.
unsigned long long entry_flags(unsigned long long flags) {
    constexpr unsigned long long both = 3;  // legacy, per-thread
    return (flags & both) == 0 && own_stream() ? flags | 2 : flags;
}

Error entry_point(const char* name, void** function, int version, unsigned long long flags,
                  int* status) {
    if (name == nullptr || function == nullptr) return invalid_value;
    CUdriverProcAddressQueryResult found = 0;
    const Error error =
        SASSEMU_CU(cuGetProcAddress_v2)(name, function, version, entry_flags(flags), &found);
    if (status != nullptr) *status = static_cast<int>(found);
    // The runtime tells by the status alone that there is none.
    return error == CUDA_ERROR_NOT_FOUND ? static_cast<Error>(success) : error;
}

}  // namespace

Error cudaGetDeviceProperties_abi12(Prop11* p, int device) { return fill(p, device); }
Error cudaGetDeviceProperties_v2_abi12(Prop12* p, int device) { return fill(p, device); }
Error cudaGetDeviceProperties_abi13(Prop13* p, int device) { return fill(p, device); }

Error cudaDeviceGetAttribute(int* value, int attribute, int device) {
    CUdevice handle = 0;
    if (const Error error = SASSEMU_CU(cuDeviceGet)(&handle, device)) return error;
    return SASSEMU_CU(cuDeviceGetAttribute)(value, attribute, handle);
}

// The runtime counts from 1, the driver too.
Error cudaDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
    return SASSEMU_CU(cuDeviceGetP2PAttribute)(value, attribute, from, to);
}

Error cudaDeviceGetTexture1DLinearMaxWidth(size_t* texels, const ChannelDesc* desc, int device) {
    if (texels == nullptr || desc == nullptr) return invalid_value;
    const int bits = desc->x + desc->y + desc->z + desc->w;
    if (bits < 8) return invalid_value;
    int most = 0;
    if (const Error error = cudaDeviceGetAttribute(&most, 69, device)) return error;
    *texels = static_cast<size_t>(most);
    return success;
}

// Banks of shared memory have had one width since Maxwell.
Error cudaDeviceGetSharedMemConfig(int* config) {
    if (config == nullptr) return invalid_value;
    *config = 1;  // four bytes
    return success;
}
Error cudaDeviceSetSharedMemConfig(int config) {
    return config >= 0 && config <= 2 ? success : invalid_value;
}

// They are alike as far as the criteria go that programs have.
Error cudaChooseDevice(int* device, const void* properties) {
    if (device == nullptr || properties == nullptr) return invalid_value;
    *device = 0;
    return success;
}

Error cudaSetValidDevices(int* devices, int count) {
    int all = 0;
    if (const Error error = SASSEMU_CU(cuDeviceGetCount)(&all)) return error;
    if (count < 0 || count > all || (count > 0 && devices == nullptr)) return invalid_value;
    for (int i = 0; i < count; ++i)
        if (devices[i] < 0 || devices[i] >= all) return invalid_device;
    return success;
}

Error cudaSetDeviceFlags(unsigned int flags) {
    int device = 0;
    if (const Error error = current_device(device)) return error;
    return SASSEMU_CU(cuDevicePrimaryCtxSetFlags_v2)(device, flags);
}

Error cudaGetDeviceFlags(unsigned int* flags) {
    if (flags == nullptr) return invalid_value;
    int device = 0, active = 0;
    if (const Error error = current_device(device)) return error;
    return SASSEMU_CU(cuDevicePrimaryCtxGetState)(device, flags, &active);
}

Error cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
    CUcontext context = nullptr;
    if (const Error error = primary_context(peer, context)) return error;
    return SASSEMU_CU(cuCtxEnablePeerAccess)(context, flags);
}

Error cudaDeviceDisablePeerAccess(int peer) {
    CUcontext context = nullptr;
    if (const Error error = primary_context(peer, context)) return error;
    return SASSEMU_CU(cuCtxDisablePeerAccess)(context);
}

// 0 where there is no driver, which is no error.
Error cudaDriverGetVersion(int* version) {
    if (version == nullptr) return invalid_value;
    *version = 0;
    (void)SASSEMU_CU(cuDriverGetVersion)(version);
    return success;
}

Error cudaRuntimeGetVersion(int* version) {
    if (version == nullptr) return invalid_value;
    *version = abi == 12 ? 12090 : 13000;
    return success;
}

Error cudaSetDoubleForDevice_abi12(double*) { return success; }
Error cudaSetDoubleForHost_abi12(double*) { return success; }

Error cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                              int* status) {
    return entry_point(name, function, abi == 12 ? 12090 : 13000, flags, status);
}

Error cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned int version,
                                       unsigned long long flags, int* status) {
    return entry_point(name, function, static_cast<int>(version), flags, status);
}

}  // namespace sassemu::runtime
