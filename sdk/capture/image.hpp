// SPDX-License-Identifier: Apache-2.0
// What of a cubin capturing needs to know: which kernels it has, and which variables. Reads ELF64
// symbol tables.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sassemu::capture {

struct ImageSymbols {
    std::vector<std::string> functions;
    std::vector<std::string> variables;  // of global and constant memory
    bool heap = false;                   // calls malloc or free
};

// Whatever is damaged is left out.
ImageSymbols symbols_of(std::span<const std::byte> cubin);

}  // namespace sassemu::capture
