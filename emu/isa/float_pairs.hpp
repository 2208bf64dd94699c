// SPDX-License-Identifier: Apache-2.0
// Pairs of fp32 (sm_100, sm_103): lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Fadd2&);
void lower(Lower&, const typed::Fmul2&);
void lower(Lower&, const typed::Ffma2&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
