// SPDX-License-Identifier: Apache-2.0
// Fences, cache control, waits for copies, address-space queries: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Membar&);
void lower(Lower&, const typed::MembarAsync&);
void lower(Lower&, const typed::Fence&);
void lower(Lower&, const typed::Acqbulk&);
void lower(Lower&, const typed::Errbar&);
void lower(Lower&, const typed::Cgaerrbar&);
void lower(Lower&, const typed::Cctl&);
void lower(Lower&, const typed::CctlUniform&);
void lower(Lower&, const typed::CctlAll&);
void lower(Lower&, const typed::Cctll&);
void lower(Lower&, const typed::CctllAll&);
void lower(Lower&, const typed::Cctlt&);
void lower(Lower&, const typed::CctltIvall&);
void lower(Lower&, const typed::Ldgdepbar&);
void lower(Lower&, const typed::Depbar&);
void lower(Lower&, const typed::DepbarLe&);
void lower(Lower&, const typed::Qspc&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
