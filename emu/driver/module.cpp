// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, functions and kernels: handles, attributes, globals.
#include <algorithm>
#include <cstring>
#include <fstream>

#include "emu/driver/image.hpp"

namespace sassemu::driver {

namespace {

CUresult find_module(CUmodule handle, std::shared_ptr<ModuleObject>& out) {
    out = Driver::get().modules.find(bits(handle));
    if (!out) return CUDA_ERROR_INVALID_HANDLE;
    const auto owner = out->context.lock();
    return owner && owner->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

// Names are exact here.
const sassemu::Kernel* kernel_named(const Module& module, std::string_view name) {
    const auto found = std::ranges::find(module.kernels(), name, &sassemu::Kernel::name);
    return found == module.kernels().end() ? nullptr : &*found;
}

CUresult make_function(const std::shared_ptr<Context>& context,
                       const std::shared_ptr<LoadedFile>& file, const char* name, CUmodule module,
                       CUfunction* out) {
    const sassemu::Kernel* const kernel = kernel_named(*file->module, name);
    if (!kernel) return CUDA_ERROR_NOT_FOUND;
    auto function = std::make_shared<Function>();
    SASSEMU_CUDA(file->place(context->device, function->id));
    function->context = context;
    function->device = context->device;
    function->file = file;
    function->module = module;
    function->kernel = kernel;
    *out = as_handle<CUfunction>(Driver::get().functions.add(std::move(function)));
    return CUDA_SUCCESS;
}

CUresult global_of(uint32_t device, LoadedFile& file, const char* name, CUdeviceptr* address,
                   size_t* bytes) {
    if (!file.module->variable(name)) return CUDA_ERROR_NOT_FOUND;
    ModuleId id = 0;
    SASSEMU_CUDA(file.place(device, id));
    const auto symbol = Driver::get().gpu(device).symbol(id, name);
    if (!symbol) return CUDA_ERROR_NOT_FOUND;
    if (address) *address = symbol->address;
    if (bytes) *bytes = symbol->bytes;
    return CUDA_SUCCESS;
}

constexpr unsigned most_options = 64;

CUresult read_whole(const char* path, std::vector<uint8_t>& out) {
    auto bytes = read_file(path);
    if (!bytes) return CUDA_ERROR_FILE_NOT_FOUND;
    out = std::move(*bytes);
    return out.size() < 8 ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}

// Options that want to be told something: the compiler's log.
void give_log(unsigned count, const CUjit_option* options, void** values, const std::string& log,
              bool failed) {
    char* buffer[2] = {};
    size_t room[2] = {};
    void** told[2] = {};
    for (unsigned i = 0; i < count && options && values; ++i) {
        const int which = options[i] >= CU_JIT_ERROR_LOG_BUFFER;
        if (options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER)
            buffer[which] = static_cast<char*>(values[i]);
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
            options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            room[which] = reinterpret_cast<size_t>(values[i]) & 0xffffffff;
            told[which] = &values[i];
        }
        if (options[i] == CU_JIT_WALL_TIME) {
            const float none = 0;
            std::memcpy(&values[i], &none, sizeof none);
        }
    }
    for (int which = 0; which < 2; ++which) {
        const std::string text = which == int{failed} ? log : "";
        size_t length = 0;
        if (buffer[which] && room[which]) {
            length = std::min(text.size(), room[which] - 1);
            std::memcpy(buffer[which], text.data(), length);
            buffer[which][length++] = 0;
        }
        if (told[which]) *told[which] = reinterpret_cast<void*>(length);
    }
}

CUresult loaded(const std::shared_ptr<Context>& context, std::shared_ptr<LoadedFile> file,
                CUmodule* out) {
    auto module = std::make_shared<ModuleObject>();
    module->context = context;
    module->file = std::move(file);
    *out = as_handle<CUmodule>(Driver::get().modules.add(std::move(module)));
    return CUDA_SUCCESS;
}

int cluster_part(const sassemu::Kernel& k, int dimension) {
    if (!k.cluster) return 0;
    return static_cast<int>(dimension == 0   ? k.cluster->x
                            : dimension == 1 ? k.cluster->y
                                             : k.cluster->z);
}

CUresult attribute_of(const Function& f, CUfunction_attribute which, int* value) {
    const sassemu::Kernel& k = *f.kernel;
    switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: {
            uint64_t most = 1024;
            if (k.registers)
                most = std::min<uint64_t>(most,
                                          Driver::get().config.devices[f.device].registers_per_sm /
                                              (((k.registers + 7) / 8 * 8) * 32) * 32);
            if (k.max_threads && k.max_threads->x)
                most = std::min<uint64_t>(
                    most, uint64_t{k.max_threads->x} * k.max_threads->y * k.max_threads->z);
            *value = static_cast<int>(most);
            return CUDA_SUCCESS;
        }
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            *value =
                static_cast<int>(k.shared_static - std::min(k.shared_static, k.shared_reserved));
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: {
            const ConstantBank* const bank = f.file->module->constant_bank(3, k.name);
            *value = bank ? static_cast<int>(bank->bytes.size()) : 0;
            return CUDA_SUCCESS;
        }
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            *value = static_cast<int>(std::max(k.frame_size, k.min_stack_size));
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = static_cast<int>(k.registers);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = f.file->module->arch().sm;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
            *value = 0;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = f.max_dynamic_shared;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            *value = f.carveout;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
            *value = k.explicit_cluster;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
            *value = cluster_part(k, which - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            *value = f.non_portable;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            *value = f.policy;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult set_attribute(Function& f, CUfunction_attribute which, int value) {
    switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
            int own = 0;
            SASSEMU_CUDA(attribute_of(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &own));
            const auto most =
                static_cast<int>(Driver::get().config.devices[f.device].shared_per_cta);
            if (value < 0 || value > most - own) return CUDA_ERROR_INVALID_VALUE;
            f.max_dynamic_shared = value;
            return CUDA_SUCCESS;
        }
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
            f.carveout = value;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            f.non_portable = value != 0;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            f.policy = value;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult parameter_of(const sassemu::Kernel& k, size_t index, size_t* offset, size_t* size) {
    const auto found = std::ranges::find(k.parameters, index, &Parameter::ordinal);
    if (found == k.parameters.end()) return CUDA_ERROR_INVALID_VALUE;
    *offset = found->offset;
    if (size) *size = found->size;
    return CUDA_SUCCESS;
}

CUresult any_function(CUfunction handle, std::shared_ptr<Function>& out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    return find_function(handle, context, out);
}

// A kernel as the device has it.
CUresult kernel_on(CUkernel handle, CUdevice device, std::shared_ptr<Kernel>& kernel,
                   Function& out) {
    Driver& d = Driver::get();
    kernel = d.kernels.find(bits(handle));
    const auto library = kernel ? kernel->library.lock() : nullptr;
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    if (device < 0 || static_cast<uint32_t>(device) >= d.count()) return CUDA_ERROR_INVALID_DEVICE;
    SASSEMU_CUDA(d.start());
    out.device = static_cast<uint32_t>(device);
    SASSEMU_CUDA(library->file(out.device, out.file));
    out.kernel = kernel_named(*out.file->module, kernel->name);
    if (!out.kernel) return CUDA_ERROR_NOT_FOUND;
    const std::lock_guard guard(kernel->mutex);
    for (const auto& [which, value] : kernel->attributes[out.device])
        (void)set_attribute(out, which, value);
    return CUDA_SUCCESS;
}

// In the current context.
CUresult kernel_here(CUkernel handle, std::shared_ptr<Kernel>& kernel, Function& out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    return kernel_on(handle, static_cast<CUdevice>(context->device), kernel, out);
}

CUresult add_library(std::shared_ptr<Library> library, CUlibrary* out) {
    *out = as_handle<CUlibrary>(Driver::get().libraries.add(std::move(library)));
    return CUDA_SUCCESS;
}

}  // namespace

}  // namespace sassemu::driver

namespace sassemu::driver::api {

// ---- modules

CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned int count,
                            CUjit_option* options, void** values) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (count > most_options || (count && (!options || !values))) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<LoadedFile> file;
    std::string log;
    const CUresult why = load_image(image, context->device, "module", file, &log);
    give_log(count, options, values, log, why != CUDA_SUCCESS);
    return why == CUDA_SUCCESS ? loaded(context, std::move(file), out) : why;
}
CUresult cuModuleLoadData(CUmodule* out, const void* image) {
    return api::cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}
CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
    return api::cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}
CUresult cuModuleLoad(CUmodule* out, const char* path) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    std::vector<uint8_t> bytes;
    SASSEMU_CUDA(read_whole(path, bytes));
    std::shared_ptr<LoadedFile> file;
    SASSEMU_CUDA(load_bytes(bytes, context->device, path, file));
    return loaded(context, std::move(file), out);
}
CUresult cuModuleUnload(CUmodule handle) {
    std::shared_ptr<ModuleObject> module = Driver::get().modules.take(bits(handle));
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    // What is in flight may be its kernels.
    (void)Driver::get().machine().synchronize();
    for (const auto& [name, function] : module->functions)
        Driver::get().functions.take(bits(function));
    return CUDA_SUCCESS;
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
    std::shared_ptr<ModuleObject> module;
    SASSEMU_CUDA(find_module(handle, module));
    const std::lock_guard guard(module->mutex);
    if (const auto known = module->functions.find(name); known != module->functions.end()) {
        *out = known->second;
        return CUDA_SUCCESS;
    }
    SASSEMU_CUDA(make_function(module->context.lock(), module->file, name, handle, out));
    module->functions.emplace(name, *out);
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule handle) {
    std::shared_ptr<ModuleObject> module;
    SASSEMU_CUDA(find_module(handle, module));
    *count = static_cast<unsigned>(module->file->module->kernels().size());
    return CUDA_SUCCESS;
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule handle) {
    std::shared_ptr<ModuleObject> module;
    SASSEMU_CUDA(find_module(handle, module));
    const auto& kernels = module->file->module->kernels();
    for (unsigned i = 0; i < count && i < kernels.size(); ++i)
        SASSEMU_CUDA(api::cuModuleGetFunction(&functions[i], handle, kernels[i].name.c_str()));
    return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle,
                              const char* name) {
    std::shared_ptr<ModuleObject> module;
    SASSEMU_CUDA(find_module(handle, module));
    return global_of(module->context.lock()->device, *module->file, name, address, bytes);
}

// ---- libraries

CUresult cuLibraryLoadData(CUlibrary* out, const void* code, CUjit_option*, void**, unsigned int,
                           CUlibraryOption* options, void** values, unsigned int count) {
    auto library = std::make_shared<Library>();
    library->name = "library";
    bool preserved = false;
    if (count > most_options || (count && (!options || !values))) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && options && values; ++i)
        preserved |= options[i] == 1 && values[i];
    const Bytes bytes = extent_of(code);
    if (preserved && !bytes.empty()) {
        library->image = code;
    } else if (!bytes.empty()) {
        library->own.assign(bytes.begin(), bytes.end());
    } else {
        const auto* text = static_cast<const char*>(code);
        const size_t length = strnlen(text, 16);
        if (length < 8) return CUDA_ERROR_INVALID_IMAGE;
        library->own.assign(text, text + std::strlen(text));
    }
    return add_library(std::move(library), out);
}
CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option*, void**,
                               unsigned int, CUlibraryOption*, void**, unsigned int) {
    auto library = std::make_shared<Library>();
    library->name = path;
    SASSEMU_CUDA(read_whole(path, library->own));
    return add_library(std::move(library), out);
}
CUresult cuLibraryUnload(CUlibrary handle) {
    Driver& d = Driver::get();
    const auto library = d.libraries.take(bits(handle));
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    if (!library->files.empty() && d.start() == CUDA_SUCCESS) (void)d.machine().synchronize();
    for (const auto& [name, kernel] : library->kernels)
        if (const auto k = d.kernels.take(bits(kernel)))
            for (const auto& [context, function] : k->functions) d.functions.take(bits(function));
    return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
    Driver& d = Driver::get();
    const auto library = d.libraries.find(bits(handle));
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    {
        const std::lock_guard guard(library->mutex);
        if (const auto known = library->kernels.find(name); known != library->kernels.end()) {
            *out = known->second;
            return CUDA_SUCCESS;
        }
    }
    // On which device it is asked for is not said: the current context's, or the first.
    std::shared_ptr<Context> context;
    const uint32_t device = current(context) == CUDA_SUCCESS ? context->device : 0;
    std::shared_ptr<LoadedFile> file;
    SASSEMU_CUDA(library->file(device, file));
    if (!kernel_named(*file->module, name)) return CUDA_ERROR_NOT_FOUND;
    auto kernel = std::make_shared<Kernel>();
    kernel->library = library;
    kernel->handle = handle;
    kernel->name = name;
    const std::lock_guard guard(library->mutex);
    auto& known = library->kernels[name];
    if (!known) known = as_handle<CUkernel>(d.kernels.add(std::move(kernel)));
    *out = known;
    return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) {
    const auto library = Driver::get().libraries.find(bits(handle));
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<LoadedFile> file;
    SASSEMU_CUDA(library->file(0, file));
    *count = static_cast<unsigned>(file->module->kernels().size());
    return CUDA_SUCCESS;
}
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary handle) {
    const auto library = Driver::get().libraries.find(bits(handle));
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<LoadedFile> file;
    SASSEMU_CUDA(library->file(0, file));
    const auto& all = file->module->kernels();
    for (unsigned i = 0; i < count && i < all.size(); ++i)
        SASSEMU_CUDA(api::cuLibraryGetKernel(&kernels[i], handle, all[i].name.c_str()));
    return CUDA_SUCCESS;
}
CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    const auto library = Driver::get().libraries.find(bits(handle));
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<LoadedFile> file;
    SASSEMU_CUDA(library->file(context->device, file));
    return loaded(context, std::move(file), out);
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle,
                            const char* name) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    const auto library = Driver::get().libraries.find(bits(handle));
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<LoadedFile> file;
    SASSEMU_CUDA(library->file(context->device, file));
    return global_of(context->device, *file, name, address, bytes);
}

// ---- kernels

CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    const auto kernel = Driver::get().kernels.find(bits(handle));
    const auto library = kernel ? kernel->library.lock() : nullptr;
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    {
        const std::lock_guard guard(kernel->mutex);
        if (const auto known = kernel->functions.find(context->handle);
            known != kernel->functions.end()) {
            *out = known->second;
            return CUDA_SUCCESS;
        }
    }
    std::shared_ptr<LoadedFile> file;
    SASSEMU_CUDA(library->file(context->device, file));
    SASSEMU_CUDA(make_function(context, file, kernel->name.c_str(), nullptr, out));
    const std::lock_guard guard(kernel->mutex);
    if (const auto function = Driver::get().functions.find(bits(*out)))
        for (const auto& [which, value] : kernel->attributes[context->device])
            (void)set_attribute(*function, which, value);
    kernel->functions.emplace(context->handle, *out);
    return CUDA_SUCCESS;
}
CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
    const auto kernel = Driver::get().kernels.find(bits(handle));
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    *out = kernel->handle;
    return CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** name, CUkernel handle) {
    const auto kernel = Driver::get().kernels.find(bits(handle));
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    *name = kernel->name.c_str();
    return CUDA_SUCCESS;
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute which, CUkernel handle,
                              CUdevice device) {
    std::shared_ptr<Kernel> kernel;
    Function function;
    SASSEMU_CUDA(kernel_on(handle, device, kernel, function));
    return attribute_of(function, which, value);
}
CUresult cuKernelSetAttribute(CUfunction_attribute which, int value, CUkernel handle,
                              CUdevice device) {
    std::shared_ptr<Kernel> kernel;
    Function function;
    SASSEMU_CUDA(kernel_on(handle, device, kernel, function));
    SASSEMU_CUDA(set_attribute(function, which, value));
    const std::lock_guard guard(kernel->mutex);
    kernel->attributes[function.device][which] = value;
    for (const auto& [context, handle_of] : kernel->functions)
        if (const auto made = Driver::get().functions.find(bits(handle_of));
            made && made->device == function.device)
            (void)set_attribute(*made, which, value);
    return CUDA_SUCCESS;
}
CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device) {
    std::shared_ptr<Kernel> kernel;
    Function function;
    SASSEMU_CUDA(kernel_on(handle, device, kernel, function));
    return config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) {
    std::shared_ptr<Kernel> kernel;
    Function function;
    SASSEMU_CUDA(kernel_here(handle, kernel, function));
    return parameter_of(*function.kernel, index, offset, size);
}
CUresult cuKernelGetParamCount(CUkernel handle, size_t* count) {
    std::shared_ptr<Kernel> kernel;
    Function function;
    SASSEMU_CUDA(kernel_here(handle, kernel, function));
    *count = function.kernel->parameters.size();
    return CUDA_SUCCESS;
}

// ---- functions

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction handle) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    return attribute_of(*function, which, value);
}
CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    return set_attribute(*function, which, value);
}
CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    if (config < 0 || config > 3) return CUDA_ERROR_INVALID_VALUE;
    function->cache = config;
    return CUDA_SUCCESS;
}
CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    return config < 0 || config > 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    if (!function->module) return CUDA_ERROR_NOT_FOUND;
    *out = function->module;
    return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction handle) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    *name = function->kernel->name.c_str();
    return CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    return parameter_of(*function->kernel, index, offset, size);
}
CUresult cuFuncGetParamCount(CUfunction handle, size_t* count) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    *count = function->kernel->parameters.size();
    return CUDA_SUCCESS;
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
    std::shared_ptr<Function> function;
    SASSEMU_CUDA(any_function(handle, function));
    *state = 1;
    return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction handle) {
    std::shared_ptr<Function> function;
    return any_function(handle, function);
}

}  // namespace sassemu::driver::api
