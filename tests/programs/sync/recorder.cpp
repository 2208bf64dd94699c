// SPDX-License-Identifier: Apache-2.0
// Stands in for the CUDA runtime under a host program whose launches are to become a plan: memory
// is addresses, and what would be done is written down, a line each (programs.py reads it):
//     launch KERNEL gx gy gz bx by bz SHARED PARAMETERS-IN-HEX
//     copy TO FROM BYTES       addresses; TO 0: to the host, which finds zeros
//     fill TO VALUE BYTES
//     end BYTES                of memory that was allocated
// Environment: RECORD the file; PARAMETERS a file with "KERNEL OFFSET BYTES" for each parameter;
// ARCH 90, say.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr uint64_t arena = 0x7f2000000000;
const std::map<std::string, uint64_t> buffers{
    {"in", 0x7f1000000000}, {"data", 0x7f1100000000}, {"out", 0x7f1200000000}};

struct Configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};
struct Recorder {
    uint64_t next = arena;
    std::map<const void*, std::string> kernels;
    std::map<std::string, std::vector<std::pair<size_t, size_t>>> parameters;
    std::vector<Configuration> pushed;
    FILE* file = std::fopen(std::getenv("RECORD"), "w");

    Recorder() {
        std::ifstream in(std::getenv("PARAMETERS"));
        std::string kernel;
        for (size_t offset, bytes; in >> kernel >> offset >> bytes;)
            parameters[kernel].emplace_back(offset, bytes);
    }
    ~Recorder() {
        std::fprintf(file, "end %llu\n", static_cast<unsigned long long>(next - arena));
        std::fclose(file);
    }
    void launch(const void* function, dim3 grid, dim3 block, size_t shared, void** args) {
        const std::string& kernel = kernels.at(function);
        std::string block_of;
        size_t i = 0;
        for (const auto& [offset, bytes] : parameters[kernel]) {
            block_of.resize(2 * (offset + bytes), '0');
            for (size_t k = 0; k < bytes; ++k)
                std::snprintf(&block_of[2 * (offset + k)], 3, "%02x",
                              static_cast<uint8_t*>(args[i])[k]),
                    block_of.resize(2 * (offset + bytes), '0');
            ++i;
        }
        std::fprintf(file, "launch %s %u %u %u %u %u %u %zu %s\n", kernel.c_str(), grid.x, grid.y,
                     grid.z, block.x, block.y, block.z, shared,
                     block_of.empty() ? "-" : block_of.c_str());
    }
    void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
        const bool host =
            kind == cudaMemcpyDeviceToHost ||
            (kind == cudaMemcpyDefault && reinterpret_cast<uint64_t>(to) < 0x7f0000000000);
        if (host) std::memset(to, 0, bytes);
        std::fprintf(file, "copy %llu %llu %zu\n",
                     host ? 0ull : static_cast<unsigned long long>(reinterpret_cast<uint64_t>(to)),
                     static_cast<unsigned long long>(reinterpret_cast<uint64_t>(from)), bytes);
    }
};
Recorder& recorder() {
    static Recorder one;
    return one;
}
int architecture() { return std::atoi(std::getenv("ARCH")); }
cudaError_t allocate(void** p, size_t bytes) {
    *p = reinterpret_cast<void*>(recorder().next);
    recorder().next += (bytes + 511) / 512 * 512;
    return cudaSuccess;
}

}  // namespace

extern "C" {

void* recorder_buffer(const char* name) { return reinterpret_cast<void*>(buffers.at(name)); }

void** __cudaRegisterFatBinary(void*) {
    static void* handle;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
    recorder().kernels[function] = name;
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
    recorder().pushed.push_back({grid, block, shared, stream});
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    const Configuration c = recorder().pushed.back();
    recorder().pushed.pop_back();
    *grid = c.grid, *block = c.block, *shared = c.shared;
    *static_cast<cudaStream_t*>(stream) = c.stream;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               size_t shared, cudaStream_t) {
    recorder().launch(kernel, grid, block, shared, args);
    return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* function, void** args) {
    recorder().launch(function, c->gridDim, c->blockDim, c->dynamicSmemBytes, args);
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, size_t bytes) { return allocate(p, bytes); }
cudaError_t cudaFree(void*) { return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
    recorder().copy(to, from, bytes, kind);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
    std::fprintf(recorder().file, "fill %llu %d %zu\n",
                 static_cast<unsigned long long>(reinterpret_cast<uint64_t>(to)), value, bytes);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }
const char* cudaGetErrorName(cudaError_t) { return "error"; }
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
        case cudaDevAttrMultiProcessorCount:
            *value = 4;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = architecture() / 10;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = architecture() % 10;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = 48 << 10;
            break;
        case cudaDevAttrMaxGridDimX:
            *value = 0x7fffffff;
            break;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ:
            *value = 65535;
            break;
        case cudaDevAttrWarpSize:
            *value = 32;
            break;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            *value = 1024;
            break;
        default:
            *value = 0;
    }
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) {
    *a = {};
    a->ptxVersion = a->binaryVersion = architecture();
    a->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   size_t, unsigned) {
    *blocks = 2;
    return cudaSuccess;
}

}  // extern "C"
