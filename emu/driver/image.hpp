// SPDX-License-Identifier: Apache-2.0
// Images that programs hand over: cubins, fatbins (with nvcc's wrapper or without), PTX. What
// belongs here: what is chosen of them and where it is loaded. What does not: handles.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emu/driver/driver.hpp"
#include "emu/module/module.hpp"

namespace sassemu::driver {

int sm_of(uint32_t device);

// A module of the program, placed on the GPUs that have asked for it.
struct LoadedFile {
    std::shared_ptr<const Module> module;
    std::mutex mutex;
    std::map<uint32_t, ModuleId> placed;
    ~LoadedFile();
    // Errors have been said.
    CUresult place(uint32_t device, ModuleId& out);
};

// The bytes from `image` on, as far as they say themselves how many they are; empty: they do not.
Bytes extent_of(const void* image);
// The code of `image` for the device, PTX through a compiler of the toolkit's. `log` gets what the
// compiler says.
CUresult load_image(const void* image, uint32_t device, const std::string& name,
                    std::shared_ptr<LoadedFile>& out, std::string* log = nullptr);
CUresult load_bytes(Bytes bytes, uint32_t device, const std::string& name,
                    std::shared_ptr<LoadedFile>& out, std::string* log = nullptr);

// jit.cpp: PTX text, and several objects, to a cubin.
CUresult compile_ptx(const std::string& text, const std::string& arch, std::vector<uint8_t>& cubin,
                     std::string& log);

struct Function {
    std::weak_ptr<Context> context;
    uint32_t device = 0;
    std::shared_ptr<LoadedFile> file;
    ModuleId id = 0;
    CUmodule module = nullptr;
    const sassemu::Kernel* kernel = nullptr;
    int max_dynamic_shared = 48 << 10, carveout = -1, non_portable = 0, policy = 0, cache = 0;
};

struct Library {
    const void* image = nullptr;  // preserved by the program, or:
    std::vector<uint8_t> own;     // a copy
    std::string name;
    std::mutex mutex;
    std::map<uint32_t, std::shared_ptr<LoadedFile>> files;  // by device
    std::map<std::string, CUkernel> kernels;
    CUresult file(uint32_t device, std::shared_ptr<LoadedFile>& out);
};

struct Kernel {
    std::weak_ptr<Library> library;
    CUlibrary handle = nullptr;
    std::string name;
    std::mutex mutex;
    std::map<CUcontext, CUfunction> functions;
    std::map<uint32_t, std::map<int, int>> attributes;  // by device
};

// What a launch means by a function: a CUfunction, or a CUkernel in the context.
CUresult find_function(CUfunction handle, const std::shared_ptr<Context>& context,
                       std::shared_ptr<Function>& out);

}  // namespace sassemu::driver
