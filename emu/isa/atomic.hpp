// SPDX-License-Identifier: Apache-2.0
// Atomics and reductions on memory: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Atom&);
void lower(Lower&, const typed::Atomg&);
void lower(Lower&, const typed::AtomCas&);
void lower(Lower&, const typed::AtomgCas&);
// Of the address row of a shared atomic.
uint32_t shift_of(typed::SharedScale scale);

void lower(Lower&, const typed::Red&);
void lower(Lower&, const typed::Redg&);
void lower(Lower&, const typed::Atoms&);
void lower(Lower&, const typed::AtomPopcInc&);
void lower(Lower&, const typed::AtomsPopcInc&);
void lower(Lower&, const typed::AtomsCas&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
