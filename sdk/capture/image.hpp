// SPDX-License-Identifier: Apache-2.0
// What of a cubin capturing needs to know: which kernels it has, which variables, and where these
// have addresses of functions. Reads ELF64 symbol tables and relocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sassemu::capture {

// A word of a variable that the driver makes the address of a function.
struct FunctionWord {
    std::string variable;
    uint64_t offset = 0;  // bytes into it
    std::string function;
};

struct ImageSymbols {
    std::set<std::string, std::less<>> functions;
    std::vector<std::string> variables;  // of global and constant memory
    std::vector<FunctionWord> function_words;
    bool heap = false;  // calls malloc or free
};

// Whatever is damaged is left out.
ImageSymbols symbols_of(std::span<const std::byte> cubin);
uint64_t hash_of(std::span<const std::byte> bytes);

// A module as the driver has loaded it.
struct Image {
    explicit Image(std::vector<std::byte> bytes)
        : cubin(std::move(bytes)), symbols(symbols_of(cubin)) {}
    std::vector<std::byte> cubin;
    ImageSymbols symbols;
    uint64_t hash = hash_of(cubin);  // kernels of one name are told apart by it
};

}  // namespace sassemu::capture
