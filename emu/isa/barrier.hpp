// SPDX-License-Identifier: Apache-2.0
// CTA barriers: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Bar&);
void lower(Lower&, const typed::BarPacked&);
void lower(Lower&, const typed::B2r&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
