// SPDX-License-Identifier: Apache-2.0
// What nvcc's host code registers before main(): fat binaries, and the kernels and variables of
// theirs that host symbols stand for. Nothing of a fat binary is read before one of these is used,
// and nothing is looked up by name before it is asked for.
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "emu/runtime/state.hpp"
#include "runtime_api.hpp"

namespace sassemu::runtime {
namespace {

struct Binary;
struct Function {
    Binary* binary;
    const void* symbol;
    const char* name;
    std::atomic<CUkernel> kernel = nullptr;
    Function(Binary* b, const void* s, const char* n) : binary(b), symbol(s), name(n) {}
};
struct Variable {
    Binary* binary;
    const void* symbol;
    const char* name;
    void** managed;  // where host code finds its address; null: it is not managed
    size_t bytes;
};
struct Binary {
    const void* wrapper = nullptr;
    std::mutex mutex;  // of the library
    std::atomic<CUlibrary> library = nullptr;
    std::deque<Function> functions;
    std::vector<Variable> variables;
    size_t functions_indexed = 0, variables_indexed = 0;
    void* handle = nullptr;  // what the program is given points here
};

struct Registry {
    std::shared_mutex mutex;
    std::unordered_map<Binary*, Binary*> binaries;
    std::vector<Binary*> not_indexed;
    std::unordered_map<const void*, Function*> functions;
    std::unordered_map<const void*, Variable> variables;
    std::unordered_map<CUfunction, const void*> symbols;  // of what function_of() has given
};
// Programs unregister when they end, whatever has been destroyed by then.
Registry& registry() {
    static Registry& all = *new Registry;
    return all;
}

Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

// With the registry's lock.
void index(Registry& all) {
    for (Binary* binary : all.not_indexed) {
        for (; binary->functions_indexed < binary->functions.size(); ++binary->functions_indexed) {
            Function& one = binary->functions[binary->functions_indexed];
            all.functions[one.symbol] = &one;
        }
        for (; binary->variables_indexed < binary->variables.size(); ++binary->variables_indexed) {
            const Variable& one = binary->variables[binary->variables_indexed];
            all.variables[one.symbol] = one;
        }
    }
    all.not_indexed.clear();
}

template <class Map>
auto find(Map Registry::*map, const void* symbol) -> typename Map::mapped_type {
    Registry& all = registry();
    {
        const std::shared_lock lock(all.mutex);
        if (const auto found = (all.*map).find(symbol); found != (all.*map).end())
            return found->second;
        if (all.not_indexed.empty()) return {};
    }
    const std::unique_lock lock(all.mutex);
    index(all);
    const auto found = (all.*map).find(symbol);
    return found != (all.*map).end() ? found->second : typename Map::mapped_type{};
}

Error load(Binary& binary, CUlibrary& library) {
    library = binary.library.load(std::memory_order_acquire);
    if (library != nullptr) return success;
    const std::lock_guard lock(binary.mutex);
    library = binary.library.load(std::memory_order_relaxed);
    if (library != nullptr) return success;
    if (const Error error = SASSEMU_CU(cuLibraryLoadData)(&library, binary.wrapper, nullptr,
                                                          nullptr, 0, nullptr, nullptr, 0))
        return error;
    binary.library.store(library, std::memory_order_release);
    return success;
}

Error address_of(const Variable& variable, CUdeviceptr& address, size_t& bytes) {
    CUlibrary library = nullptr;
    if (const Error error = load(*variable.binary, library)) return error;
    const Error error =
        variable.managed != nullptr
            ? SASSEMU_CU(cuLibraryGetManaged)(&address, &bytes, library, variable.name)
            : SASSEMU_CU(cuLibraryGetGlobal)(&address, &bytes, library, variable.name);
    return error == CUDA_ERROR_NOT_FOUND ? static_cast<Error>(invalid_symbol) : error;
}

struct Configuration {
    dim3 grid, block;
    size_t shared;
    CUstream stream;
};
thread_local std::vector<Configuration> configurations;

}  // namespace

Error kernel_of(const void* symbol, CUkernel& kernel) {
    if (symbol == nullptr) return invalid_device_function;
    Function* const function = find(&Registry::functions, symbol);
    if (function == nullptr) {
        // cudaGetKernel() and cudaLibraryGetKernel() give handles, which go for functions too.
        CUfunction ignored = nullptr;
        kernel = static_cast<CUkernel>(const_cast<void*>(symbol));
        return SASSEMU_CU(cuKernelGetFunction)(&ignored, kernel) == CUDA_SUCCESS
                   ? static_cast<Error>(success)
                   : static_cast<Error>(invalid_device_function);
    }
    kernel = function->kernel.load(std::memory_order_acquire);
    if (kernel != nullptr) return success;
    CUlibrary library = nullptr;
    if (const Error error = load(*function->binary, library)) return error;
    if (const Error error = SASSEMU_CU(cuLibraryGetKernel)(&kernel, library, function->name))
        return error == CUDA_ERROR_NOT_FOUND ? static_cast<Error>(invalid_device_function) : error;
    function->kernel.store(kernel, std::memory_order_release);
    return success;
}

Error function_of(const void* symbol, CUfunction& out) {
    CUkernel kernel = nullptr;
    if (const Error error = kernel_of(symbol, kernel)) return error;
    if (const Error error = SASSEMU_CU(cuKernelGetFunction)(&out, kernel)) return error;
    Registry& all = registry();
    const std::unique_lock lock(all.mutex);
    all.symbols[out] = symbol;
    return success;
}

const void* symbol_of(CUfunction function, CUkernel kernel) {
    if (function == nullptr) (void)SASSEMU_CU(cuKernelGetFunction)(&function, kernel);
    Registry& all = registry();
    const std::shared_lock lock(all.mutex);
    const auto found = all.symbols.find(function);
    if (found != all.symbols.end()) return found->second;
    return kernel != nullptr ? static_cast<const void*>(kernel) : function;
}

Error name_of(const void* symbol, const char** name) {
    if (const Function* const function = find(&Registry::functions, symbol)) {
        *name = function->name;
        return success;
    }
    CUkernel kernel = nullptr;
    if (const Error error = kernel_of(symbol, kernel)) return error;
    return SASSEMU_CU(cuKernelGetName)(name, kernel);
}

Error variable_of(const void* symbol, CUdeviceptr& address, size_t& bytes) {
    const Variable variable = find(&Registry::variables, symbol);
    return variable.binary != nullptr ? address_of(variable, address, bytes)
                                      : static_cast<Error>(invalid_symbol);
}

// ---- what nvcc's code calls

void** cudaRegisterFatBinary(void* wrapper) {
    auto* const binary = new Binary;
    binary->wrapper = wrapper;
    Registry& all = registry();
    const std::unique_lock lock(all.mutex);
    all.binaries.emplace(binary, binary);
    all.not_indexed.push_back(binary);
    return reinterpret_cast<void**>(binary);
}

void cudaRegisterFatBinaryEnd(void**) {}

void cudaRegisterFunction(void** handle, const char* symbol, char*, const char* name, int, void*,
                          void*, void*, void*, int*) {
    if (handle != nullptr)
        binary_of(handle)->functions.emplace_back(binary_of(handle), symbol, name);
}

void cudaRegisterVar(void** handle, char* symbol, char*, const char* name, int, size_t bytes, int,
                     int) {
    if (handle != nullptr)
        binary_of(handle)->variables.push_back({binary_of(handle), symbol, name, nullptr, bytes});
}

void cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int,
                            size_t bytes, int, int) {
    if (handle != nullptr)
        binary_of(handle)->variables.push_back({binary_of(handle), pointer, name, pointer, bytes});
}

void cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void cudaRegisterUnifiedTable(void**, void*) {}

// Before host code uses a managed variable.
char cudaInitModule(void** handle) {
    if (handle == nullptr || leave(enter(Needs::context)) != success) return 0;
    for (const Variable& variable : binary_of(handle)->variables) {
        if (variable.managed == nullptr) continue;
        CUdeviceptr address = 0;
        size_t bytes = 0;
        if (leave(address_of(variable, address, bytes)) != success) return 0;
        *variable.managed = reinterpret_cast<void*>(address);
    }
    return 1;
}

void cudaUnregisterFatBinary(void** handle) {
    if (handle == nullptr) return;
    Registry& all = registry();
    Binary* const binary = binary_of(handle);
    {
        const std::unique_lock lock(all.mutex);
        if (all.binaries.erase(binary) == 0) return;
        std::erase(all.not_indexed, binary);
        for (const Function& one : binary->functions)
            if (const auto found = all.functions.find(one.symbol);
                found != all.functions.end() && found->second == &one)
                all.functions.erase(found);
        for (const Variable& one : binary->variables)
            if (const auto found = all.variables.find(one.symbol);
                found != all.variables.end() && found->second.binary == binary)
                all.variables.erase(found);
    }
    if (const CUlibrary library = binary->library.load())
        (void)SASSEMU_CU(cuLibraryUnload)(library);
    delete binary;
}

unsigned int cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream stream) {
    configurations.push_back({grid, block, shared, stream});
    return 0;
}

Error cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, CUstream* stream) {
    if (configurations.empty()) return leave(missing_configuration);
    const Configuration last = configurations.back();
    configurations.pop_back();
    *grid = last.grid;
    *block = last.block;
    *shared = last.shared;
    *stream = last.stream;
    return success;
}

// Under the name that host code has, so that nothing is loaded before it is launched.
Error cudaGetKernel(CUkernel* kernel, const void* symbol) {
    return kernel != nullptr ? kernel_of(symbol, *kernel) : static_cast<Error>(invalid_value);
}

Error cudaGetSymbolAddress(CUdeviceptr* address, const void* symbol) {
    size_t bytes = 0;
    return address != nullptr ? variable_of(symbol, *address, bytes)
                              : static_cast<Error>(invalid_value);
}

Error cudaGetSymbolSize(size_t* bytes, const void* symbol) {
    CUdeviceptr address = 0;
    return bytes != nullptr ? variable_of(symbol, address, *bytes)
                            : static_cast<Error>(invalid_value);
}

}  // namespace sassemu::runtime
