// SPDX-License-Identifier: Apache-2.0
// Integer instructions that came with sm_100 and sm_120 (two-operand sums, 64-bit moves, selects
// and extremes, uniform constant loads), and products over GF(2). Lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Iadd&);
void lower(Lower&, const typed::Clmad&);
void lower(Lower&, const typed::ImnmxWide&);
void lower(Lower&, const typed::Sel64&);
void lower(Lower&, const typed::Mov64&);
void lower(Lower&, const typed::Umov64&);
void lower(Lower&, const typed::Usel64&);
void lower(Lower&, const typed::UimnmxWide&);
void lower(Lower&, const typed::Uvimnmx&);
void lower(Lower&, const typed::UimadHi&);
void lower(Lower&, const typed::Ldcu&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
