// SPDX-License-Identifier: Apache-2.0
// Four values of 8, 6 or 4 bits (sm_100, sm_103): lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Qadd4&);
void lower(Lower&, const typed::Qmul4&);
void lower(Lower&, const typed::Qfma4&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
