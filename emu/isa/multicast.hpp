// SPDX-License-Identifier: Apache-2.0
// LDGMC (multimem.ld_reduce). Stores and reductions of multimem are STG and REDG.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Ldgmc&);
void lower(Lower&, const typed::LdgmcInteger&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
