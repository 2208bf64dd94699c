// SPDX-License-Identifier: Apache-2.0
// What of a cubin capturing needs to know: which kernels it has, and which variables. Reads ELF64
// symbol tables.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sassemu::capture {

struct ImageSymbols {
    std::set<std::string, std::less<>> functions;
    std::vector<std::string> variables;  // of global and constant memory
    bool heap = false;                   // calls malloc or free
};

// Whatever is damaged is left out.
ImageSymbols symbols_of(std::span<const std::byte> cubin);

// A module as the driver has loaded it.
struct Image {
    explicit Image(std::vector<std::byte> bytes)
        : cubin(std::move(bytes)), symbols(symbols_of(cubin)) {}
    std::vector<std::byte> cubin;
    ImageSymbols symbols;
};

}  // namespace sassemu::capture
