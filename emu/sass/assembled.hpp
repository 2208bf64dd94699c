// SPDX-License-Identifier: Apache-2.0
// What a .sass file says, between reading it and writing the cubin. Only values belong here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/module/module.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu::sass {

struct KernelParameter {
    std::string name;  // may be empty
    uint32_t offset = 0, size = 0;
};

struct AssembledKernel {
    std::string name;
    std::vector<std::array<uint64_t, 2>> words;
    uint32_t registers = 0;
    uint32_t shared = 0;  // bytes, without the part that the system reserves
    uint32_t local = 0;   // bytes of stack frame per thread
    uint32_t barriers = 0;
    std::vector<KernelParameter> parameters;
    uint32_t parameter_bytes = 0;
    std::optional<uint32_t> max_registers;
    std::optional<Extent3> max_threads, required_threads, cluster;
    std::vector<uint32_t> exits;  // offsets of EXIT
    std::vector<uint32_t> fused;  // offsets of instructions that are one with the next
};

struct ConstantVariable {  // __constant__: in bank 3, zeros at first
    std::string name;
    uint32_t offset = 0, size = 0;
};

struct AssembledModule {
    Arch arch;
    std::vector<ConstantVariable> constants;
    std::vector<AssembledKernel> kernels;
};

// Where constant bank 0 holds the kernel's parameters (measured on ptxas 13.0 output; the loader
// reads it from each cubin).
[[nodiscard]] constexpr uint32_t parameter_base(uint32_t sm) {
    return sassdec::architecture(sm).family->bank0.parameters;
}

// One complaint about a file.
struct Diagnostic {
    unsigned line = 0, column = 0;  // from 1
    std::string what, hint;
};

// Reads a whole file. On success `diagnostics` is empty.
[[nodiscard]] std::optional<AssembledModule> read_sass(const std::string& text,
                                                       const std::string& default_arch,
                                                       std::vector<Diagnostic>& diagnostics);

// A cubin that the loader, and the CUDA driver on sm_75 to sm_90, take.
[[nodiscard]] std::vector<uint8_t> write_cubin(const AssembledModule& module);

}  // namespace sassemu::sass
