// SPDX-License-Identifier: Apache-2.0
// Constant bank 0 as the driver fills it before a launch: geometry, windows, stack, parameters.
// The offsets (decoder/isa/architectures.isa) were read off the instructions that ptxas 13.0 emits
// for single-register PTX probes.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/gpu.hpp"

namespace sassemu {

struct Bank0Values {
    Dim3 block, grid, cluster;
    bool explicit_cluster = false;
    uint32_t param_base = 0;  // bytes into the bank
    uint64_t constants = 0;   // where the module's constants (bank 3) lie in memory; 0: it has none
    uint32_t stack_top = 0;   // initial R1
    uint32_t dynamic_shared = 0;  // bytes
    uint64_t grid_id = 0;
    uint64_t grid_workspace = 0;  // cooperative launches; 0 otherwise
    uint32_t sms = 1;
    uint32_t shared = 0;           // bytes of a CTA, all of them
    uint32_t reserved_shared = 0;  // of those, what %total_smem_size leaves out
};

// Bytes that lie behind the shared memory of a CTA whose kernel asks for what is reserved there for
// the system (cooperative groups of several warps keep their barriers in it). From sm_90 on it is
// at address 0, of every kernel.
uint32_t reserved_behind(uint32_t sm);

// `bank` has room for all fields (4 KiB); parameters are copied by the caller.
void fill_bank0(std::vector<std::byte>& bank, uint32_t sm, const Bank0Values& values);
constexpr uint32_t bank0_bytes_without_parameters = 0x400;

}  // namespace sassemu
