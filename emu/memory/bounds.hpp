// SPDX-License-Identifier: Apache-2.0
// Where an address that cannot be accessed lies in shared, local or constant memory, in words; of
// global memory AddressSpace::describe() knows. For messages alone.
#pragma once

#include <string>

#include "emu/machine/cta.hpp"
#include "emu/machine/port.hpp"

namespace sassemu {

// "offset 0x800; it has 1024 bytes static + 0 dynamic, at offsets 0x400 to 0x7ff". `address` may
// have a rank in bits 31..24.
std::string shared_bounds(const Cta& cta, uint32_t address);

// Of an access by a warp; generic addresses by their windows.
std::string bounds_text(const Warp& w, AccessSpace space, uint64_t address);

}  // namespace sassemu
