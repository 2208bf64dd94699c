// SPDX-License-Identifier: Apache-2.0
// fp64 arithmetic and comparison: DADD DMUL DFMA DSETP. Conversions are in conversion.hpp.
#pragma once

#include "emu/isa/isa.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

void lower(Lower& x, const typed::Dadd& i);
void lower(Lower& x, const typed::Dmul& i);
void lower(Lower& x, const typed::Dfma& i);
void lower(Lower& x, const typed::Dsetp& i);

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
