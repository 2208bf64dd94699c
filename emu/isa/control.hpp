// SPDX-License-Identifier: Apache-2.0
// Branches, calls, exits and convergence barriers: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Bra&);
void lower(Lower&, const typed::Brx&);
void lower(Lower&, const typed::Brxu&);
void lower(Lower&, const typed::Jmp&);
void lower(Lower&, const typed::Jmx&);
void lower(Lower&, const typed::CallRel&);
void lower(Lower&, const typed::CallRelReg&);
void lower(Lower&, const typed::CallAbs&);
void lower(Lower&, const typed::CallAbsReg&);
void lower(Lower&, const typed::RetRel&);
void lower(Lower&, const typed::RetAbs&);
void lower(Lower&, const typed::Exit&);
void lower(Lower&, const typed::Kill&);
void lower(Lower&, const typed::Bssy&);
void lower(Lower&, const typed::Bsync&);
void lower(Lower&, const typed::Break&);
void lower(Lower&, const typed::BmovFromB&);
void lower(Lower&, const typed::BmovFromState&);
void lower(Lower&, const typed::BmovToB&);
void lower(Lower&, const typed::Yield&);
void lower(Lower&, const typed::WarpsyncAll&);
void lower(Lower&, const typed::Warpsync&);
void lower(Lower&, const typed::WarpsyncCollective&);
void lower(Lower&, const typed::WarpsyncCollectiveAll&);
void lower(Lower&, const typed::Endcollective&);
void lower(Lower&, const typed::Lepc&);
void lower(Lower&, const typed::LepcOf&);
void lower(Lower&, const typed::Nanosleep&);
void lower(Lower&, const typed::Preexit&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
