// SPDX-License-Identifier: Apache-2.0
// See state.hpp.
#include "emu/runtime/state.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime_api.hpp"

namespace sassemu::runtime {
namespace {

// Errors that the context does not recover from.
bool sticky(Error error) {
    switch (error) {
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_TENSOR_MEMORY_LEAK:
            return true;
        default:
            return false;
    }
}

struct Thread {
    Error last = success;
    int device = 0;
    int own_streams = 0;
};
thread_local Thread thread;

std::atomic<Error> broken = success;  // the context's error that stays

std::mutex contexts_mutex;
std::vector<CUcontext> contexts;  // retained, by device

void* driver() {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library;
}

Error initialise() {
    static const Error error = [] {
        if (driver() == nullptr) return static_cast<Error>(insufficient_driver);
        return static_cast<Error>(SASSEMU_CU(cuInit)(0));
    }();
    if (error != success) return error;
    // Of a child that was forked the driver says so.
    static const pid_t process = ::getpid();
    return ::getpid() == process ? success : static_cast<Error>(initialization);
}

// A context that the program has made current itself is as good as ours.
Error make_current() {
    CUcontext context = nullptr;
    if (const Error error = SASSEMU_CU(cuCtxGetCurrent)(&context)) return error;
    if (context != nullptr) return success;
    if (const Error error = primary_context(thread.device, context)) return error;
    return SASSEMU_CU(cuCtxSetCurrent)(context);
}

}  // namespace

void* driver_symbol(const char* name) {
    void* const library = driver();
    return library != nullptr ? dlsym(library, name) : nullptr;
}

Error enter(Needs needs) {
    if (needs == Needs::nothing) return success;
    if (const Error error = initialise()) return error;
    return needs == Needs::context ? make_current() : success;
}

Error leave(Error error) {
    if (error == success) return error;
    thread.last = error;
    if (sticky(error)) broken.store(error, std::memory_order_relaxed);
    return error;
}

Error missing(const char* name) {
    static std::mutex mutex;
    static std::set<std::string> said;
    const std::lock_guard lock(mutex);
    if (said.insert(name).second)
        std::fprintf(stderr, "sassemu: %s is not there (cudaErrorNotSupported)\n", name);
    return not_supported;
}

Error current_device(int& device) {
    CUcontext context = nullptr;
    device = thread.device;
    if (const Error error = SASSEMU_CU(cuCtxGetCurrent)(&context)) return error;
    if (context == nullptr) return success;
    return SASSEMU_CU(cuCtxGetDevice)(&device);
}

Error primary_context(int device, CUcontext& context) {
    int count = 0;
    if (const Error error = SASSEMU_CU(cuDeviceGetCount)(&count)) return error;
    if (count == 0) return no_device;
    if (device < 0 || device >= count) return invalid_device;
    const std::lock_guard lock(contexts_mutex);
    contexts.resize(static_cast<size_t>(count));
    CUcontext& retained = contexts[static_cast<size_t>(device)];
    if (retained == nullptr)
        if (const Error error = SASSEMU_CU(cuDevicePrimaryCtxRetain)(&retained, device))
            return error;
    context = retained;
    return success;
}

void forget_contexts() {
    const std::lock_guard lock(contexts_mutex);
    contexts.clear();
    broken = success;
}

OwnStream::OwnStream() { ++thread.own_streams; }
OwnStream::~OwnStream() { --thread.own_streams; }
bool own_stream() { return thread.own_streams != 0; }
CUstream stream_of(CUstream stream) {
    return stream == nullptr && own_stream() ? CU_STREAM_PER_THREAD : stream;
}

Error cudaGetLastError() {
    const Error last = thread.last;
    thread.last = broken.load(std::memory_order_relaxed);
    return last != success ? last : thread.last;
}

Error cudaPeekAtLastError() {
    return thread.last != success ? thread.last : broken.load(std::memory_order_relaxed);
}

Error cudaSetDevice(int device) {
    CUcontext context = nullptr;
    if (const Error error = primary_context(device, context)) return error;
    if (const Error error = SASSEMU_CU(cuCtxSetCurrent)(context)) return error;
    thread.device = device;
    return success;
}

Error cudaGetDevice(int* device) {
    return device != nullptr ? current_device(*device) : static_cast<Error>(invalid_value);
}

Error cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
    constexpr unsigned int flags_are_valid = 1;  // cudaInitDeviceFlagsAreValid
    if ((flags & ~flags_are_valid) != 0) return invalid_value;
    if ((flags & flags_are_valid) != 0)
        if (const Error error = SASSEMU_CU(cuDevicePrimaryCtxSetFlags_v2)(device, device_flags))
            return error;
    CUcontext context = nullptr;
    return primary_context(device, context);
}

Error cudaDeviceReset() {
    if (const Error error = initialise()) return error;
    int device = 0;
    if (const Error error = current_device(device)) return error;
    CUcontext context = nullptr;
    {
        const std::lock_guard lock(contexts_mutex);
        if (static_cast<size_t>(device) < contexts.size())
            context = contexts[static_cast<size_t>(device)];
    }
    const Error error = context == nullptr
                            ? static_cast<Error>(success)
                            : static_cast<Error>(SASSEMU_CU(cuDevicePrimaryCtxReset_v2)(device));
    if (context != nullptr) (void)SASSEMU_CU(cuCtxSetCurrent)(nullptr);
    forget_contexts();
    thread.last = success;
    return error;
}

Error cudaThreadExit_abi12() { return cudaDeviceReset(); }

}  // namespace sassemu::runtime
