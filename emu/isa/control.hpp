// Branches, calls, exits and convergence barriers: lowering entry points.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower&, const typed::Bra&);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
