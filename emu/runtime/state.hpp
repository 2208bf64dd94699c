// SPDX-License-Identifier: Apache-2.0
// What every function of the runtime needs: the driver's functions, the calling thread's context
// and last error, its default stream, and the kernels and variables that programs have registered.
#pragma once

#include <dlfcn.h>

#include <atomic>

#include "emu/runtime/types.hpp"

#define SASSEMU_EXPORT __attribute__((visibility("default")))

namespace sassemu::runtime {

// Errors that the driver does not have.
enum : Error {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    initialization = 3,
    invalid_configuration = 9,
    invalid_symbol = 13,
    invalid_channel_descriptor = 20,
    invalid_memcpy_direction = 21,
    insufficient_driver = 35,
    missing_configuration = 52,
    invalid_device_function = 98,
    no_device = 100,
    invalid_device = 101,
    invalid_kernel_image = 200,
    no_kernel_image = 209,
    invalid_resource_handle = 400,
    not_supported = 801,
};

// Of the library that is loaded: 12 or 13.
extern const int abi;

// ---- the driver, opened when it is first needed

void* driver_symbol(const char* name);  // null: there is no driver, or it lacks this

template <class Function>
struct DriverCall;
template <class... Arguments>
struct DriverCall<CUresult(Arguments...)> {
    using Function = CUresult (*)(Arguments...);
    static CUresult lacking(Arguments...) { return CUDA_ERROR_NOT_SUPPORTED; }
    // `cache` is the call's own.
    static Function resolve(std::atomic<void*>& cache, const char* name) {
        void* found = cache.load(std::memory_order_acquire);
        if (found == nullptr) {
            found = driver_symbol(name);
            if (found == nullptr) return lacking;
            cache.store(found, std::memory_order_release);
        }
        return reinterpret_cast<Function>(found);
    }
};
// SASSEMU_CU(cuMemAlloc_v2)(&pointer, bytes)
#define SASSEMU_CU(name)                                                                \
    ([] {                                                                               \
        static std::atomic<void*> cache;                                                \
        return ::sassemu::runtime::DriverCall<decltype(::name)>::resolve(cache, #name); \
    }())

// ---- before and after each call

enum class Needs { nothing, driver, context };
Error enter(Needs needs);
// Keeps it as the calling thread's last error.
Error leave(Error error);
// A function of the table that is not there: its name is said once.
Error missing(const char* name);

// The device that the calling thread uses.
Error current_device(int& device);
// Each device's primary context is retained when it is first used. `device` is checked.
Error primary_context(int device, CUcontext& context);
// After cudaDeviceReset(): all are retained anew.
void forget_contexts();

// While one lives, stream 0 is the calling thread's default stream (the _ptds and _ptsz symbols).
class OwnStream {
  public:
    OwnStream();
    ~OwnStream();
    OwnStream(const OwnStream&) = delete;
};
bool own_stream();
CUstream stream_of(CUstream stream);

// ---- what is registered

// The kernel of a host function, its module loaded if it was not; a handle of a kernel is one too.
Error kernel_of(const void* function, CUkernel& kernel);
// As a function of the current context.
Error function_of(const void* function, CUfunction& out);
// The other way round: what the program calls the kernel; a handle if it has no name for it.
const void* symbol_of(CUfunction function, CUkernel kernel);
// The name in its module.
Error name_of(const void* function, const char** name);
Error variable_of(const void* symbol, CUdeviceptr& address, size_t& bytes);

}  // namespace sassemu::runtime
