// SPDX-License-Identifier: Apache-2.0
// Stores to the cluster that report to an mbarrier: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Stas&);
void lower(Lower&, const typed::Redas&);
void lower(Lower&, const typed::Ustgr&);
void lower(Lower&, const typed::Uredgr&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
