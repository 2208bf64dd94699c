// SPDX-License-Identifier: Apache-2.0
// The mbarrier unit and the barrier of a cluster: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::SyncsArrive&);
void lower(Lower&, const typed::AtomArrive&);
void lower(Lower&, const typed::AtomsArrive&);
void lower(Lower&, const typed::SyncsPhasechk&);
void lower(Lower&, const typed::UsyncsArrive&);
void lower(Lower&, const typed::UsyncsPhasechk&);
void lower(Lower&, const typed::SyncsExch&);
void lower(Lower&, const typed::SyncsLd&);
void lower(Lower&, const typed::SyncsCas&);
void lower(Lower&, const typed::SyncsCctlAll&);
void lower(Lower&, const typed::SyncsCctlAddr&);
void lower(Lower&, const typed::ArrivesLdgstsbar&);
void lower(Lower&, const typed::UcgabarArv&);
void lower(Lower&, const typed::UcgabarWait&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
