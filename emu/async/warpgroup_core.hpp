// SPDX-License-Identifier: Apache-2.0
// The tensor cores of sm_90a as the four warps of a warpgroup use them together: what one wgmma
// computes. When it is done is not known here (warpgroup_work.cpp). What was measured:
// emu/isa/MATRIX.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/async/tensor_core.hpp"
#include "emu/lanes/warpgroup.hpp"
#include "emu/machine/tensor_requests.hpp"
#include "emu/machine/warpgroups.hpp"

namespace sassemu::async {

// Null, or why it cannot be done: then neither of the others may be called.
const char* check(const WarpgroupMultiply&, uint64_t shared_bytes);
// Every byte of shared memory that is read, once.
void touched(const WarpgroupMultiply&, Visit, void* self);
// `rows`: the register rows of each warp. `room` is for what is taken apart.
void multiply(const WarpgroupMultiply&, const std::byte* shared, std::byte* const rows[4],
              const WarpgroupMetadata&, lanes::WarpgroupProduct& room, lanes::WarpgroupSums);

}  // namespace sassemu::async
