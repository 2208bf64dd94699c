// SPDX-License-Identifier: Apache-2.0
// The handlers of the inlined flat model, by width: chosen here, defined in memory_global.cpp and
// memory_near.cpp.
#pragma once

#include "emu/isa/memory_access.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void choose_far_load(Lower& x, Width width, bool generic);
void choose_far_store(Lower& x, Width width, bool generic);
// Of 256 bits (WidePayload).
void choose_wide(Lower& x, bool store);
// Shared or local.
void choose_near_load(Lower& x, Width width, AccessSpace space);
void choose_near_store(Lower& x, Width width, AccessSpace space);
// Op: d, k[0] as usual; a = index row, m[0] = offset, m[1] = Base.
void choose_constant_load(Lower& x, Width width);

// A generic access whose first lane lies in a window, or that the fast way declined.
const Op* window_access(const Op* op, Warp& w, uint32_t mask);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
