// SPDX-License-Identifier: Apache-2.0
// Special registers, no-operation and breakpoints: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

// The value of a special register for one lane. Registers that this emulator gives no value of
// their own read as 0, as most of them do outside graphics.
uint32_t special_register(const Warp& w, typed::SpecialRegister id, unsigned lane);
// Whether two reads can differ within one loop.
bool is_clock(typed::SpecialRegister id);
// Before the read of one: a spin that does so is no pure spin, unless the clock stands still.
void look_at_clock(Warp& w);

void lower(Lower&, const typed::S2r&);
void lower(Lower&, const typed::Cs2r&);
void lower(Lower&, const typed::Cs2ur&);
void lower(Lower&, const typed::Nop&);
void lower(Lower&, const typed::Pmtrig&);
void lower(Lower&, const typed::Bpt&);
void lower(Lower&, const typed::Usetmaxreg&);
void lower(Lower&, const typed::Usetshmsz&);
void lower(Lower&, const typed::UsetshmszFlush&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
