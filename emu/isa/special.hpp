// The multi-function unit (MUFU): lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Mufu&);
void lower(Lower&, const typed::MufuHalf&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
