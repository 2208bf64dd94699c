// SPDX-License-Identifier: Apache-2.0
// What every exported function begins with, and the table that cuGetProcAddress looks in. The
// functions and the table are generated (gen/generate.py).
#pragma once

#include <cstddef>
#include <new>

#include "emu/driver/cuda_types.h"

namespace sassemu::driver {

// One ABI version of a function.
struct EntryPoint {
    const char* name;  // as programs ask for it
    int version;       // of CUDA, since
    int thread_version;
    void* function;
    void* thread_function;  // for the default stream of the calling thread; null: the same
};
extern const EntryPoint entry_points[];
extern const size_t entry_point_count;

// A function that is not there: named once.
CUresult missing(const char* name);

// Whether stream 0 is the calling thread's own, in this call.
extern thread_local bool thread_streams;
// Whose code called a function that refuses, to be named.
extern thread_local void* caller;
// CUDA_SUCCESS, or why no function can be called.
CUresult ready();

template <class F>
CUresult entered(bool any_time, bool own_stream, F&& function) noexcept {
    if (!any_time)
        if (const CUresult why = ready(); why != CUDA_SUCCESS) return why;
    const bool before = thread_streams;
    thread_streams = own_stream;
    CUresult result;
    try {
        result = function();
    } catch (const std::bad_alloc&) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
        result = CUDA_ERROR_UNKNOWN;
    }
    thread_streams = before;
    return result;
}

}  // namespace sassemu::driver
